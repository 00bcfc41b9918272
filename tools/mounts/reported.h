/* SPDX-License-Identifier: MIT */
/* Reads a mount's report about itself in MNT/.datasetfs (datasetfs/control.h) and parses its JSON. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "datasetfs/control.h"

struct reported_version {
	char *volume; /* path of the volume as the daemon opened it */
	uint8_t volume_uuid[16];
	uint64_t sequence; /* of the version that the mount serves */
	uint8_t uuid[16];  /* UUID of that version */
	uint8_t digest[32];
};

must_check int reported_read_version(const char *mount, struct reported_version *ret, struct error *err);
void reported_version_free(struct reported_version *version); /* frees its contents only */

struct reported_size { /* of a member: bytes now, and when the served version was opened */
	uint64_t member, size, opened;
};

/* Counters since the mount, and other numbers. Fields that the mount does not report are zero. */
struct reported_stats {
	char label[DSFS_SWITCH_LABEL_SIZE]; /* of the version */
	uint8_t volume_uuid[16], uuid[16];  /* of the volume, and of the version */
	uint64_t sequence, files, bytes;    /* of the version */
	bool follows;                       /* the mount switches to each new current version */
	uint64_t serving_since, switches;   /* seconds since 1970 */
	double uptime;                      /* seconds */
	bool program_is_old;                /* another one is installed than the one that serves */
	uint64_t pid, server_pid, restarts, workers, buffer_budget;
	double cpu;                         /* seconds */
	uint64_t requests, errors, interrupted;
	uint64_t in_flight;                 /* requests, except our own */
	uint64_t files_served, bytes_served, bytes_stored;
	uint64_t device_reads, device_bytes, device_errors, held_reads;
	uint64_t local_hits, local_bytes, local_used, local_size, local_errors; /* of the cache on the machine */
	bool local_follows;                 /* another mount fills that cache */
	uint64_t checksum_failures, retries, read_failures, damaged;
	uint64_t last_failure, last_error;  /* seconds since 1970; 0: never */
	uint64_t outdated_until;            /* seconds since 1970; failures before that are no problem any more */
	uint64_t ahead_files, prefetch_files;
	uint64_t stalled_since, stalls;     /* seconds since 1970; 0: nothing waits */
	double longest_stall;               /* seconds */
	uint64_t clients, client_files, client_bytes;
	uint64_t client_checksum_failures, client_device_errors, client_read_failures;
	uint64_t read_latency[DSFS_CONTROL_LATENCY_BUCKETS], device_latency[DSFS_CONTROL_LATENCY_BUCKETS];
	uint32_t members, suspect, missing; /* numbers of members; 0: the volume has only one */
	uint64_t crypt_members;             /* that dm-crypt decrypts; a volume of one counts as a member */
	uint32_t first_suspect;             /* its number, if any is suspect */
	bool is_protected;                  /* the next two fields are known: the volume has several members */
	unsigned protected_percent, one_copy_percent;
	struct reported_size truncated;     /* the first member that is shorter than it was; opened 0: none is */
	char outdated[16];                  /* why the version is not on the volume any more; "": it is */
	char behind[400];                   /* why it does not follow the volume's current version; "": it does */
	char degraded[256];                 /* which members are missing, in words; "": none */
};

struct reported_member {
	uint64_t number, reads, bytes, errors, in_flight;
	double latency;    /* seconds */
	const char *state; /* both strings belong to the report; name: "" if the member was never found */
	const char *name;
};

struct reported_field {
	const char *name, *value; /* value: of a text; both belong to the report */
	bool is_number;
	uint64_t number;
};

struct reported; /* the files version and stats.json, each as it was at one moment */

/* Reads the report. Blocks for as long as the mount hangs. */
must_check int reported_open(const char *mount, struct reported **ret, struct error *err);
void reported_close(struct reported *reported);
/* Makes the daemon read the volume's catalogue, so that the next report tells whether the version is still on the
 * volume. Blocks for as long as the device hangs. */
void reported_refresh(const char *mount);

void reported_take(const struct reported *reported, struct reported_stats *ret);
/* Returns a text field of the version or of the daemon, by its name in datasetfs/control.h; "": there is none. */
const char *reported_text(const struct reported *reported, const char *key);
/* Returns member or option number index. False: there are no more. */
bool reported_member(const struct reported *reported, size_t index, struct reported_member *ret);
bool reported_option(const struct reported *reported, size_t index, struct reported_field *ret);
/* Returns the option with this name. False: there is none. */
bool reported_option_by_name(const struct reported *reported, const char *name, struct reported_field *ret);
/* Returns an open version other than the served one, and how many of its names the kernel holds. False: no more. */
bool reported_old_version(const struct reported *reported, size_t index, const char **ret_label, uint64_t *ret_lookups);
/* Makes one JSON object of the whole report, to be printed by json_copy(). The caller frees the text. */
must_check int reported_json(const struct reported *reported, const char *mount, const char *source, char **ret,
			     struct error *err);

static inline void reported_close_ptr(struct reported **reported)
{
	reported_close(*reported);
}
