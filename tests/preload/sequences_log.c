/* SPDX-License-Identifier: MIT */
/* The log of a sequence: a line for each call, with nothing in it that differs between two runs. */
#include "sequences.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static void log_text(const char *format, va_list arguments)
{
	struct log *log = state.log;
	size_t room = sizeof(log->text) - log->length;
	int length = vsnprintf(log->text + log->length, room, format, arguments);

	if (length > 0)
		log->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void log_more(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void log_more(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_text(format, arguments);
	va_end(arguments);
}

static void log_begin(const char *format, va_list arguments)
{
	log_more("%u%s ", state.call, state.is_child ? " child" : "");
	log_text(format, arguments);
}

static void log_end(int64_t result, int error)
{
	log_more(" = %lld", (long long)result);
	if (error != 0)
		log_more(" %s", strerrorname_np(error) ? strerrorname_np(error) : "E?");
}

void log_line(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_begin(format, arguments);
	va_end(arguments);
	log_more("\n");
	errno = 0;
}

void log_result(int64_t result, const char *format, ...)
{
	int error = errno;
	va_list arguments;

	va_start(arguments, format);
	log_begin(format, arguments);
	va_end(arguments);
	log_end(result, error);
	log_more("\n");
	errno = 0;
}

void log_bytes(int64_t result, const void *bytes, const char *format, ...)
{
	int error = errno;
	va_list arguments;

	va_start(arguments, format);
	log_begin(format, arguments);
	va_end(arguments);
	log_end(result, error);
	if (result > 0)
		log_more(" #%08x", (unsigned)log_hash(0, bytes, (size_t)result));
	log_more("\n");
	errno = 0;
}

/* Off the mount and in '.datasetfs', numbers and times are not the same on both sides. */
void log_attributes(int result, const struct stat *attributes, const char *format, ...)
{
	const struct stat *a = attributes;
	int error = errno;
	va_list arguments;

	va_start(arguments, format);
	log_begin(format, arguments);
	va_end(arguments);
	log_end(result, error);
	if (result == 0 && a->st_dev == state.device && a->st_mtim.tv_sec <= TREE_TIME)
		log_more(" mount ino=%llu mode=%o nlink=%u owner=%u:%u rdev=%llx size=%lld block=%lld blocks=%lld "
			 "times=%lld.%ld %lld.%ld %lld.%ld",
			 (unsigned long long)a->st_ino, a->st_mode, (unsigned)a->st_nlink, a->st_uid, a->st_gid,
			 (unsigned long long)a->st_rdev, (long long)a->st_size, (long long)a->st_blksize,
			 (long long)a->st_blocks, (long long)a->st_mtim.tv_sec, a->st_mtim.tv_nsec,
			 (long long)a->st_ctim.tv_sec, a->st_ctim.tv_nsec, (long long)a->st_atim.tv_sec,
			 a->st_atim.tv_nsec);
	else if (result == 0)
		log_more(" mode=%o size=%lld", a->st_mode, S_ISREG(a->st_mode) ? (long long)a->st_size : 0);
	log_more("\n");
	errno = 0;
}

const char *log_path(const char *path)
{
	static char text[4][4200];
	static unsigned turn;
	size_t length = strlen(state.top);
	char *out = text[turn++ % 4];

	if (!path)
		return "NULL";
	if (strncmp(path, state.top, length) == 0)
		snprintf(out, sizeof(text[0]), "TOP%.300s", path + length);
	else if (strncmp(path, "pipe:", 5) == 0 || strncmp(path, "socket:", 7) == 0)
		snprintf(out, sizeof(text[0]), "%.5s", path);
	else
		snprintf(out, sizeof(text[0]), "%.300s", path);
	return out;
}

uint64_t log_hash(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t word;

	for (; size >= 8; at += 8, size -= 8) {
		memcpy(&word, at, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (; size > 0; at++, size--) {
		hash = (hash ^ *at) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return hash ^ hash >> 32;
}
