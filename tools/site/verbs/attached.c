/* SPDX-License-Identifier: MIT */
/* datasetfsctl attached: shows the mounts that consumers share, and who they are. */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>
#include <stdio.h>

#include "attach/attach.h"
#include "base/log.h"
#include "base/text/json.h"
#include "text.h"
#include "verb.h"

static const struct option_spec attached_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line attached_line = {
	.program = "datasetfsctl attached",
	.usage = "",
	.operands = { 0, 0 },
	.summary = "Show what is attached, and where.\n"
		   "A mount that is dead or does not answer serves nobody new: the next attach makes another one.",
	.options = attached_table,
};

static const char *attached_state(const struct attach_view *view)
{
	switch (view->code) {
	case 0:
		return "serves";
	case -ENOTCONN:
		return "dead";
	case -EACCES: /* the caller is a user */
		return "hidden";
	}
	return "silent";
}

static bool attached_has(const struct attach_view *view, const struct use *use)
{
	return use->device == view->mount->device && (use->kind == USE_PLACE || use->kind == USE_HOLD);
}

/* Only root sees whose namespace another user's process is in. */
static bool attached_sees_processes(void)
{
	return geteuid() == 0;
}

/* ---- JSON ---- */

static void attached_json_consumers(const struct attach_view *view, struct json *json)
{
	json_begin_array(json, "consumers");
	for (size_t i = 0; i < view->uses->count; i++) {
		const struct use *use = &view->uses->items[i];

		if (!attached_has(view, use))
			continue;
		json_begin_object(json, NULL);
		if (use->kind == USE_PLACE) {
			json_string(json, "target", use->point);
		} else {
			json_number(json, "namespace", use->namespace);
			if (attached_sees_processes())
				json_signed(json, "process", census_process(view->census, use->namespace));
			else
				json_null(json, "process");
		}
		json_end_object(json);
	}
	json_end_array(json);
}

static void attached_json(const struct attach_view *view, struct json *json)
{
	json_begin_object(json, NULL);
	json_string(json, "mount", view->mount->point);
	json_string(json, "source", view->mount->source);
	json_string(json, "engine", view->mount->is_kernels ? "kernel" : "fuse");
	json_string(json, "state", attached_state(view));
	if (view->code == 0)
		json_string(json, "version", view->serves.label);
	else
		json_null(json, "version");
	attached_json_consumers(view, json);
	json_end_object(json);
}

/* ---- text ---- */

static void attached_text_namespace(const struct census *census, uint64_t namespace)
{
	pid_t process = census_process(census, namespace);

	printf("  mount namespace %" PRIu64, namespace);
	if (process)
		printf(" of process %d", (int)process);
	else if (attached_sees_processes())
		printf(", which has ended");
	putchar('\n');
}

static void attached_text_consumers(const struct attach_view *view)
{
	for (size_t i = 0; i < view->uses->count; i++) {
		const struct use *use = &view->uses->items[i];

		if (!attached_has(view, use))
			continue;
		if (use->kind == USE_PLACE)
			text_print("  '%s'\n", use->point);
		else
			attached_text_namespace(view->census, use->namespace);
	}
}

static void attached_text(const struct attach_view *view)
{
	if (view->code == 0 && view->mount->is_kernels)
		text_print("the kernel serves version '%s' of '%s' on '%s'\n", view->serves.label,
			   view->mount->source, view->mount->point);
	else if (view->code == 0)
		text_print("'%s' serves version '%s' on '%s'\n", view->mount->source, view->serves.label,
			   view->mount->point);
	else
		text_print("'%s' on '%s' is %s: %s\n", view->mount->source, view->mount->point, attached_state(view),
			   view->reason.reason);
	attached_text_consumers(view);
}

static int attached_visit(void *argument, const struct attach_view *view, struct error *err)
{
	(void)err;
	if (argument)
		attached_json(view, argument);
	else
		attached_text(view);
	return 0;
}

int attached_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	struct json json = { .out = stdout };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&attached_line, argc, argv, &options, &operands, &status))
		return status;
	if (options.json) {
		json_begin_object(&json, NULL);
		json_begin_array(&json, "mounts");
	}
	r = attach_each(attached_visit, options.json ? &json : NULL, &err);
	if (options.json) {
		json_end_array(&json);
		json_end_object(&json);
		putchar('\n');
	}
	if (r < 0) {
		log_error(&err, "cannot show what is attached");
		return VERB_FAILED;
	}
	return VERB_DONE;
}
