/* SPDX-License-Identifier: MIT */
/* Finds, checks, makes and replaces a file or device that a volume lies on, or a new one will lie on. */
#pragma once
#include "device/nvme/topology.h"
#include "io/file.h"
#include "options/pack_options.h"

#define MEDIUM_SUFFIX ".new-mkdatasetfs" /* added to the name of a file for its successor */

struct medium {
	char *path;               /* as the user named it, for messages: site says where it is */
	struct site site;
	dev_t number;             /* of a device */
	bool is_device, is_file;  /* is_file: an existing regular file */
	bool is_ours;             /* it holds a volume and nothing else */
	bool is_shared;           /* not a volume; others own or may write the file: its successor will be root's */
	bool wipe;                /* something else lay here: its signatures must go */
	struct file_source *file; /* the file that is written; owned by the transaction */
	struct file_source *former; /* an existing file that the new one will replace; it keeps its lock */
	struct site successor;    /* beside the former file: the new one's place until it replaces that */
	uint64_t device, inode;   /* of a file, so that the scan can recognise it */
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of the NVMe namespace, or empty */
	char domain[TOPOLOGY_DOMAIN_SIZE];     /* failure domain, or empty */
	bool unprotected;         /* its write protection was lifted; medium_close() restores it */
};

/* A member that is missing: it has no path. */
#define MEDIUM_MISSING ((struct medium){ .site = SITE_NONE, .successor = SITE_NONE })

/* Finds the file or device by its path or identity; site.file is -1 if a file must be made. No path is walked after
 * this call. */
must_check int medium_find(const char *name, const struct pack_options *options, struct medium *ret,
			   struct error *err);
/* Makes a medium of the open descriptor fd, which was found under this name. */
must_check int medium_again(const char *name, int fd, struct medium *ret, struct error *err);
/* Returns whether the medium's superblock says that it is one of several members. patience: as for reads
 * (io/file.h). */
bool medium_is_member(const struct medium *medium, int64_t patience);
/* Checks that a device is not in use, and lifts write protection if the options allow that. */
must_check int medium_admit(struct medium *medium, const struct pack_options *options, struct error *err);
/* Returns whether both are the same file, the same device, or the same name of a file to be made. */
bool medium_is_same(const struct medium *a, const struct medium *b);
/* Takes the file that the transaction opened, and fills the fields that describe it. */
must_check int medium_know(struct medium *medium, struct file_source *file, bool dry_run, struct error *err);
/* Refuses to replace content that people may still need: -EEXIST without force. holder: the publisher that left its
 * record here, or "". */
must_check int medium_check_content(struct medium *medium, const char *holder, bool force, struct error *err);
/* Prepares to replace the content by a new volume. *ret_fresh: the successor that was made of a file; NULL for a device
 * and in a dry run. */
must_check int medium_start_afresh(struct medium *medium, bool dry_run, struct file_source **ret_fresh,
				   struct error *err);
/* Makes the first write to a device: wipes old superblock slots and signatures. capacity: bytes of the device. */
must_check int medium_wipe(struct medium *medium, uint64_t capacity, struct error *err);
/* Links a successor under its name, and makes the name of a new file durable. Must be called after the commit. */
must_check int medium_name(struct medium *medium, bool is_fresh, struct error *err);
/* Renames the successor over the former file, after medium_name(). Returns 0 once it is in place; if that is not known
 * to be durable, a log line says so. */
must_check int medium_replace_former(struct medium *medium, struct error *err);
must_check int medium_set_protection(const struct medium *medium, bool on, struct error *err);
/* Removes the new file, after a publish that failed. */
void medium_give_up(const struct medium *medium);
/* Frees everything but file, which the transaction owns, and restores write protection. */
void medium_close(struct medium *medium);
