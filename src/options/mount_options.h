/* SPDX-License-Identifier: MIT */
/* The options of a mount, whether a daemon or the kernel serves it; datasetfs(8) explains them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/program/selinux.h"
#include "base/text/json.h"
#include "read/reader.h"
#include "trust/trust.h"

/* The cache on this machine gets all that readers read and announce, or only files that `datasetfsctl warm` reads. */
enum mount_fill { MOUNT_FILL_READS, MOUNT_FILL_WARM };
enum mount_io { MOUNT_IO_AUTO, MOUNT_IO_URING, MOUNT_IO_THREADS };
enum mount_notify { MOUNT_NOTIFY_AUTO, MOUNT_NOTIFY_EPOCH, MOUNT_NOTIFY_ENTRIES };
enum mount_channel { MOUNT_CHANNEL_AUTO, MOUNT_CHANNEL_RING, MOUNT_CHANNEL_DEV };

struct mount_group {
	const char *name; /* or number, as the option gave it; NULL: no group */
	uint32_t number;
};

struct mount_options {
	const char *volume; /* a path, or an identity (device/locate.h) */
	const char *mountpoint;
	bool is_given; /* another program has mounted: the mountpoint is MOUNT_GIVEN and the number of a descriptor */
	int given;     /* that descriptor */
	bool ignores_rw;         /* mount(8) calls, which says rw unless the user says ro */
	const char *daemon_word; /* an option that only a daemon can fulfil; NULL: none was given */
	bool kernel;             /* no daemon: the kernel serves */
	const char *version; /* label; NULL: the volume's current version */
	bool has_digest;
	uint8_t digest[32]; /* every version must have this digest, if has_digest */
	struct trust trust;  /* every version must be signed by a key in it; absolute paths */
	bool allow_other;
	bool noexec;
	bool suid; /* setuid and setgid bits are shown and take effect */
	bool nosymfollow; /* no path leads through a symbolic link of the mount */
	struct selinux selinux;
	bool nosupervisor; /* no other server takes over when this one dies */
	bool idmap; /* the mount may be idmapped, and the kernel does not say who sends a request */
	bool noversions; /* the mount has no .datasetfs/versions */
	enum mount_io io;
	enum mount_channel channel;
	enum mount_notify notify; /* how to tell the kernel about a switch */
	struct mount_group control_group; /* members may switch the mount, as may root and the mounting user */
	struct mount_group direct_group;  /* members may read past the mount, as may root and the mounting user */
	unsigned follow;        /* seconds between checks of the volume's current version; 0: never */
	unsigned workers;       /* 0: one per CPU */
	uint64_t prefetch;      /* limit of bytes kept of announced files; 0: users cannot announce files */
	uint64_t ahead;         /* limit of bytes read ahead of readers; 0: no read-ahead */
	bool window;            /* reads wait when the device has too many under way; false: they never do */
	uint64_t max_iops, max_bandwidth; /* reads and bytes of the volume a second; 0: no limit */
	const char *cache;      /* absolute path of the folder of local copies; NULL: none */
	uint64_t cache_size;    /* bytes of the volume's chunks in it; 0: what leaves a tenth of the filesystem free */
	enum mount_fill cache_fill;
	struct reader_options read;
};

void mount_options_init(struct mount_options *options); /* to the defaults */
/* Sets one option. word is NAME or NAME=VALUE, is cut at the '=', and must outlive the options. */
must_check int mount_options_set(struct mount_options *options, char *word, struct error *err);
/* Checks options against each other. */
must_check int mount_options_check(const struct mount_options *options, struct error *err);
/* Looks up the numbers of the groups. */
must_check int mount_options_find_groups(struct mount_options *options, struct error *err);
/* Whether the word is an option that names a file or folder. */
bool mount_options_names_file(const char *word);
void mount_options_help(FILE *out);
/* Writes the options of a daemon's mount as fields of a JSON object. */
void mount_options_report(const struct mount_options *options, struct json *json);
