/* SPDX-License-Identifier: MIT */
/* One of the files or devices that a volume lies on, or will: what lies there now, and whether it may be written to. */
#pragma once
#include "device/topology.h"
#include "io/file.h"
#include "options/pack_options.h"

#define MEDIUM_SUFFIX ".new-mkdatasetfs" /* of a successor */

struct medium {
	char *path;               /* as it was called, for messages: site says where it is */
	struct site site;
	dev_t number;             /* of a device */
	bool is_device, is_file;  /* is_file: that was there */
	bool is_ours;             /* it holds a volume and nothing else */
	bool is_shared;           /* it is no volume, and others own or may write the file: a successor is root's */
	bool wipe;                /* something else lay here: its signatures must go */
	struct file_source *file; /* what is written to; the transaction's */
	struct file_source *former; /* an existing file that the new one will replace; it keeps its lock */
	struct site successor;    /* where the new one lies until then, beside it, in the end under this name */
	uint64_t device, inode;   /* of a file, so that the scan can notice it */
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of the NVMe namespace that it is, or empty */
	char domain[TOPOLOGY_DOMAIN_SIZE];     /* what it fails with, or empty */
	bool unprotected;         /* its write protection was lifted and is to come back */
};

/* A member that is missing: it has no path. */
#define MEDIUM_MISSING ((struct medium){ .site = SITE_NONE, .successor = SITE_NONE })

/* What is there under this path or identity; site.file is -1 when a file is to be made. From here on no path is walked
 * any more. */
must_check int medium_find(const char *name, const struct pack_options *options, struct medium *ret,
			   struct error *err);
/* What is open already, found under this name. */
must_check int medium_again(const char *name, int fd, struct medium *ret, struct error *err);
/* Whether it says that it is one of several members of a volume; patience as of reads of a file (io/file.h). */
bool medium_is_member(const struct medium *medium, int64_t patience);
/* That nobody uses it. Lifts its write protection. */
must_check int medium_admit(struct medium *medium, const struct pack_options *options, struct error *err);
/* Two names of the same file, or of the same device. */
bool medium_is_same(const struct medium *a, const struct medium *b);
/* Once it was opened. */
must_check int medium_know(struct medium *medium, struct file_source *file, bool dry_run, struct error *err);
/* Refuses what people may still need. holder: who did not finish on it, or "". */
must_check int medium_check_content(struct medium *medium, const char *holder, bool force, struct error *err);
/* What is there gives way to a new volume: of a file *ret_fresh is its successor, else NULL. */
must_check int medium_start_afresh(struct medium *medium, bool dry_run, struct file_source **ret_fresh,
				   struct error *err);
/* The first write to what held something else. capacity: bytes of a device. */
must_check int medium_wipe(struct medium *medium, uint64_t capacity, struct error *err);
/* After the commit: a new file has a durable name, its own or that of a successor. */
must_check int medium_name(struct medium *medium, bool is_fresh, struct error *err);
/* Then: a successor takes the place of the former file. 0 once it is there: that this is not known to be durable is a
 * line in the log. */
must_check int medium_replace_former(struct medium *medium, struct error *err);
must_check int medium_set_protection(const struct medium *medium, bool on, struct error *err);
/* A file that was made and is not the volume's is removed. */
void medium_give_up(const struct medium *medium);
/* After what was opened of it. */
void medium_close(struct medium *medium);
