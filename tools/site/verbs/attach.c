/* SPDX-License-Identifier: MIT */
/* datasetfsctl attach: shows a data set in a directory, by the one mount that the machine has of it. */
#include "attach/attach.h"

#include <errno.h>
#include <stdio.h>

#include "attach/launch.h"
#include "attach/named.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/json.h"
#include "text.h"
#include "verb.h"

#define ATTACH_WANTS 8 /* more than there are options for consumers */

struct attach_options {
	struct verb_options verb;
	const char *list, *instance;
	const char *wants[ATTACH_WANTS];
	size_t want_count;
	bool is_named;
};

static int attach_add_want(void *target, const char *argument, struct error *err)
{
	struct attach_options *options = target;

	if (options->want_count == ATTACH_WANTS)
		return error_set(err, -EINVAL, "is given too often");
	options->wants[options->want_count++] = argument;
	return 0;
}

static const struct option_spec attach_table[] = {
	{ "options", 'o', "LIST", OPTION_TEXT(struct attach_options, list, NULL), "mount options, see datasetfs(8)" },
	VERB_OPTION_JSON,
	{ "named", 'n', NULL, OPTION_TRUE(struct attach_options, is_named),
	  "VOLUME is a name in " NAMED_FILE },
	{ "serve", 0, "NAME", OPTION_TEXT(struct attach_options, instance, NULL),
	  "become the daemon NAME: for the unit datasetfs-attach@" },
	{ "want", 0, "OPTION", OPTION_CALL(attach_add_want), "an option that a consumer asks for: one, never split" },
	{ 0 },
};

const struct command_line attach_line = {
	.program = "datasetfsctl attach",
	.usage = "VOLUME TARGET",
	.operands = { 0, 2 },
	.summary = "Show a data set in a directory, shared.\n"
		   "All directories to which a version is attached with the same options share one mount, one\n"
		   "daemon and one index. The daemon belongs to the machine, not to the job or pod that asked.",
	.options = attach_table,
};

static int attach_serve(const char *instance)
{
	struct error err = { 0 };

	if (launch_become(instance, &err) < 0)
		log_error(&err, "cannot serve '%s'", instance);
	return VERB_FAILED;
}

static void attach_print(const struct key *key, const char *target, bool as_json)
{
	struct json json = { .out = stdout };

	if (!as_json && key->follows) {
		text_print("'%s' shows the current version of '%s'\n", target, key->volume);
		return;
	}
	if (!as_json) {
		text_print("'%s' shows version '%s' of '%s'\n", target, key->label, key->volume);
		return;
	}
	json_begin_object(&json, NULL);
	json_string(&json, "volume", key->volume);
	if (key->follows)
		json_null(&json, "version");
	else
		json_string(&json, "version", key->label);
	json_string(&json, "target", target);
	json_end_object(&json);
	putchar('\n');
}

/* Begins the key of a data set that has a name: its volume, and the administrator's options. */
static int attach_find(const char *name, struct key *key, struct error *err)
{
	auto_named struct named_list list = { 0 };
	const struct named *named = NULL;
	int r = named_read(NAMED_FILE, &list, err);

	if (r == 0)
		r = named_find(&list, name, &named, err);
	if (r == 0)
		r = key_begin(named->volume, key, err);
	if (r == 0 && named->options) {
		r = key_say_list(key, KEY_ADMIN, named->options, err);
		if (r < 0)
			error_wrap(err, r, "'" NAMED_FILE "', data set '%s'", name);
	}
	return r;
}

/* Says first what consumers want, then what the administrator does. */
static int attach_say(const struct attach_options *options, struct key *key, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->want_count; i++)
		r = key_say(key, KEY_CONSUMER, options->wants[i], err);
	return r < 0 || !options->list ? r : key_say_list(key, KEY_ADMIN, options->list, err);
}

int attach_run(int argc, char **argv)
{
	struct attach_options options = { 0 };
	auto_key struct key key = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&attach_line, argc, argv, &options, &operands, &status))
		return status;
	if (options.instance && !operands)
		return attach_serve(options.instance);
	if (options.instance || operands != 2) {
		log_err("attach: expected VOLUME TARGET, see 'datasetfsctl attach --help'");
		return VERB_USAGE;
	}
	r = options.is_named ? attach_find(argv[1], &key, &err) : key_begin(argv[1], &key, &err);
	if (r == 0 && attach_say(&options, &key, &err) < 0) {
		log_error(&err, "attach");
		return VERB_USAGE;
	}
	if (r == 0)
		r = attach_to(&key, argv[2], &err);
	if (r < 0) {
		log_error(&err, "cannot attach '%s' to '%s'", argv[1], argv[2]);
		return VERB_FAILED;
	}
	attach_print(&key, argv[2], options.verb.json);
	return VERB_DONE;
}
