/* SPDX-License-Identifier: MIT */
/* Parses and applies the modes of chmod(1). A clause that names nobody means all users, whatever the umask is. */
#include "source/mode.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"

#define MODE_BITS 07777u

static int mode_add(struct mode_changes *changes, const struct mode_change *change, struct error *err)
{
	int r = grow_one(changes->list, changes->count, err);

	if (r == 0)
		changes->list[changes->count++] = *change;
	return r;
}

static int mode_refuse(const char *text, struct error *err)
{
	return error_set(err, -EINVAL, "'%s' is not a mode, expected one as for chmod(1), such as a+rX or 0644", text);
}

static uint32_t mode_who(char letter)
{
	switch (letter) {
	case 'u':
		return S_ISUID | S_IRWXU;
	case 'g':
		return S_ISGID | S_IRWXG;
	case 'o':
		return S_ISVTX | S_IRWXO;
	default:
		return MODE_BITS;
	}
}

static int mode_parse_octal(struct mode_changes *changes, const char *text, struct error *err)
{
	struct mode_change change = { .who = MODE_BITS, .operation = '=' };
	size_t length = strspn(text, "01234567");

	for (size_t i = 0; i < length && change.bits <= MODE_BITS; i++)
		change.bits = change.bits << 3 | (uint32_t)(text[i] - '0');
	if (text[length] || change.bits > MODE_BITS)
		return mode_refuse(text, err);
	return mode_add(changes, &change, err);
}

/* Parses one clause, such as "go=rX-w", and moves *at past it. */
static int mode_parse_clause(struct mode_changes *changes, const char *text, const char **at, struct error *err)
{
	size_t users = strspn(*at, "ugoa");
	struct mode_change change = { .who = users ? 0 : MODE_BITS };
	int r = 0;

	for (size_t i = 0; i < users; i++)
		change.who |= mode_who((*at)[i]);
	*at += users;
	if (!**at || !strchr("+-=", **at))
		return mode_refuse(text, err);
	while (r == 0 && **at && strchr("+-=", **at)) {
		change.operation = *(*at)++;
		change.what = *at;
		change.what_length = **at && strchr("ugo", **at) ? 1 : strspn(*at, "rwxXst");
		*at += change.what_length;
		r = mode_add(changes, &change, err);
	}
	return r;
}

int mode_parse(struct mode_changes *changes, const char *text, struct error *err)
{
	const char *at = text;
	int r;

	if (*text >= '0' && *text <= '7')
		return mode_parse_octal(changes, text, err);
	for (;;) {
		r = mode_parse_clause(changes, text, &at, err);
		if (r < 0 || !*at)
			return r;
		if (*at++ != ',')
			return mode_refuse(text, err);
	}
}

/* Returns the bits that a letter of permissions stands for, for all users. */
static uint32_t mode_letter(char letter, uint32_t mode)
{
	switch (letter) {
	case 'r':
		return 0444;
	case 'w':
		return 0222;
	case 'x':
		return 0111;
	case 'X': /* what is a directory, or may be executed by somebody */
		return S_ISDIR(mode) || mode & 0111 ? 0111 : 0;
	case 's':
		return S_ISUID | S_ISGID;
	case 't':
		return S_ISVTX;
	case 'u':
		return (mode >> 6 & 7) * 0111;
	case 'g':
		return (mode >> 3 & 7) * 0111;
	default: /* 'o' */
		return (mode & 7) * 0111;
	}
}

static uint32_t mode_apply_one(const struct mode_change *change, uint32_t mode)
{
	uint32_t bits = change->bits;

	for (size_t i = 0; i < change->what_length; i++)
		bits |= mode_letter(change->what[i], mode);
	bits &= change->who;
	if (change->operation == '+')
		return mode | bits;
	return change->operation == '-' ? mode & ~bits : (mode & ~change->who) | bits;
}

uint32_t mode_apply(const struct mode_changes *changes, uint32_t mode)
{
	for (size_t i = 0; i < changes->count; i++)
		mode = mode_apply_one(&changes->list[i], mode);
	return mode;
}
