/* SPDX-License-Identifier: MIT */
/* A stand-in for the programs of Slurm that load a SPANK plugin: calls it in the order of spank(7).
 *
 * usage: spank PLUGIN submit [ARGUMENT…] -- [VALUE…]           prints the variables that the plugin leaves for the job
 *        spank PLUGIN step USER [ARGUMENT…] -- [VALUE…] -- COMMAND…   runs the command as a task; its status
 *        spank PLUGIN epilog [ARGUMENT…]
 * A failure before the tasks, which takes a node out of service, is status 99. */
#include <dlfcn.h>
#include <grp.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPANK_DRAINED 99

struct spank_handle {
	void *plugin;
	spank_context_t context;
	uid_t user;
	int count;
	char **arguments;
	struct spank_option option;
};

static struct spank_handle handle;
extern char **environ;

/* ---- what a plugin calls ---- */

spank_context_t spank_context(void)
{
	return handle.context;
}

int spank_remote(spank_t spank)
{
	return spank->context == S_CTX_REMOTE;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
	spank->option = *option;
	return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size)
{
	const char *value = getenv(name);

	if (spank->context != S_CTX_REMOTE)
		return ESPANK_NOT_REMOTE;
	if (!value)
		return ESPANK_ENV_NOEXIST;
	return snprintf(buffer, (size_t)size, "%s", value) < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
	spank_err_t result = ESPANK_SUCCESS;
	va_list rest;

	va_start(rest, item);
	if (item == S_JOB_UID)
		*va_arg(rest, uid_t *) = spank->user;
	else if (item == S_TASK_ID)
		*va_arg(rest, int *) = 0;
	else
		result = ESPANK_BAD_ARG;
	va_end(rest);
	return result;
}

static void spank_say(const char *prefix, const char *format, va_list rest)
{
	fputs(prefix, stderr);
	vfprintf(stderr, format, rest);
	fputc('\n', stderr);
}

void slurm_error(const char *format, ...)
{
	va_list rest;

	va_start(rest, format);
	spank_say("error: ", format, rest);
	va_end(rest);
}

void slurm_verbose(const char *format, ...)
{
	va_list rest;

	va_start(rest, format);
	spank_say("verbose: ", format, rest);
	va_end(rest);
}

/* ---- what Slurm calls ---- */

static int spank_call(const char *name)
{
	spank_f *function = (spank_f *)dlsym(handle.plugin, name);

	return function ? function(&handle, handle.count, handle.arguments) : 0;
}

/* Takes the words up to the next "--" away. */
static char **spank_words(char ***rest, int *ret_count)
{
	char **first = *rest;

	for (*ret_count = 0; **rest && strcmp(**rest, "--") != 0; ++*rest)
		++*ret_count;
	*rest += **rest != NULL;
	return first;
}

static int spank_begin(char ***rest)
{
	char **values;
	int count;

	handle.arguments = spank_words(rest, &handle.count);
	values = spank_words(rest, &count);
	if (spank_call("slurm_spank_init") < 0)
		return -1;
	/* slurmstepd only logs a value that is wrong. */
	for (int i = 0; i < count; i++)
		if (handle.option.cb(handle.option.val, values[i], handle.context == S_CTX_REMOTE) != 0 &&
		    handle.context != S_CTX_REMOTE)
			return -1;
	return spank_call("slurm_spank_init_post_opt");
}

static int spank_submit(char **rest)
{
	if (spank_begin(&rest) < 0)
		return 1;
	for (char **variable = environ; *variable; variable++)
		if (!strncmp(*variable, "SLURM_", 6))
			puts(*variable);
	return spank_call("slurm_spank_exit") < 0;
}

static int spank_task(char **command)
{
	if (spank_call("slurm_spank_task_init_privileged") < 0 || setgroups(0, NULL) < 0 ||
	    setgid(handle.user) < 0 || setuid(handle.user) < 0 || spank_call("slurm_spank_task_init") < 0)
		return 1;
	execvp(command[0], command);
	return 127;
}

static int spank_step(char **rest)
{
	int status;
	pid_t task;

	if (spank_begin(&rest) < 0)
		return SPANK_DRAINED;
	task = fork();
	if (task == 0)
		_exit(spank_task(rest));
	if (task < 0 || waitpid(task, &status, 0) != task || spank_call("slurm_spank_exit") < 0)
		return SPANK_DRAINED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	char **rest = argv + 3;

	if (argc < 3)
		return 2;
	handle.plugin = dlopen(argv[1], RTLD_NOW);
	if (!handle.plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	if (!strcmp(argv[2], "submit")) {
		handle.context = S_CTX_ALLOCATOR;
		return spank_submit(rest);
	}
	if (!strcmp(argv[2], "step") && argc > 3) {
		handle.context = S_CTX_REMOTE;
		handle.user = (uid_t)atoi(*rest++);
		return spank_step(rest);
	}
	handle.context = S_CTX_JOB_SCRIPT;
	handle.arguments = spank_words(&rest, &handle.count);
	close(STDIN_FILENO); /* as slurmstepd does, which calls nothing else then */
	return spank_call("slurm_spank_job_epilog") < 0 ? SPANK_DRAINED : 0;
}
