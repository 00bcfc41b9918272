/* SPDX-License-Identifier: MIT */
/* Hooks fcntl(2), ioctl(2) and posix_fadvise(3). */
#include <linux/fs.h>
#include <stdarg.h>

#include "preload/hooks/hook.h"
#include "preload/hooks/serving.h"
#include "preload/process/next.h"
#include "preload/process/own.h"

/* --- fcntl --- */

/* Answers F_GETFL; makes the file real for other commands. True: *ret is the result of the call. */
static bool control_serve(int fd, int command, int *ret)
{
	struct serving serving;
	bool is_served = command == F_GETFL;

	/* The placeholder itself answers these two. */
	if (command == F_GETFD || command == F_SETFD || !serving_begin(&serving, fd))
		return false;
	if (serving.file->is_real) {
		serving_end(&serving, NULL);
		return false;
	}
	*ret = serving.file->flags | TABLE_LARGEFILE;
	serving_end(&serving, is_served ? NULL : "fcntl");
	return is_served;
}

static void control_prepare_lock(int fd, int command)
{
	struct inside inside;

	if ((command != F_SETLK && command != F_SETLKW) || !inside_enter(&inside))
		return;
	real_make_for_lock(fd, "fcntl");
	inside_leave(&inside);
}

/* Notes a new number as our own, or forgets its former meaning. */
static void control_got(int fd, bool is_own)
{
	if (is_own)
		own_add(fd);
	else
		serving_forget(fd);
}

HOOK(fcntl);
int hook_fcntl(int fd, int command, ...)
{
	va_list rest;
	void *argument;
	int r;

	if (control_serve(fd, command, &r))
		return r;
	va_start(rest, command);
	argument = va_arg(rest, void *);
	va_end(rest);
	control_prepare_lock(fd, command);
	r = next()->fcntl(fd, command, argument);
	if (r >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))
		control_got(r, OWN_CALLS());
	return r;
}

HOOK_ALIAS(fcntl64, fcntl);
HOOK_ALIAS(__fcntl, fcntl);

/* --- ioctl --- */

static void control_real(int fd, const char *caller)
{
	struct serving serving;

	if (serving_begin(&serving, fd))
		serving_end(&serving, caller);
}

/* Whether the number is a file of ours, so no terminal, with errno ENOTTY: CPython asks this of each file. */
static bool control_is_no_terminal(int fd)
{
	struct serving serving;
	bool is_served;

	if (!serving_begin(&serving, fd))
		return false;
	is_served = !serving.file->is_real;
	if (is_served)
		serving.inside.code = ENOTTY;
	serving_end(&serving, NULL);
	return is_served;
}

/* A placeholder refuses FIOCLEX and FIONCLEX, but not the fcntl(2) that does the same. */
static bool control_is_close_on_exec(int fd, unsigned long request, int *ret)
{
	if ((request != FIOCLEX && request != FIONCLEX) || !table_may_have(fd))
		return false;
	*ret = next()->fcntl(fd, F_SETFD, request == FIOCLEX ? FD_CLOEXEC : 0);
	return true;
}

HOOK(ioctl);
int hook_ioctl(int fd, unsigned long request, ...)
{
	va_list rest;
	void *argument;
	int r;

	if (request == TCGETS && control_is_no_terminal(fd))
		return -1;
	if (control_is_close_on_exec(fd, request, &r))
		return r;
	va_start(rest, request);
	argument = va_arg(rest, void *);
	va_end(rest);
	if (table_has_any()) {
		control_real(fd, "ioctl");
		if (request == FICLONE)
			control_real((int)(intptr_t)argument, "ioctl");
		if (request == FICLONERANGE && argument)
			control_real((int)((const struct file_clone_range *)argument)->src_fd, "ioctl");
	}
	return next()->ioctl(fd, request, argument);
}

HOOK(isatty);
int hook_isatty(int fd)
{
	return control_is_no_terminal(fd) ? 0 : next()->isatty(fd);
}

/* --- posix_fadvise --- */

HOOK(posix_fadvise);
int hook_posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	struct serving serving;
	bool is_valid = advice >= POSIX_FADV_NORMAL && advice <= POSIX_FADV_NOREUSE && length >= 0, is_real;

	if (!serving_begin(&serving, fd))
		return next()->posix_fadvise(fd, offset, length, advice);
	is_real = serving.file->is_real;
	serving_end(&serving, is_valid || is_real ? NULL : "posix_fadvise");
	return is_valid && !is_real ? 0 : next()->posix_fadvise(fd, offset, length, advice);
}

HOOK_ALIAS(posix_fadvise64, posix_fadvise);
