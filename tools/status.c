/* SPDX-License-Identifier: MIT */
/* datasetfsctl status: reads and shows the files of MNT/.datasetfs. The only user of json-c. */
#include "status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "base/log.h"
#include "base/parse.h"
#include "datasetfs/control.h"
#include "mounted.h"
#include "text.h"
#include "verb.h"

#define FILE_MAX (1u << 20) /* bytes of a control file that is still read */

static const struct option_spec status_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line status_line = {
	.program = "datasetfsctl status",
	.usage = "MNT",
	.summary = "Show what a mount serves, and its counters.",
	.options = status_table,
};

/* --- reading --- */

static int status_read(const char *path, char **ret_text, struct error *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_free char *text = calloc(1, FILE_MAX + 1);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		return error_errno(err, "cannot open '%s'", path);
	if (!text)
		return error_set(err, -ENOMEM, "no memory to read '%s'", path);
	while ((n = read(fd, text + used, FILE_MAX - used)) > 0)
		used += (size_t)n;
	if (n < 0)
		return error_errno(err, "cannot read '%s'", path);
	if (used == FILE_MAX)
		return error_set(err, -EFBIG, "'%s' has more than %u bytes", path, FILE_MAX);
	*ret_text = take_ptr(&text);
	return 0;
}

/* One JSON object; json_object_put() it. */
static int status_load(const char *mount, const char *name, struct json_object **ret, struct error *err)
{
	auto_free char *path = NULL;
	auto_free char *text = NULL;
	struct json_object *object;
	enum json_tokener_error why;
	int r;

	if (asprintf(&path, "%s/%s/%s", mount, DSFS_CONTROL_FOLDER, name) < 0) {
		path = NULL;
		return error_set(err, -ENOMEM, "no memory for a path");
	}
	r = status_read(path, &text, err);
	if (r < 0)
		return r;
	object = json_tokener_parse_verbose(text, &why);
	if (!object)
		return error_set(err, -EBADMSG, "'%s' is not JSON: %s", path, json_tokener_error_desc(why));
	if (!json_object_is_type(object, json_type_object)) {
		json_object_put(object);
		return error_set(err, -EBADMSG, "'%s' holds no JSON object", path);
	}
	*ret = object;
	return 0;
}

static const char *status_string(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

static int status_take_version(struct json_object *object, struct status_version *ret, struct error *err)
{
	struct status_version version = { 0 };
	struct json_object *sequence = NULL;
	int r;

	json_object_object_get_ex(object, DSFS_CONTROL_SEQUENCE, &sequence);
	version.sequence = json_object_get_uint64(sequence);
	r = parse_uuid(status_string(object, DSFS_CONTROL_VOLUME_UUID), version.volume_uuid, err);
	if (r == 0)
		r = parse_uuid(status_string(object, DSFS_CONTROL_UUID), version.uuid, err);
	if (r < 0)
		return r;
	version.volume = strdup(status_string(object, DSFS_CONTROL_VOLUME));
	if (!version.volume)
		return error_set(err, -ENOMEM, "no memory for the path of a volume");
	*ret = version;
	return 0;
}

int status_read_version(const char *mount, struct status_version *ret, struct error *err)
{
	struct json_object *object = NULL;
	int r;

	r = status_load(mount, DSFS_CONTROL_VERSION, &object, err);
	if (r == 0)
		r = status_take_version(object, ret, err);
	json_object_put(object);
	return r;
}

void status_version_free(struct status_version *version)
{
	free(version->volume);
	*version = (struct status_version){ 0 };
}

/* --- showing --- */

static bool status_is_bytes(const char *key)
{
	return strstr(key, "bytes") || !strcmp(key, DSFS_CONTROL_BUFFER_BUDGET) || !strcmp(key, "readahead") ||
	       !strcmp(key, "prefetch");
}

/* The upper end of the bucket in which this share of all falls. */
static uint64_t status_share(struct json_object *buckets, uint64_t total, double share)
{
	size_t count = json_object_array_length(buckets), i;
	uint64_t seen = 0;

	for (i = 0; i < count; i++) {
		seen += json_object_get_uint64(json_object_array_get_idx(buckets, i));
		if (seen && (double)seen >= share * (double)total)
			break;
	}
	return UINT64_C(1) << (i < 63 ? i : 63);
}

/* The buckets of a latency: element n counts what took less than 2^n microseconds. */
static void status_latency(struct json_object *buckets)
{
	uint64_t total = 0;

	for (size_t i = 0; i < json_object_array_length(buckets); i++)
		total += json_object_get_uint64(json_object_array_get_idx(buckets, i));
	if (total == 0)
		printf("none yet\n");
	else
		printf("half below %" PRIu64 ", 99 %% below %" PRIu64 ", all below %" PRIu64 "\n",
		       status_share(buckets, total, 0.5), status_share(buckets, total, 0.99),
		       status_share(buckets, total, 1));
}

static void status_show_object(const char *prefix, struct json_object *object);

/* Of objects, as the open versions; latencies are numbers. */
static bool status_is_list(struct json_object *value)
{
	return json_object_is_type(value, json_type_array) && json_object_array_length(value) &&
	       json_object_is_type(json_object_array_get_idx(value, 0), json_type_object);
}

static void status_show_list(const char *name, struct json_object *list)
{
	char prefix[96];

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		snprintf(prefix, sizeof(prefix), "%s[%zu].", name, i);
		status_show_object(prefix, json_object_array_get_idx(list, i));
	}
}

static void status_show(const char *prefix, const char *key, struct json_object *value)
{
	char size[SIZE_TEXT_SIZE], name[64];
	const char *text;

	snprintf(name, sizeof(name), "%s%s", prefix, key);
	if (json_object_is_type(value, json_type_object)) {
		snprintf(name, sizeof(name), "%s%s.", prefix, key);
		status_show_object(name, value);
		return;
	}
	if (status_is_list(value)) {
		status_show_list(name, value);
		return;
	}
	text_print("  %-22s  ", name);
	if (json_object_is_type(value, json_type_array)) {
		status_latency(value);
		return;
	}
	text = json_object_get_string(value);
	if (text)
		text_write(stdout, text, strlen(text));
	if (json_object_is_type(value, json_type_int) && status_is_bytes(key) &&
	    json_object_get_uint64(value) >= 1024)
		printf(" (%s)", format_size(json_object_get_uint64(value), size));
	putchar('\n');
}

/* All fields that are there, also those that a newer daemon adds. */
static void status_show_object(const char *prefix, struct json_object *object)
{
	struct json_object_iterator i = json_object_iter_begin(object), end = json_object_iter_end(object);

	for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i))
		status_show(prefix, json_object_iter_peek_name(&i), json_object_iter_peek_value(&i));
}

/* Takes them out of the counters; an older daemon has none there. */
static void status_show_options(struct json_object *stats)
{
	struct json_object *options;

	if (!json_object_object_get_ex(stats, DSFS_CONTROL_OPTIONS, &options) ||
	    !json_object_is_type(options, json_type_object))
		return;
	printf("options\n");
	status_show_object("", options);
	json_object_object_del(stats, DSFS_CONTROL_OPTIONS);
}

static void status_show_damage(const struct mounted *mounted, struct json_object *stats)
{
	struct json_object *count;

	if (!json_object_object_get_ex(stats, DSFS_CONTROL_DAMAGED, &count) || !json_object_get_uint64(count))
		return;
	printf("damage: %" PRIu64 " places, see ", json_object_get_uint64(count));
	text_write(stdout, mounted->point, strlen(mounted->point));
	puts("/" DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_DAMAGE);
}

static void status_show_degraded(struct json_object *stats)
{
	struct json_object *protection;
	const char *text;

	if (!json_object_object_get_ex(stats, DSFS_CONTROL_PROTECTION, &protection) ||
	    !json_object_is_type(protection, json_type_object))
		return;
	text = status_string(protection, DSFS_CONTROL_DEGRADED);
	if (!*text)
		return;
	printf("degraded: ");
	text_write(stdout, text, strlen(text));
	putchar('\n');
}

static void status_text(const struct mounted *mounted, struct json_object *version, struct json_object *stats)
{
	printf("mount '");
	text_write(stdout, mounted->point, strlen(mounted->point));
	printf("' of '");
	text_write(stdout, mounted->source, strlen(mounted->source));
	printf("'\n");
	status_show_degraded(stats);
	printf("version\n");
	status_show_object("", version);
	status_show_options(stats);
	printf("counters\n");
	status_show_object("", stats);
	status_show_damage(mounted, stats);
}

static int status_json(const struct mounted *mounted, struct json_object *version, struct json_object *stats)
{
	struct json_object *all = json_object_new_object();
	const char *text = NULL;

	if (all && json_object_object_add(all, "mount", json_object_new_string(mounted->point)) == 0 &&
	    json_object_object_add(all, "source", json_object_new_string(mounted->source)) == 0 &&
	    json_object_object_add(all, "version", json_object_get(version)) == 0 &&
	    json_object_object_add(all, "stats", json_object_get(stats)) == 0)
		text = json_object_to_json_string_ext(all, JSON_C_TO_STRING_SPACED |
								   JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text)
		puts(text);
	json_object_put(all);
	return text ? 0 : -ENOMEM;
}

static int status_show_mount(const struct mounted *mounted, bool json, struct error *err)
{
	struct json_object *version = NULL, *stats = NULL;
	int r;

	r = status_load(mounted->point, DSFS_CONTROL_VERSION, &version, err);
	if (r == 0)
		r = status_load(mounted->point, DSFS_CONTROL_STATS, &stats, err);
	if (r == 0 && json)
		r = status_json(mounted, version, stats) < 0 ?
			    error_set(err, -ENOMEM, "no memory for the JSON") :
			    0;
	else if (r == 0)
		status_text(mounted, version, stats);
	json_object_put(version);
	json_object_put(stats);
	return r;
}

int status_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	struct mounted mounted = { 0 };
	struct error err = { 0 };
	struct stat st;
	int operands, status, r;

	if (!verb_parse(&status_line, argc, argv, &options, 1, 1, &operands, &status))
		return status;
	r = stat(argv[1], &st) < 0 ? error_set(&err, -errno, "%s", strerror(errno)) :
				     mounted_find(st.st_dev, &mounted, &err);
	if (r == 0)
		r = status_show_mount(&mounted, options.json, &err);
	mounted_free(&mounted);
	if (r < 0) {
		log_error(&err, "cannot show the status of '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
