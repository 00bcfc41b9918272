/* SPDX-License-Identifier: MIT */
/* What a mount tells about itself: the files in MNT/.datasetfs and the fields of their JSON.
 *
 * The folder is not listed but reachable by name. Each open by path finds a fresh file that holds a snapshot.
 * Fields may be added; none changes its meaning. Counters start at 0 with the daemon and only grow;
 * times are microseconds unless the name says otherwise; sizes are bytes. */
#pragma once

#define CONTROL_FOLDER  ".datasetfs"
#define CONTROL_VERSION "version"    /* which version is mounted: one JSON object */
#define CONTROL_STATS   "stats.json" /* counters: one JSON object */

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
#define CONTROL_LOOKUPS          "lookups"        /* names that the kernel holds */
#define CONTROL_REQUESTS         "requests"       /* object: opcode name to count */
#define CONTROL_REQUESTS_TOTAL   "requests_total"
#define CONTROL_ERRORS           "errors"         /* replies that carry an error other than ENOENT, ENOSYS,
						     * ENOTTY, ENODATA, ERANGE, ENXIO and EROFS */
#define CONTROL_IN_FLIGHT        "in_flight"      /* requests not answered yet */
#define CONTROL_INTERRUPTED      "interrupted"    /* reads answered early because their process was killed */
#define CONTROL_BYTES_SERVED     "bytes_served"   /* file contents in READ replies */
#define CONTROL_DEVICE_READS     "device_reads"
#define CONTROL_DEVICE_BYTES     "device_bytes"
#define CONTROL_DEVICE_ERRORS    "device_errors"  /* failed and short reads, repeated ones included */
#define CONTROL_CHECKSUM_FAILURE "checksum_failures" /* every mismatch, also those that a second read cured */
#define CONTROL_RETRIES          "retries"        /* device reads done a second time */
#define CONTROL_READ_FAILURES    "read_failures"  /* READs answered with EIO */
#define CONTROL_CACHE_HITS       "cache_hits"     /* chunks found in the chunk cache */
#define CONTROL_READ_LATENCY     "read_latency_us"   /* array of 24: element n counts [2^(n-1), 2^n) µs, */
#define CONTROL_DEVICE_LATENCY   "device_latency_us" /* element 0 less than 1, the last one all above */
#define CONTROL_LATENCY_BUCKETS  24
