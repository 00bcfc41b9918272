/* SPDX-License-Identifier: MIT */
/* The SPANK plugin: spank(7) says when Slurm calls each function. One that fails on a node before the tasks takes the
 * node out of service, so what goes wrong there is kept, and fails the tasks.
 *
 * Slurm passes the last value of an option to the node. All of them go in the job's environment, under names that it
 * keeps even with --export=NONE. */
#include <errno.h>
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/state.h"
#include "slurm/site.h"
#include "slurm/step.h"
#include "slurm/wish.h"

#define PLUGIN_PUBLIC    __attribute__((visibility("default"))) extern
#define PLUGIN_VARIABLE  "SLURM_DATASETFS_%zu" /* counted from 1 */
#define PLUGIN_NAME_SIZE 40u

PLUGIN_PUBLIC const char plugin_name[], plugin_type[];
PLUGIN_PUBLIC const unsigned int plugin_version, spank_plugin_version;
PLUGIN_PUBLIC spank_f slurm_spank_init, slurm_spank_init_post_opt, slurm_spank_task_init_privileged,
	slurm_spank_task_init, slurm_spank_exit, slurm_spank_job_epilog;

SPANK_PLUGIN(datasetfs, 1)

static struct site plugin_site;
static struct wishes plugin_wishes; /* those of the command line; after post_opt all of the step */
static struct error plugin_failure; /* code 0: nothing failed */
static ino_t plugin_namespace;      /* of the step; 0: it has no data sets */
static uid_t plugin_user;

/* ---- the option ---- */

static int plugin_option(int number, const char *value, int is_remote)
{
	struct error err = { 0 };

	(void)number;
	if (wish_add(&plugin_wishes, value ? value : "", &err) == 0)
		return 0;
	if (is_remote)
		plugin_failure = err;
	else
		slurm_error("--dataset: %s; expected NAME[@VERSION][,PATH]", err.reason);
	return -1;
}

static struct spank_option plugin_options = {
	.name = "dataset",
	.arginfo = "NAME[@VERSION][,PATH]",
	.usage = "show a data set to the job, at PATH (repeatable), see datasetfs-slurm(7)",
	.has_arg = 1,
	.cb = plugin_option,
};

static void plugin_configure(int count, char **arguments)
{
	struct error err = { 0 };

	plugin_site = SITE_DEFAULT;
	for (int i = 0; i < count; i++)
		if (site_say(&plugin_site, arguments[i], &err) < 0)
			slurm_error("datasetfs: plugstack.conf: %s, ignoring", err.reason);
}

int slurm_spank_init(spank_t spank, int count, char **arguments)
{
	plugin_configure(count, arguments);
	return spank_option_register(spank, &plugin_options) == ESPANK_SUCCESS ? 0 : -1;
}

/* ---- from the submission to the node ---- */

/* Reads the next value from the environment: on a node that of the job. Returns false if there is none. */
static bool plugin_read(spank_t spank, size_t i, char ret[WISH_TEXT_SIZE])
{
	char name[PLUGIN_NAME_SIZE];
	const char *value;

	snprintf(name, sizeof(name), PLUGIN_VARIABLE, i + 1);
	if (spank_remote(spank) == 1)
		return spank_getenv(spank, name, ret, WISH_TEXT_SIZE) == ESPANK_SUCCESS;
	value = getenv(name);
	if (value)
		snprintf(ret, WISH_TEXT_SIZE, "%s", value);
	return value;
}

/* Puts those of the environment, which a step has from its job, before those of the command line. */
static int plugin_inherit(spank_t spank, struct error *err)
{
	static struct wishes all;
	char text[WISH_TEXT_SIZE];
	int r = 0;

	all.count = 0;
	for (size_t i = 0; r == 0 && i < WISH_MAX && plugin_read(spank, i, text); i++)
		r = wish_add(&all, text, err);
	for (size_t i = 0; r == 0 && i < plugin_wishes.count; i++) {
		wish_text(&plugin_wishes.items[i], text);
		r = wish_add(&all, text, err);
	}
	if (r == 0)
		plugin_wishes = all;
	return r;
}

static int plugin_send(struct error *err)
{
	char name[PLUGIN_NAME_SIZE], text[WISH_TEXT_SIZE];

	for (size_t i = 0; i < plugin_wishes.count; i++) {
		snprintf(name, sizeof(name), PLUGIN_VARIABLE, i + 1);
		wish_text(&plugin_wishes.items[i], text);
		if (setenv(name, text, 1) < 0)
			return error_no_memory(err);
	}
	return 0;
}

static int plugin_submit(spank_t spank)
{
	struct error err = { 0 };
	int r = plugin_inherit(spank, &err);

	if (r == 0)
		r = plugin_send(&err);
	if (r < 0)
		slurm_error("--dataset: %s", err.reason);
	return r;
}

/* ---- on the node ---- */

static int plugin_begin(spank_t spank, struct error *err)
{
	int r = plugin_failure.code ? plugin_failure.code : plugin_inherit(spank, err);

	if (r < 0 || !plugin_wishes.count)
		return r;
	if (spank_get_item(spank, S_JOB_UID, &plugin_user) != ESPANK_SUCCESS)
		return error_set(err, -EIO, "Slurm does not name the user of the job");
	r = step_attach(&plugin_site, &plugin_wishes, plugin_user, err);
	if (r == 0)
		plugin_namespace = step_namespace();
	return r;
}

int slurm_spank_init_post_opt(spank_t spank, int count, char **arguments)
{
	spank_context_t context = spank_context();

	(void)count;
	(void)arguments;
	if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR)
		return plugin_submit(spank);
	if (context == S_CTX_REMOTE)
		plugin_failure.code = plugin_begin(spank, &plugin_failure);
	return 0;
}

/* A plugin such as job_container/tmpfs may have given the task another namespace meanwhile. */
int slurm_spank_task_init_privileged(spank_t spank, int count, char **arguments)
{
	(void)spank;
	(void)count;
	(void)arguments;
	if (plugin_failure.code == 0 && plugin_namespace && step_namespace() != plugin_namespace)
		plugin_failure.code = step_attach(&plugin_site, &plugin_wishes, plugin_user, &plugin_failure);
	return 0;
}

int slurm_spank_task_init(spank_t spank, int count, char **arguments)
{
	int task = 0;

	(void)count;
	(void)arguments;
	if (plugin_failure.code == 0)
		return 0;
	(void)!spank_get_item(spank, S_TASK_ID, &task);
	if (task == 0)
		slurm_error("datasetfs: %s", plugin_failure.reason);
	return -1;
}

int slurm_spank_exit(spank_t spank, int count, char **arguments)
{
	struct error err = { 0 };

	(void)count;
	(void)arguments;
	if (spank_remote(spank) == 1 && plugin_namespace &&
	    step_detach(&plugin_site, &plugin_wishes, plugin_wishes.count, &err) < 0)
		slurm_verbose("datasetfs: %s", err.reason);
	return 0;
}

/* Without this, the mounts of a killed slurmstepd stay until the next attach or detach. Slurm calls it alone, in a
 * process of its own. */
int slurm_spank_job_epilog(spank_t spank, int count, char **arguments)
{
	struct error err = { 0 };

	(void)spank;
	plugin_configure(count, arguments);
	if (access(STATE_FOLDER, F_OK) == 0 && step_clear(&plugin_site, &err) < 0)
		slurm_error("datasetfs: %s", err.reason);
	return 0;
}
