/* SPDX-License-Identifier: MIT */
/* Reads the files of MNT/.datasetfs and parses their JSON. The only user of json-c. */
#include "mounts/reported.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/parse.h"
#include "device/dotfile.h"

#define FILE_MAX           (1u << 20) /* the most bytes of a control file that are read */
#define REPORTED_REAL_MOST 1e14       /* seconds */

struct reported {
	struct json_object *version, *stats;
};

/* --- reading --- */

#define REPORTED_PATH "'%s/" DSFS_CONTROL_FOLDER "/%s'"

static int reported_read(const char *mount, const char *name, char **ret_text, struct error *err)
{
	auto_free char *text = calloc(1, FILE_MAX + 1);
	auto_close int fd = -1;
	size_t used = 0;
	ssize_t n;
	int r;

	if (!text)
		return error_no_memory(err);
	r = dotfile_open(mount, name, &fd, err);
	if (r < 0)
		return r;
	while ((n = read(fd, text + used, FILE_MAX - used)) > 0)
		used += (size_t)n;
	if (n < 0)
		return error_errno(err, "cannot read " REPORTED_PATH, mount, name);
	if (used == FILE_MAX)
		return error_set(err, -EFBIG, REPORTED_PATH " has more than %u bytes", mount, name, FILE_MAX);
	*ret_text = take_ptr(&text);
	return 0;
}

/* Parses one JSON object; the caller frees it with json_object_put(). */
static int reported_load(const char *mount, const char *name, struct json_object **ret, struct error *err)
{
	auto_free char *text = NULL;
	struct json_object *object;
	enum json_tokener_error why;
	int r;

	r = reported_read(mount, name, &text, err);
	if (r < 0)
		return r;
	object = json_tokener_parse_verbose(text, &why);
	if (!object)
		return error_set(err, -EBADMSG, REPORTED_PATH " is not JSON: %s", mount, name,
				 json_tokener_error_desc(why));
	if (!json_object_is_type(object, json_type_object)) {
		json_object_put(object);
		return error_set(err, -EBADMSG, REPORTED_PATH " holds no JSON object", mount, name);
	}
	*ret = object;
	return 0;
}

int reported_open(const char *mount, struct reported **ret, struct error *err)
{
	cleanup(reported_close_ptr) struct reported *reported = calloc(1, sizeof(*reported));
	int r;

	if (!reported)
		return error_no_memory(err);
	r = reported_load(mount, DSFS_CONTROL_VERSION, &reported->version, err);
	if (r == 0)
		r = reported_load(mount, DSFS_CONTROL_STATS, &reported->stats, err);
	if (r == 0)
		*ret = take_ptr(&reported);
	return r;
}

void reported_refresh(const char *mount)
{
	auto_free char *text = NULL;

	(void)!reported_read(mount, DSFS_CONTROL_CATALOGUE, &text, NULL); /* the daemon logs a failure */
}

void reported_close(struct reported *reported)
{
	if (!reported)
		return;
	json_object_put(reported->version);
	json_object_put(reported->stats);
	free(reported);
}

/* --- values --- */

static const char *reported_string(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

static uint64_t reported_number(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return json_object_get_uint64(value);
}

/* Returns a time in seconds, or otherwise if it is not there or above REPORTED_REAL_MOST: the bound makes it safe to
 * convert to an integer of any unit. */
static double reported_real(struct json_object *object, const char *key, double otherwise)
{
	struct json_object *value = NULL;
	double real = json_object_object_get_ex(object, key, &value) ? json_object_get_double(value) : otherwise;

	return fabs(real) < REPORTED_REAL_MOST ? real : otherwise;
}

/* Returns a member of the object; NULL: there is none, or it has another type. */
static struct json_object *reported_part(struct json_object *object, const char *key, enum json_type type)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return json_object_is_type(value, type) ? value : NULL;
}

static bool reported_boolean(struct json_object *object, const char *key)
{
	return json_object_get_boolean(reported_part(object, key, json_type_boolean));
}

static struct json_object *reported_element(const struct reported *reported, const char *key, size_t index)
{
	struct json_object *list = reported_part(reported->stats, key, json_type_array);

	if (!list || index >= json_object_array_length(list))
		return NULL;
	return json_object_array_get_idx(list, index);
}

const char *reported_text(const struct reported *reported, const char *key)
{
	const char *text = reported_string(reported->version, key);

	return *text ? text : reported_string(reported->stats, key);
}

/* --- the version --- */

static int reported_take_version(struct json_object *object, struct reported_version *ret, struct error *err)
{
	struct reported_version version = { .sequence = reported_number(object, DSFS_CONTROL_SEQUENCE) };
	int r;

	r = parse_uuid(reported_string(object, DSFS_CONTROL_VOLUME_UUID), version.volume_uuid, err);
	if (r == 0)
		r = parse_uuid(reported_string(object, DSFS_CONTROL_UUID), version.uuid, err);
	if (r == 0)
		r = parse_digest(reported_string(object, DSFS_CONTROL_DIGEST), version.digest, err);
	if (r < 0)
		return r;
	version.volume = strdup(reported_string(object, DSFS_CONTROL_VOLUME));
	if (!version.volume)
		return error_no_memory(err);
	*ret = version;
	return 0;
}

int reported_read_version(const char *mount, struct reported_version *ret, struct error *err)
{
	struct json_object *object = NULL;
	int r;

	r = reported_load(mount, DSFS_CONTROL_VERSION, &object, err);
	if (r == 0)
		r = reported_take_version(object, ret, err);
	json_object_put(object);
	return r;
}

void reported_version_free(struct reported_version *version)
{
	free(version->volume);
	*version = (struct reported_version){ 0 };
}

/* --- counters --- */

#define REPORTED_AT(FIELD) offsetof(struct reported_stats, FIELD)
static const struct {
	const char *key;
	size_t offset;
} reported_counters[] = {
	{ DSFS_CONTROL_SERVING_SINCE, REPORTED_AT(serving_since) },
	{ DSFS_CONTROL_SWITCHES, REPORTED_AT(switches) },
	{ DSFS_CONTROL_PID, REPORTED_AT(pid) },
	{ DSFS_CONTROL_SERVER_PID, REPORTED_AT(server_pid) },
	{ DSFS_CONTROL_RESTARTS, REPORTED_AT(restarts) },
	{ DSFS_CONTROL_WORKERS, REPORTED_AT(workers) },
	{ DSFS_CONTROL_BUFFER_BUDGET, REPORTED_AT(buffer_budget) },
	{ DSFS_CONTROL_REQUESTS_TOTAL, REPORTED_AT(requests) },
	{ DSFS_CONTROL_IN_FLIGHT, REPORTED_AT(in_flight) },
	{ DSFS_CONTROL_ERRORS, REPORTED_AT(errors) },
	{ DSFS_CONTROL_INTERRUPTED, REPORTED_AT(interrupted) },
	{ DSFS_CONTROL_FILES_SERVED, REPORTED_AT(files_served) },
	{ DSFS_CONTROL_BYTES_SERVED, REPORTED_AT(bytes_served) },
	{ DSFS_CONTROL_BYTES_STORED, REPORTED_AT(bytes_stored) },
	{ DSFS_CONTROL_DEVICE_READS, REPORTED_AT(device_reads) },
	{ DSFS_CONTROL_DEVICE_BYTES, REPORTED_AT(device_bytes) },
	{ DSFS_CONTROL_DEVICE_ERRORS, REPORTED_AT(device_errors) },
	{ DSFS_CONTROL_CHECKSUM_FAILURE, REPORTED_AT(checksum_failures) },
	{ DSFS_CONTROL_RETRIES, REPORTED_AT(retries) },
	{ DSFS_CONTROL_HELD_READS, REPORTED_AT(held_reads) },
	{ DSFS_CONTROL_LOCAL_HITS, REPORTED_AT(local_hits) },
	{ DSFS_CONTROL_LOCAL_BYTES, REPORTED_AT(local_bytes) },
	{ DSFS_CONTROL_LOCAL_ERRORS, REPORTED_AT(local_errors) },
	{ DSFS_CONTROL_LOCAL_USED, REPORTED_AT(local_used) },
	{ DSFS_CONTROL_LOCAL_SIZE, REPORTED_AT(local_size) },
	{ DSFS_CONTROL_READ_FAILURES, REPORTED_AT(read_failures) },
	{ DSFS_CONTROL_LAST_FAILURE, REPORTED_AT(last_failure) },
	{ DSFS_CONTROL_LAST_ERROR, REPORTED_AT(last_error) },
	{ DSFS_CONTROL_OUTDATED_UNTIL, REPORTED_AT(outdated_until) },
	{ DSFS_CONTROL_CRYPT, REPORTED_AT(crypt_members) },
	{ DSFS_CONTROL_DAMAGED, REPORTED_AT(damaged) },
	{ DSFS_CONTROL_AHEAD_FILES, REPORTED_AT(ahead_files) },
	{ DSFS_CONTROL_PREFETCH_FILES, REPORTED_AT(prefetch_files) },
	{ DSFS_CONTROL_STALLED_SINCE, REPORTED_AT(stalled_since) },
	{ DSFS_CONTROL_STALLS, REPORTED_AT(stalls) },
	{ DSFS_CONTROL_CLIENTS, REPORTED_AT(clients) },
	{ DSFS_CONTROL_CLIENT_FILES, REPORTED_AT(client_files) },
	{ DSFS_CONTROL_CLIENT_BYTES, REPORTED_AT(client_bytes) },
	{ DSFS_CONTROL_CLIENT_CHECKSUM, REPORTED_AT(client_checksum_failures) },
	{ DSFS_CONTROL_CLIENT_DEVICE, REPORTED_AT(client_device_errors) },
	{ DSFS_CONTROL_CLIENT_FAILURES, REPORTED_AT(client_read_failures) },
};

static void reported_take_buckets(const struct reported *reported, const char *key, uint64_t *buckets)
{
	for (size_t i = 0; i < DSFS_CONTROL_LATENCY_BUCKETS; i++)
		buckets[i] = json_object_get_uint64(reported_element(reported, key, i));
}

static void reported_take_members(const struct reported *reported, struct reported_stats *stats)
{
	struct reported_member member;

	for (size_t i = 0; reported_member(reported, i, &member); i++) {
		stats->members++;
		stats->missing += !strcmp(member.state, "missing");
		if (strcmp(member.state, "suspect") != 0)
			continue;
		if (!stats->suspect++)
			stats->first_suspect = (uint32_t)member.number;
	}
}

static void reported_take_sizes(const struct reported *reported, struct reported_stats *stats)
{
	struct json_object *member;
	struct reported_size found;

	for (size_t i = 0; (member = reported_element(reported, DSFS_CONTROL_SIZES, i)); i++) {
		found.member = reported_number(member, DSFS_CONTROL_MEMBER);
		found.size = reported_number(member, DSFS_CONTROL_SIZE);
		found.opened = reported_number(member, DSFS_CONTROL_SIZE_OPENED);
		if (found.size < found.opened && !stats->truncated.opened)
			stats->truncated = found;
	}
}

static void reported_take_protection(const struct reported *reported, struct reported_stats *stats)
{
	struct json_object *protection = reported_part(reported->stats, DSFS_CONTROL_PROTECTION, json_type_object);

	if (!protection)
		return;
	stats->is_protected = true;
	stats->protected_percent = (unsigned)reported_number(protection, DSFS_CONTROL_PROTECTED_PERCENT);
	stats->one_copy_percent = (unsigned)reported_number(protection, DSFS_CONTROL_SINGLE_PERCENT);
	snprintf(stats->degraded, sizeof(stats->degraded), "%s", reported_string(protection, DSFS_CONTROL_DEGRADED));
}

/* Limits seconds since 1970, so that they can be subtracted. */
static uint64_t reported_when(uint64_t seconds)
{
	return seconds < INT64_MAX ? seconds : INT64_MAX;
}

static void reported_take_identity(const struct reported *reported, struct reported_stats *stats)
{
	struct json_object *options = reported_part(reported->stats, DSFS_CONTROL_OPTIONS, json_type_object);
	struct reported_version version = { .volume = NULL };

	stats->follows = options && reported_number(options, "follow");
	snprintf(stats->label, sizeof(stats->label), "%s", reported_string(reported->version, DSFS_CONTROL_LABEL));
	stats->sequence = reported_number(reported->version, DSFS_CONTROL_SEQUENCE);
	if (reported_take_version(reported->version, &version, NULL) == 0) {
		memcpy(stats->volume_uuid, version.volume_uuid, sizeof(stats->volume_uuid));
		memcpy(stats->uuid, version.uuid, sizeof(stats->uuid));
	}
	reported_version_free(&version);
	stats->program_is_old = reported_boolean(reported->stats, DSFS_CONTROL_PROGRAM_OLD);
	stats->local_follows = reported_boolean(reported->stats, DSFS_CONTROL_LOCAL_FOLLOWS);
}

void reported_take(const struct reported *reported, struct reported_stats *ret)
{
	struct reported_stats stats = { 0 };

	reported_take_identity(reported, &stats);
	for (size_t i = 0; i < sizeof(reported_counters) / sizeof(*reported_counters); i++)
		*(uint64_t *)((char *)&stats + reported_counters[i].offset) =
			reported_number(reported->stats, reported_counters[i].key);
	stats.serving_since = reported_when(stats.serving_since);
	stats.stalled_since = reported_when(stats.stalled_since);
	stats.last_failure = reported_when(stats.last_failure);
	stats.last_error = reported_when(stats.last_error);
	stats.in_flight -= stats.in_flight > 0; /* our own request */
	snprintf(stats.outdated, sizeof(stats.outdated), "%s",
		 reported_string(reported->stats, DSFS_CONTROL_OUTDATED));
	snprintf(stats.behind, sizeof(stats.behind), "%s",
		 reported_string(reported->stats, DSFS_CONTROL_FOLLOW_FAILURE));
	stats.files = reported_number(reported->version, DSFS_CONTROL_FILES);
	stats.bytes = reported_number(reported->version, DSFS_CONTROL_BYTES);
	stats.uptime = reported_real(reported->stats, DSFS_CONTROL_UPTIME, 0);
	stats.cpu = reported_real(reported->stats, DSFS_CONTROL_CPU, 0);
	stats.longest_stall = reported_real(reported->stats, DSFS_CONTROL_LONGEST_STALL, 0);
	reported_take_buckets(reported, DSFS_CONTROL_READ_LATENCY, stats.read_latency);
	reported_take_buckets(reported, DSFS_CONTROL_DEVICE_LATENCY, stats.device_latency);
	reported_take_members(reported, &stats);
	reported_take_sizes(reported, &stats);
	reported_take_protection(reported, &stats);
	*ret = stats;
}

/* --- lists --- */

bool reported_member(const struct reported *reported, size_t index, struct reported_member *ret)
{
	struct json_object *member = reported_element(reported, DSFS_CONTROL_MEMBERS, index);

	if (!member)
		return false;
	*ret = (struct reported_member){
		.number = reported_number(member, DSFS_CONTROL_MEMBER),
		.reads = reported_number(member, DSFS_CONTROL_MEMBER_READS),
		.bytes = reported_number(member, DSFS_CONTROL_MEMBER_BYTES),
		.errors = reported_number(member, DSFS_CONTROL_MEMBER_ERRORS),
		.in_flight = reported_number(member, DSFS_CONTROL_MEMBER_IN_FLIGHT),
		.latency = reported_real(member, DSFS_CONTROL_MEMBER_LATENCY, 0),
		.state = reported_string(member, DSFS_CONTROL_MEMBER_STATE),
		.name = reported_string(member, DSFS_CONTROL_MEMBER_NAME),
	};
	return true;
}

static struct reported_field reported_field_of(const char *name, struct json_object *value)
{
	return (struct reported_field){ .name = name, .value = value ? json_object_get_string(value) : "",
					.is_number = json_object_is_type(value, json_type_int),
					.number = json_object_get_uint64(value) };
}

bool reported_option(const struct reported *reported, size_t index, struct reported_field *ret)
{
	struct json_object *options = reported_part(reported->stats, DSFS_CONTROL_OPTIONS, json_type_object), *value;
	struct json_object_iterator i, end;

	if (!options || index >= (size_t)json_object_object_length(options))
		return false;
	i = json_object_iter_begin(options);
	for (end = json_object_iter_end(options); index && !json_object_iter_equal(&i, &end); index--)
		json_object_iter_next(&i);
	value = json_object_iter_peek_value(&i);
	*ret = reported_field_of(json_object_iter_peek_name(&i), value);
	return true;
}

bool reported_option_by_name(const struct reported *reported, const char *name, struct reported_field *ret)
{
	struct json_object *options = reported_part(reported->stats, DSFS_CONTROL_OPTIONS, json_type_object), *value;

	if (!options || !json_object_object_get_ex(options, name, &value))
		return false;
	*ret = reported_field_of(name, value);
	return true;
}

bool reported_old_version(const struct reported *reported, size_t index, const char **ret_label, uint64_t *ret_lookups)
{
	struct json_object *version;

	for (size_t i = 0; (version = reported_element(reported, DSFS_CONTROL_GENERATIONS, i)); i++) {
		if (reported_number(version, DSFS_CONTROL_IS_CURRENT) || index--)
			continue;
		*ret_label = reported_string(version, DSFS_CONTROL_LABEL);
		*ret_lookups = reported_number(version, DSFS_CONTROL_LOOKUPS);
		return true;
	}
	return false;
}

/* --- the report as a whole --- */

int reported_json(const struct reported *reported, const char *mount, const char *source, char **ret, struct error *err)
{
	struct json_object *all = json_object_new_object();
	const char *text = NULL;
	char *copy;

	if (all && json_object_object_add(all, "mount", json_object_new_string(mount)) == 0 &&
	    json_object_object_add(all, "source", json_object_new_string(source)) == 0 &&
	    json_object_object_add(all, "version", json_object_get(reported->version)) == 0 &&
	    json_object_object_add(all, "stats", json_object_get(reported->stats)) == 0)
		text = json_object_to_json_string_ext(all, JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);
	copy = text ? strdup(text) : NULL;
	json_object_put(all);
	if (!copy)
		return error_no_memory(err);
	*ret = copy;
	return 0;
}
