/* SPDX-License-Identifier: MIT */
/* What a mount tells about itself and can be told: the files in MNT/.datasetfs, the fields of their JSON, and the
 * commands.
 *
 * The folder is not listed but reachable by name. Each open by path finds a fresh file that holds a snapshot.
 * Fields may be added; none changes its meaning. Counters start at 0 with the daemon and only grow;
 * times are microseconds unless the name says otherwise; sizes are bytes. */
#pragma once
#include <linux/ioctl.h>
#include <stdint.h>

#define CONTROL_FOLDER  ".datasetfs"
#define CONTROL_VERSION "version"    /* which version is mounted: one JSON object */
#define CONTROL_STATS   "stats.json" /* counters: one JSON object */

#define CONTROL_VERSIONS "versions"  /* a folder: each version of the volume under its label, opened on first use;
				      * absent from a mount with noversions */
#define CONTROL_CONTROL "control"    /* takes commands: ioctl(2) on a descriptor opened for reading */

/* Commands. Allowed to root with CAP_SYS_ADMIN, to the user who mounted, and to members of the mount's control_group (their
 * own and supplementary groups), as they are when the command comes; EPERM for others. They return when they are done; other
 * requests go on meanwhile. Each answers with a struct also when it fails (ioctl(2) gives -1 and errno): reason says why in one
 * line. EBUSY: too many commands are under way. Fields that are not described as input must be 0; text is NUL-terminated. */
#define CONTROL_LABEL_SIZE  128
#define CONTROL_REASON_SIZE 504

#define CONTROL_PREPARE 1u /* load and verify only; a later switch to this version takes milliseconds */
#define CONTROL_BY_UUID 2u /* uuid says which version, not label; a removed one too, while it is open */

/* Loads a version of the volume, verifies it, and makes it the one that paths through the mountpoint lead to. The last
 * prepared version stays loaded. Errors, all of which leave the mount as it was: ENOENT no such version, EBADMSG damaged or
 * not the digest that the mount is pinned to, ENOMEM the machine or the control group has no room for its index,
 * ECANCELED if_current is not current, ESTALE the volume is another one or in an older state than before, EINVAL unknown
 * flags, and what the device says. */
struct control_switch {
	uint32_t flags;                        /* in: CONTROL_PREPARE, CONTROL_BY_UUID */
	uint32_t reserved;
	char label[CONTROL_LABEL_SIZE];        /* in: version, empty for the volume's current one; out: its label */
	char if_current[CONTROL_LABEL_SIZE];   /* in: only if the mount serves this label now; empty: whatever it is */
	uint8_t uuid[16];                      /* in: see CONTROL_BY_UUID; out: the version's */
	uint64_t sequence;                     /* out: of the version */
	uint64_t prepare_us, switch_us;        /* out: from its arrival until the version was loaded, and changing over */
	char reason[CONTROL_REASON_SIZE];      /* out */
};
#define CONTROL_IOC_SWITCH _IOWR('d', 1, struct control_switch)

/* CONTROL_VERSION */
#define CONTROL_LABEL       "label"
#define CONTROL_UUID        "uuid"        /* of the version */
#define CONTROL_DIGEST      "digest"      /* "sha256:" and 64 hexadecimal digits */
#define CONTROL_SEQUENCE    "sequence"    /* of the version on its volume */
#define CONTROL_VOLUME_UUID "volume_uuid"
#define CONTROL_VOLUME      "volume"      /* path of the volume as the daemon opened it */
#define CONTROL_FILES       "files"       /* regular files */
#define CONTROL_BYTES       "bytes"       /* sum of their sizes */

/* CONTROL_STATS */
#define CONTROL_RELEASE          "release"        /* of the daemon */
#define CONTROL_PID              "pid"
#define CONTROL_UPTIME           "uptime_seconds"
#define CONTROL_CHANNEL          "channel"        /* "ring" (FUSE over io_uring) or "dev" (/dev/fuse) */
#define CONTROL_IO               "io"             /* "uring" or "threads" */
#define CONTROL_IO_REASON        "io_reason"      /* why not io_uring; empty when it is */
#define CONTROL_WORKERS          "workers"
#define CONTROL_BUFFER_BUDGET    "buffer_budget"  /* most that request buffers may take */
#define CONTROL_GENERATION       "generation"     /* object: sequence, lookups */
#define CONTROL_LOOKUPS          "lookups"        /* names that the kernel holds: of an old version those of open files,
						     * working directories and descriptors of directories */
#define CONTROL_GENERATIONS      "generations"    /* array of objects, every open version: label, sequence, lookups,
						     * index_bytes, fine_bytes, current */
#define CONTROL_INDEX_BYTES      "index_bytes"    /* memory of its index */
#define CONTROL_FINE_BYTES       "fine_bytes"     /* memory of the head of its fine sums; 0: none are used */
#define CONTROL_IS_CURRENT       "current"
#define CONTROL_SWITCHES         "switches"       /* since the mount */
#define CONTROL_LOADS            "loads"          /* versions that were loaded since the mount, also in vain */
#define CONTROL_REQUESTS         "requests"       /* object: opcode name to count */
#define CONTROL_REQUESTS_TOTAL   "requests_total"
#define CONTROL_ERRORS           "errors"         /* replies that carry an error other than ENOENT, ENOSYS,
						     * ENOTTY, ENODATA, ERANGE, ENXIO and EROFS */
#define CONTROL_IN_FLIGHT        "in_flight"      /* requests in work: not answered yet, or the device still has their memory */
#define CONTROL_INTERRUPTED      "interrupted"    /* reads answered early because their process was killed */
#define CONTROL_BYTES_SERVED     "bytes_served"   /* file contents in READ replies */
#define CONTROL_DEVICE_READS     "device_reads"
#define CONTROL_DEVICE_BYTES     "device_bytes"
#define CONTROL_DEVICE_ERRORS    "device_errors"  /* failed and short reads, repeated ones included */
#define CONTROL_CHECKSUM_FAILURE "checksum_failures" /* every mismatch, also those that a second read cured */
#define CONTROL_RETRIES          "retries"        /* device reads done again */
#define CONTROL_READ_FAILURES    "read_failures"  /* READs answered with EIO, at the deadline as well */
#define CONTROL_CACHE_HITS       "cache_hits"     /* chunks found in the chunk cache */
#define CONTROL_FINE_READS       "fine_reads"     /* pages of fine sums read, counted in device_reads too */
#define CONTROL_FINE_HITS        "fine_hits"      /* pages of fine sums found in their cache */
#define CONTROL_FINE_FAILURES    "fine_failures"  /* READs that turned to whole chunks as fine sums did not help */
#define CONTROL_STALLED_SINCE    "stalled_since"  /* seconds since 1970: reads have waited for the device since then; 0: none */
#define CONTROL_STALLS           "stalls"         /* how often a read waited for the device for more than a second */
#define CONTROL_LONGEST_STALL    "longest_stall_seconds"
#define CONTROL_READ_LATENCY     "read_latency_us"   /* array of 24: element n counts [2^(n-1), 2^n) µs, */
#define CONTROL_DEVICE_LATENCY   "device_latency_us" /* element 0 less than 1, the last one all above */
#define CONTROL_LATENCY_BUCKETS  24
