/* SPDX-License-Identifier: MIT */
/* The options of a mount, whether a daemon or the kernel serves it; datasetfs(8) explains them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/program/selinux.h"
#include "read/reader.h"
#include "trust/trust.h"

/* Range and default of the mount option readahead=, in bytes. */
#define SERVE_AHEAD_MIN (UINT64_C(2) << 20)
#define SERVE_AHEAD_MAX (UINT64_C(1) << 30)
#define SERVE_AHEAD     (UINT64_C(16) << 20)
/* Range and default of the mount option prefetch=, in bytes. */
#define SERVE_PREFETCH_MIN (UINT64_C(16) << 20)
#define SERVE_PREFETCH_MAX (UINT64_C(1) << 40)
#define SERVE_PREFETCH     (UINT64_C(256) << 20)

/* Range of the mount option cache_size=, in bytes. */
#define SERVE_CACHE_MIN (UINT64_C(8) << 20)
#define SERVE_CACHE_MAX (UINT64_C(1) << 50)

/* The cache on this machine gets all that readers read and announce, or only files that `datasetfsctl warm` reads. */
enum mount_fill { MOUNT_FILL_READS, MOUNT_FILL_WARM };
enum mount_io { MOUNT_IO_AUTO, MOUNT_IO_URING, MOUNT_IO_THREADS };
enum mount_notify { MOUNT_NOTIFY_AUTO, MOUNT_NOTIFY_EPOCH, MOUNT_NOTIFY_ENTRIES };
enum mount_channel { MOUNT_CHANNEL_AUTO, MOUNT_CHANNEL_RING, MOUNT_CHANNEL_DEV };

struct mount_options {
	const char *volume; /* a path, or an identity (device/locate.h) */
	const char *mountpoint;
	bool is_given; /* somebody else has mounted: the mountpoint is MOUNT_GIVEN and the number of a descriptor */
	int given;     /* that descriptor */
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
	enum mount_notify notify; /* how the kernel is told of a switch */
	bool has_control_group;
	uint32_t control_group; /* members may switch the mount, as may root and the mounting user */
	bool has_direct_group;
	uint32_t direct_group;  /* members may read past the mount, as may root and the mounting user */
	const char *direct_group_name; /* name or number of direct_group, as the option gave it */
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
