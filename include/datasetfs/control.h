/* SPDX-License-Identifier: MIT */
/* Defines the control interface of a mount: the files in MNT/.datasetfs, the fields of their JSON, and the commands.
 *
 * The directory is not listed but can be reached by name. Each open by path makes a new file with a snapshot. Later
 * releases may add fields; no field changes its meaning. Counters start at 0 with the daemon and only grow. Times are
 * in microseconds unless the name says otherwise; sizes are in bytes. */
#pragma once
#include <linux/ioctl.h>
#include <stdint.h>

#define DSFS_CONTROL_FOLDER  ".datasetfs"
#define DSFS_CONTROL_VERSION "version"    /* the version that is mounted: one JSON object */
#define DSFS_CONTROL_STATS   "stats.json" /* counters: one JSON object */
#define DSFS_CONTROL_METRICS "metrics"    /* the same for Prometheus, in its text format 0.0.4: datasetfs-control(5) */
#define DSFS_CONTROL_CATALOGUE "versions.json" /* the versions of the volume, oldest first: a JSON array of objects */
#define DSFS_CONTROL_DAMAGE  "damage"     /* places that reads found damaged, one line of text each: member, offset,
					   * length, reason, version, the chunk's sum or "-", and "wrong" or
					   * "unreadable", separated by tabs */
#define DSFS_CONTROL_CLIENT  "client"     /* where libdatasetfs finds the daemon: one JSON object */

#define DSFS_CONTROL_VERSIONS "versions"  /* a directory: every version of the volume under its label, opened on
				      * first use; absent with the mount option noversions */
#define DSFS_CONTROL_CONTROL "control"    /* takes commands by ioctl(2) on a descriptor opened for reading */

/* Commands; ioctl_datasetfs(2) describes them. Root with CAP_SYS_ADMIN in the user namespace of the daemon, the user
 * who mounted, and members of the mount's control_group (as primary or supplementary group) may use them. The daemon
 * checks the caller when the command arrives, and refuses others with EPERM. A command returns when it is done; the
 * mount serves other requests meanwhile.
 *
 * When a command fails, ioctl(2) returns -1 with errno set, the struct is filled in nevertheless, and reason says why
 * in one line. Three errors occur earlier and leave the struct alone: ENOTTY, no such command; EBUSY, too many
 * commands are running; ENOMEM, no memory to begin. Callers set fields that are not described as input to 0; text is
 * NUL-terminated. */
#define DSFS_SWITCH_LABEL_SIZE  128 /* bytes, with the NUL */
#define DSFS_SWITCH_REASON_SIZE 504

#define DSFS_SWITCH_PREPARE 1u /* only load and verify; a later switch to this version takes milliseconds */
#define DSFS_SWITCH_BY_UUID 2u /* uuid, not label, names the version; it may be a removed one that is still open */

/* Loads a version of the volume, verifies its index, and makes it the one that paths through the mountpoint lead to.
 * The version prepared last stays loaded. Every error leaves the mount as it was:
 *   ENOENT      the volume has no such version
 *   EBADMSG     the version is damaged, or its digest is not the one that the mount is pinned to
 *   EKEYREJECTED  no signer that the mount option trust allows has signed the version
 *   EOPNOTSUPP  the version needs a newer release
 *   ENOMEM      the machine or the memory cgroup has no room for its index
 *   ENFILE      too many versions are open
 *   ECANCELED   the mount does not serve if_current
 *   ESTALE      the volume is another one, or in an older state than before
 *   EINVAL      unknown flags, or a label without a NUL
 *   EINTR       the calling process was killed
 * and the errors of the device. */
struct dsfs_switch {
	uint32_t flags;                          /* in: DSFS_SWITCH_PREPARE, DSFS_SWITCH_BY_UUID */
	uint32_t reserved;
	char label[DSFS_SWITCH_LABEL_SIZE];      /* in: the version's label; empty: the current one; out: its label */
	char if_current[DSFS_SWITCH_LABEL_SIZE]; /* in: switch only if the mount serves this label now; empty: always */
	uint8_t uuid[16];                        /* in: with DSFS_SWITCH_BY_UUID; out: of the version */
	uint64_t sequence;                       /* out: of the version */
	uint64_t prepare_us, switch_us;          /* out: from arrival to loaded; of the switch itself */
	char reason[DSFS_SWITCH_REASON_SIZE];    /* out */
};
#define DSFS_IOC_SWITCH _IOWR('d', 1, struct dsfs_switch)

/* Announces files that will be read soon, in the order in which they will be read: the mount reads and verifies them
 * ahead, so that small ones are in the page cache by then and larger ones in the memory of the daemon. Files that lie
 * side by side on the volume are read together, also where others come between them in this order. It is a hint and
 * changes no result: a file that was not read ahead is read as usual, and one that cannot be read fails when it is
 * read. The command returns at once, whatever the device does.
 *
 * Users may announce files that they may read by their modes; users who may switch the mount, all files. A file is
 * named by its number, st_ino of stat(2), or by the lower DSFS_PREFETCH_ORDINAL_BITS bits of it alone; 0 is skipped.
 * The mount takes as many files as it has room for, from the first on, and none of them when one is wrong. Errors:
 *   ESTALE      the mount serves a version with another digest, or a number is of another version
 *   EINVAL      unknown flags, or too many files
 *   EACCES      a number is not that of a regular file which the caller may read
 *   EOPNOTSUPP  the mount option prefetch=off */
#define DSFS_PREFETCH_MOST         1024 /* files per command, at most */
#define DSFS_PREFETCH_REASON_SIZE  504
#define DSFS_PREFETCH_ORDINAL_BITS 40
struct dsfs_prefetch {
	uint32_t flags;       /* in: 0 */
	uint32_t count;       /* in: number of files; 0 asks how many would be taken */
	uint8_t digest[32];   /* in: of the version that has the files */
	uint32_t taken;       /* out: how many of the files, from the first one on */
	uint32_t credit;      /* out: how many more the mount takes from this user now; 0: try again later */
	uint32_t restarts;    /* out: DSFS_CONTROL_RESTARTS; if it has changed, files that were announced before and not
			       * read yet are forgotten */
	uint32_t reserved;    /* out: 0 */
	char reason[DSFS_PREFETCH_REASON_SIZE]; /* out */
	uint64_t files[DSFS_PREFETCH_MOST];     /* in; not written to */
};
#define DSFS_IOC_PREFETCH _IOWR('d', 2, struct dsfs_prefetch)

/* Replaces the program that serves the mount by the one that is installed now at its path; options stay as they were
 * mounted. Root with CAP_SYS_ADMIN in the user namespace of the daemon and the user who mounted may use it. Readers
 * see a pause. Every error leaves the mount with the program that it had:
 *   EPERM       not permitted, or the program, or a folder above it, belongs to or is writable by others than root
 *               and the user who mounted
 *   ENOENT      there is no program at this path now
 *   EACCES      it is no regular file that may be executed
 *   ENOEXEC     it cannot be executed
 *   EPROTO      it does not know what this program has left to it
 *   EIO         it crashed, or ended
 *   ETIMEDOUT   it did not come up
 *   EBUSY       another upgrade is under way
 *   EOPNOTSUPP  the mount has channel=ring or nosupervisor
 *   EINVAL      unknown flags */
#define DSFS_UPGRADE_IF_OTHER 1u /* only if another file lies there than the one that runs */
struct dsfs_upgrade {
	uint32_t flags;    /* in: DSFS_UPGRADE_IF_OTHER */
	uint32_t upgraded; /* out: 1: a new server runs; 0: the program was the same */
	char reason[DSFS_SWITCH_REASON_SIZE]; /* out */
};
#define DSFS_IOC_UPGRADE _IOWR('d', 6, struct dsfs_upgrade)

/* Fills the cache of the mount option cache= with files of the version that the mount serves, so that their first read
 * comes from there as well. The daemon reads missing files in the order of the volume, and gives way to
 * readers. Users who may switch the mount may use it.
 *
 * The first command, with job 0, begins a job, and each further one names it. Files are added until DSFS_WARM_GO says
 * that all are there. A command returns at once; state says how far the job is, and a job that no command names for
 * half a minute ends. It is gone when its end was told, and when the server of the mount is replaced: begin again, as
 * files that were read are not read again. Jobs of a mount wait for each other. A switch ends them. Errors:
 *   EBUSY       too many jobs wait
 *   EINVAL      unknown flags, or too many files
 *   ENOENT      there is no such job
 *   ENOMEM      no memory for the job
 *   EOPNOTSUPP  the mount keeps no contents
 *   EPERM       not permitted
 *   ESTALE      the mount serves another version than sequence, or a number is of another one */
#define DSFS_WARM_MOST        1024 /* files per command, at most */
#define DSFS_WARM_REASON_SIZE 504

#define DSFS_WARM_GO   1u /* all files are there */
#define DSFS_WARM_STOP 2u /* end the job, and keep what was read */

/* States of a job. The last four are ends; the counts are right then. */
#define DSFS_WARM_TAKES   0u /* it takes files */
#define DSFS_WARM_WAITS   1u /* other jobs come first */
#define DSFS_WARM_LOOKS   2u /* it looks which files are missing */
#define DSFS_WARM_READS   3u
#define DSFS_WARM_DONE    4u /* nothing is missing */
#define DSFS_WARM_FULL    5u /* the rest does not fit */
#define DSFS_WARM_STOPPED 6u
#define DSFS_WARM_FAILED  7u /* see reason */

struct dsfs_warm_count {
	uint64_t files, bytes; /* bytes of contents */
};
struct dsfs_warm {
	uint32_t flags;    /* in: DSFS_WARM_GO, DSFS_WARM_STOP */
	uint32_t count;    /* in: number of files */
	uint64_t job;      /* in: 0: begin one; out: its number */
	uint64_t sequence; /* in: of the version, with job 0; 0: any; out */
	uint32_t state;    /* out */
	uint32_t reserved; /* out: 0 */
	struct dsfs_warm_count to_read; /* out: what was missing when it began */
	struct dsfs_warm_count read;    /* out: what was read since; files that were dropped are read again */
	struct dsfs_warm_count cached;  /* out: all of these files that is on the volume is in the cache */
	struct dsfs_warm_count missing; /* out: not all of it is */
	struct dsfs_warm_count index;   /* out: nothing of these is on the volume but in the index, in memory */
	struct dsfs_warm_count large;   /* out: these are too large for the cache */
	uint64_t cache_size;            /* out: bytes that the cache may take */
	char label[DSFS_SWITCH_LABEL_SIZE]; /* out: of the version */
	char reason[DSFS_WARM_REASON_SIZE]; /* out: why the command failed; when the job did: why that */
	uint64_t files[DSFS_WARM_MOST]; /* in: as in dsfs_prefetch; a directory stands for all below it; not written
					 * to */
};
#define DSFS_IOC_WARM _IOWR('d', 7, struct dsfs_warm)

/* The commands below change nothing, and any user of the mount may give them, also to a directory of it: one that is
 * mounted alone has no control file. When one fails, ioctl(2) returns -1 with errno set, and the struct is left alone.
 */
struct dsfs_version_facts {
	char label[DSFS_SWITCH_LABEL_SIZE];
	uint8_t uuid[16];
	uint8_t digest[32];    /* SHA-256 */
	uint64_t sequence;     /* of the version on its volume */
	uint64_t files, bytes; /* regular files, and the sum of their sizes */
	uint64_t inodes;       /* regular files, directories and symbolic links */
};
/* Describes the version that the mount serves, as DSFS_CONTROL_VERSION does; asked of a directory, its version. */
#define DSFS_IOC_VERSION _IOR('d', 3, struct dsfs_version_facts)

/* Describes versions of the volume, the oldest first, as DSFS_CONTROL_CATALOGUE does. It reads the volume. If there
 * are more than fit, ask again with the last sequence; versions that come or go meanwhile may be left out.
 *   EBUSY    too many requests that read the volume wait
 *   ESTALE   the volume is another one, or in an older state than before
 * and the errors of the device. */
#define DSFS_VERSION_LIST_MOST 32
struct dsfs_version_list {
	uint64_t after;    /* in: only versions with a higher sequence; 0: all */
	uint64_t current;  /* out: sequence of the volume's current version; 0: none */
	uint32_t count;    /* out: fewer than DSFS_VERSION_LIST_MOST: there are no more */
	uint32_t reserved;
	struct dsfs_version_facts versions[DSFS_VERSION_LIST_MOST]; /* out */
};
#define DSFS_IOC_VERSIONS _IOWR('d', 4, struct dsfs_version_list)

/* Says where libdatasetfs finds the daemon, as DSFS_CONTROL_CLIENT does. */
struct dsfs_daemon_facts {
	uint32_t protocol; /* version of the protocol at the socket */
	uint32_t reserved;
	char socket[108];  /* its path; empty: there is none */
	char reason[DSFS_SWITCH_REASON_SIZE]; /* why there is none; empty: there is one */
};
#define DSFS_IOC_DAEMON _IOR('d', 5, struct dsfs_daemon_facts)

/* Attribute of the root of an EROFS with a version, such as a mount that the kernel serves, which has no
 * DSFS_CONTROL_FOLDER: the version, as one JSON object. */
#define DSFS_VERSION_ATTRIBUTE "user.datasetfs-version"

/* Fields of DSFS_CONTROL_VERSION, of the objects of DSFS_CONTROL_CATALOGUE, and of DSFS_VERSION_ATTRIBUTE. Only the
 * first has DSFS_CONTROL_META and those of the volume; only the second has DSFS_CONTROL_IS_CURRENT. */
#define DSFS_CONTROL_LABEL       "label"
#define DSFS_CONTROL_UUID        "uuid"        /* of the version */
#define DSFS_CONTROL_DIGEST      "digest"      /* "sha256:" and 64 hexadecimal digits */
#define DSFS_CONTROL_SUMS        "sums"        /* kind of the sums of its contents: "xxh3-64" or "sha256" */
#define DSFS_CONTROL_SEQUENCE    "sequence"    /* of the version on its volume */
#define DSFS_CONTROL_META        "meta"        /* its metadata, an object: the root's attributes user.datasetfs.KEY */
#define DSFS_CONTROL_VOLUME_UUID "volume_uuid"
#define DSFS_CONTROL_VOLUME      "volume"      /* path of the volume, as given to the daemon */
#define DSFS_CONTROL_FILES       "files"       /* regular files */
#define DSFS_CONTROL_BYTES       "bytes"       /* sum of their sizes */
#define DSFS_CONTROL_INODES      "inodes"      /* regular files, directories and symbolic links */

/* Fields of DSFS_CONTROL_CLIENT. */
#define DSFS_CONTROL_PROTOCOL    "protocol"    /* version of the protocol at the socket, for libdatasetfs alone */
#define DSFS_CONTROL_SOCKET      "socket"      /* its path; empty: there is none */
#define DSFS_CONTROL_REASON      "reason"      /* why there is none; empty: there is one */

/* Fields of DSFS_CONTROL_STATS. */
#define DSFS_CONTROL_RELEASE          "release"        /* of the daemon */
#define DSFS_CONTROL_PID              "pid"            /* process that takes signals and starts the servers */
#define DSFS_CONTROL_SERVER_PID       "server_pid"     /* process that serves; equal to pid with nosupervisor */
#define DSFS_CONTROL_RESTARTS         "restarts"       /* servers that died and were replaced */
#define DSFS_CONTROL_SURVIVES         "survives"       /* what goes on when the server dies: "requests" (all of them),
						     * "mount" (requests under way may end with ECONNABORTED), or
						     * "nothing" */
#define DSFS_CONTROL_PROGRAM          "program"        /* path of the server's program */
#define DSFS_CONTROL_PROGRAM_OLD      "program_is_old" /* another program lies there now, see DSFS_IOC_UPGRADE */
#define DSFS_CONTROL_UPTIME           "uptime_seconds"
#define DSFS_CONTROL_CHANNEL          "channel"        /* "ring" (FUSE over io_uring) or "dev" (/dev/fuse) */
#define DSFS_CONTROL_IO               "io"             /* "uring" or "threads" */
#define DSFS_CONTROL_IO_REASON        "io_reason"      /* why io_uring is not used; empty when it is */
#define DSFS_CONTROL_CPU              "cpu_seconds"    /* CPU time of the daemon, in user and kernel mode */
#define DSFS_CONTROL_WORKERS          "workers"        /* threads that serve requests */
#define DSFS_CONTROL_BUFFER_BUDGET    "buffer_budget"  /* bytes that request buffers may take at most */
#define DSFS_CONTROL_OPTIONS          "options"        /* object: the mount options in force, by their names in
						     * datasetfs(8): numbers (bytes, seconds, 0: off or none
						     * given), true or false, else texts ("": none given) */
#define DSFS_CONTROL_GENERATION       "generation"     /* object: sequence, lookups */
#define DSFS_CONTROL_LOOKUPS          "lookups"        /* names that the kernel holds; of an old version, the names
							* of open files, open and working directories; of one that
							* was open when a server was replaced, those learnt since */
#define DSFS_CONTROL_GENERATIONS      "generations"    /* array of an object for each open version: label,
						     * sequence, sums, lookups, index_bytes, block_checksum_bytes,
						     * current */
#define DSFS_CONTROL_INDEX_BYTES      "index_bytes"    /* bytes of its index, in memory */
#define DSFS_CONTROL_SUMS_BYTES       "block_checksum_bytes" /* memory of the head of its block checksums; 0: not
							      * used */
#define DSFS_CONTROL_IS_CURRENT       "current"        /* true or false: the mount serves this version */
#define DSFS_CONTROL_SIGNER           "signer"         /* who signed the version that is served, as the file of the
						     * mount option trust calls him; "": the mount has none */
#define DSFS_CONTROL_SIGNER_KEY       "signer_key"     /* fingerprint of his key: "SHA256:" and 43 characters */
#define DSFS_CONTROL_SIGNED           "signed"         /* date of the version in what he signed, as in RFC 3339 */
#define DSFS_CONTROL_SWITCHES         "switches"       /* to another version, since the mount */
#define DSFS_CONTROL_SERVING_SINCE    "serving_since"  /* when this version began to be served, seconds since 1970 */
#define DSFS_CONTROL_LOADS            "loads"          /* loads of versions since the mount, also failed ones */
#define DSFS_CONTROL_INDEX_READ       "index_read_bytes" /* of indexes that were loaded from the volume */
#define DSFS_CONTROL_INDEX_COPIED     "index_copy_bytes" /* of indexes that were loaded from copies in the folder of the
						       * mount option cache= */
#define DSFS_CONTROL_INDEX_SHARED     "index_shared_bytes" /* of indexes that other mounts of the machine have lent, so
							 * that they are in memory once */
#define DSFS_CONTROL_REQUESTS         "requests"       /* object: number of requests for each opcode name */
#define DSFS_CONTROL_REQUESTS_TOTAL   "requests_total" /* their sum */
#define DSFS_CONTROL_ERRORS           "errors"         /* replies with an error other than EINTR, ENOENT, ENOSYS,
						     * ENOTTY, ENODATA, ERANGE, ENXIO and EROFS */
#define DSFS_CONTROL_IN_FLIGHT        "in_flight"      /* unanswered requests, and those whose memory a device has */
#define DSFS_CONTROL_INTERRUPTED      "interrupted"    /* reads answered early because their process was killed */
#define DSFS_CONTROL_BYTES_SERVED     "bytes_served"   /* content in READ replies */
#define DSFS_CONTROL_FILES_SERVED     "files_served"   /* times that the beginning of a file went to the kernel: in a
						     * READ reply, or ahead into the page cache */
#define DSFS_CONTROL_BYTES_STORED     "bytes_stored"   /* content that went ahead into the page cache */
#define DSFS_CONTROL_DEVICE_READS     "device_reads"   /* reads of the volume */
#define DSFS_CONTROL_DEVICE_BYTES     "device_bytes"
#define DSFS_CONTROL_DEVICE_ERRORS    "device_errors"  /* failed and short reads, repeated ones included */
#define DSFS_CONTROL_CHECKSUM_FAILURE "checksum_failures" /* every mismatch, also when a second read was right; not
							   * those of a read ahead that failed, as its READ finds
							   * them again */
#define DSFS_CONTROL_RETRIES          "retries"        /* device reads that were repeated */
#define DSFS_CONTROL_WINDOW           "window_reads"   /* device reads that may be under way now; 0: no limit */
#define DSFS_CONTROL_HELD_READS       "held_reads"     /* device reads that waited until others had ended, or for
							* max_iops= and max_bandwidth= */
#define DSFS_CONTROL_HELD             "held_seconds"   /* how long these waited, all together */
#define DSFS_CONTROL_HEDGES           "hedges_sent"    /* device reads that were late and made again at another
							* member */
#define DSFS_CONTROL_HEDGES_WON       "hedges_won"     /* those of them that came before the late ones */
#define DSFS_CONTROL_READ_FAILURES    "read_failures"  /* READs answered with EIO, also at the deadline */
#define DSFS_CONTROL_LAST_FAILURE     "last_failure"   /* when read_failures or client_read_failures last grew,
							* seconds since 1970; 0: never */
#define DSFS_CONTROL_LAST_ERROR       "last_error"     /* when device_errors, checksum_failures, or those of clients
							* last grew, seconds since 1970; 0: never */
#define DSFS_CONTROL_CACHE_HITS       "cache_hits"     /* chunks found in the chunk cache */
/* The cache on a drive of this machine, of the mount option cache=. device_reads, device_bytes and device_latency have
 * nothing of it. */
#define DSFS_CONTROL_LOCAL_HITS       "local_cache_hits"    /* reads that it had, where else the volume is read */
#define DSFS_CONTROL_LOCAL_BYTES      "local_cache_bytes"   /* bytes of these reads */
#define DSFS_CONTROL_LOCAL_FILLS      "local_cache_fills"   /* chunks written to it */
#define DSFS_CONTROL_LOCAL_DROPPED    "local_cache_dropped" /* chunks that could have been, but there was no room, or
							     * its drive was too slow */
#define DSFS_CONTROL_LOCAL_ERRORS     "local_cache_errors"  /* reads of it that failed or had something else, so that
							     * the volume was read, and writes that failed */
#define DSFS_CONTROL_LOCAL_USED       "local_cache_used"    /* bytes of it that have something */
#define DSFS_CONTROL_LOCAL_SIZE       "local_cache_size"    /* bytes that it may take; 0: there is none */
#define DSFS_CONTROL_LOCAL_FOLLOWS    "local_cache_follows" /* bool: another mount of the machine fills it */
#define DSFS_CONTROL_SUMS_READS       "block_checksum_reads" /* pages of block checksums read; device_reads
						     * counts them too */
#define DSFS_CONTROL_SUMS_HITS        "block_checksum_hits" /* pages of block checksums found in their cache */
#define DSFS_CONTROL_SUMS_FALLBACKS   "block_checksum_fallbacks" /* READs that fell back from block checksums to
						     * whole chunks */
#define DSFS_CONTROL_AHEAD_FILES      "ahead_files"    /* files read ahead, counted again if read again; device_reads
							* and device_bytes include these reads */
#define DSFS_CONTROL_AHEAD_BYTES      "ahead_bytes"    /* bytes of their content */
#define DSFS_CONTROL_AHEAD_STORED     "ahead_stored"   /* files read ahead into the page cache: no READ comes */
#define DSFS_CONTROL_AHEAD_SERVED     "ahead_served"   /* READs answered with what was read ahead */
#define DSFS_CONTROL_AHEAD_DROPPED    "ahead_dropped"  /* files read ahead, kept, and dropped unread */
#define DSFS_CONTROL_AHEAD_FAILURES   "ahead_failures" /* reads ahead that failed: the files' READs report it */
#define DSFS_CONTROL_AHEAD_READS      "ahead_device_reads" /* device_reads that were reads ahead */
#define DSFS_CONTROL_PREFETCH_ANNOUNCED "prefetch_announced" /* files that DSFS_IOC_PREFETCH took */
#define DSFS_CONTROL_PREFETCH_FILES    "prefetch_files"    /* announced files that were read and verified ahead */
#define DSFS_CONTROL_PREFETCH_BYTES    "prefetch_bytes"    /* bytes of their contents */
#define DSFS_CONTROL_PREFETCH_READS    "prefetch_reads"    /* device_reads that were made for announced files */
#define DSFS_CONTROL_PREFETCH_STORED   "prefetch_stored"   /* announced files that went into the page cache */
#define DSFS_CONTROL_PREFETCH_SERVED   "prefetch_served"   /* READs answered with announced files that were kept */
#define DSFS_CONTROL_PREFETCH_DROPPED  "prefetch_dropped"  /* announced files that were kept and never read */
#define DSFS_CONTROL_PREFETCH_FAILURES "prefetch_failures" /* reads ahead of announced files that failed, so that their
							    * READs repeat them */
#define DSFS_CONTROL_STALLED_SINCE    "stalled_since"  /* when the stall began, seconds since 1970; 0: no stall */
#define DSFS_CONTROL_MEMBERS          "members"        /* array of objects, one for each member by number: */
#define DSFS_CONTROL_MEMBER           "member"         /* number of the member */
#define DSFS_CONTROL_MEMBER_NAME      "name"           /* path or identity by which it was found, or null */
#define DSFS_CONTROL_MEMBER_STATE     "state"          /* "ok"; "suspect": it is silent or fails, and a copy is read
							* where there is one; "missing": it is absent, replaced by
							* something else, or stale */
#define DSFS_CONTROL_MEMBER_READS     "reads"          /* device reads that ended */
#define DSFS_CONTROL_MEMBER_BYTES     "bytes"          /* bytes of these reads */
#define DSFS_CONTROL_MEMBER_ERRORS    "errors"         /* device reads that failed */
#define DSFS_CONTROL_MEMBER_IN_FLIGHT "in_flight"      /* device reads in flight */
#define DSFS_CONTROL_MEMBER_LATENCY   "latency"        /* seconds that a device read is expected to take now */
#define DSFS_CONTROL_SIZES            "sizes"          /* array of objects, one for each member that is there, also of a
							* volume of one, with its number: */
#define DSFS_CONTROL_SIZE             "size"           /* bytes that it had when the daemon last looked */
#define DSFS_CONTROL_SIZE_OPENED      "size_opened"    /* bytes that it had to have when the served version was
							* opened */
#define DSFS_CONTROL_CRYPT            "crypt_members"  /* number of members that are read through dm-crypt */
#define DSFS_CONTROL_PROTECTION       "protection"     /* object, only with several members, of the served version: */
#define DSFS_CONTROL_PROTECTED_PERCENT "protected_percent" /* percentage of its groups that were written with copies */
#define DSFS_CONTROL_SINGLE_PERCENT   "one_copy_percent" /* percentage of its groups that have one copy left */
#define DSFS_CONTROL_DEGRADED         "degraded"       /* the missing members in words, or null */
#define DSFS_CONTROL_DAMAGED          "damaged"        /* number of lines in the file damage */
#define DSFS_CONTROL_OUTDATED         "outdated"       /* why the served version is not on the volume any more, and
							* reads fail once its space is used again: "removed", "moved"
							* (by compaction; the mount does not follow), "reformatted"
							* (the volume is another one); null: it is there */
#define DSFS_CONTROL_OUTDATED_UNTIL   "outdated_until" /* when the mount last switched away from such a version,
							* seconds since 1970; 0: never. It explains earlier failures */
#define DSFS_CONTROL_FOLLOW_FAILURE   "follow_failure" /* why a mount with follow= does not serve the volume's current
							* version, as of its last look; null: it does, or it does not
							* follow */
#define DSFS_CONTROL_STALLS           "stalls"         /* reads that waited over 1 s for the device */
#define DSFS_CONTROL_LONGEST_STALL    "longest_stall_seconds"
#define DSFS_CONTROL_CLIENTS          "clients"        /* programs that read past the mount, connected now */
#define DSFS_CONTROL_CLIENT_REASON    "client_reason"  /* why no program can: no socket; empty: there is one */
#define DSFS_CONTROL_CLIENT_OPENED    "client_opened"  /* versions handed to such programs */
#define DSFS_CONTROL_CLIENT_REFUSED   "client_refused" /* connections refused: not permitted, or beyond the limit */
#define DSFS_CONTROL_CLIENT_DROPPED   "client_dropped" /* connections closed because they broke the protocol */
#define DSFS_CONTROL_CLIENT_FILES     "client_files"   /* as clients report it: reads of files */
#define DSFS_CONTROL_CLIENT_BYTES     "client_bytes"   /* as clients report it: bytes of contents */
#define DSFS_CONTROL_CLIENT_CHECKSUM  "client_checksum_failures" /* as clients report it: checksum_failures */
#define DSFS_CONTROL_CLIENT_DEVICE    "client_device_errors"     /* as clients report it: device_errors */
#define DSFS_CONTROL_CLIENT_FAILURES  "client_read_failures"     /* as clients report it: reads that failed for good */
#define DSFS_CONTROL_CLIENT_READS     "client_device_reads" /* as clients report it: device_reads */
/* The cache on this machine, of the option cache=, as clients report it. */
#define DSFS_CONTROL_CLIENT_LOCAL_HITS   "client_local_cache_hits"   /* local_cache_hits */
#define DSFS_CONTROL_CLIENT_LOCAL_BYTES  "client_local_cache_bytes"  /* local_cache_bytes */
#define DSFS_CONTROL_CLIENT_LOCAL_ERRORS "client_local_cache_errors" /* reads of local_cache_errors */
#define DSFS_CONTROL_READ_LATENCY     "read_latency_us"   /* READs by latency: element 0 under 1 µs, n from 2^(n-1)
							   * to under 2^n µs, the last all above */
#define DSFS_CONTROL_DEVICE_LATENCY   "device_latency_us" /* device reads by latency, in the same buckets as READs */
#define DSFS_CONTROL_LATENCY_BUCKETS  24
