/* SPDX-License-Identifier: MIT */
/* Cuts a value at its first comma and its first @, and checks the three parts. */
#include "slurm/wish.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/named.h"
#include "image/catalogue/version.h"

static int wish_refuse_path(struct error *err, const char *why)
{
	return error_set(err, -EINVAL, "the path %s, expected an absolute one without . and .. in it", why);
}

/* Appends the next directory of a path. */
static int wish_descend(char *path, size_t *length, const char *name, size_t size, struct error *err)
{
	if ((size == 1 && name[0] == '.') || (size == 2 && name[0] == '.' && name[1] == '.'))
		return wish_refuse_path(err, "has . or .. in it");
	if (size > NAME_MAX || *length + 1 + size >= PATH_MAX)
		return wish_refuse_path(err, "is too long");
	path[(*length)++] = '/';
	memcpy(path + *length, name, size);
	*length += size;
	return 0;
}

static int wish_parse_path(const char *text, char ret[PATH_MAX], struct error *err)
{
	size_t length = 0, size;
	int r = 0;

	if (*text != '/')
		return wish_refuse_path(err, *text ? "is relative" : "is empty");
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return wish_refuse_path(err, "holds a control character");
	while (r == 0 && (text += strspn(text, "/"), size = strcspn(text, "/"))) {
		r = wish_descend(ret, &length, text, size, err);
		text += size;
	}
	if (r == 0 && !length)
		r = wish_refuse_path(err, "is /");
	ret[length] = 0;
	return r;
}

/* Copies a part of the value, which ends before end. */
static int wish_cut(const char *what, const char *text, const char *end, char ret[DSFS_LABEL_MAX + 1],
		    struct error *err)
{
	size_t length = (size_t)(end - text);

	if (length > DSFS_LABEL_MAX)
		return error_set(err, -EINVAL, "the %s has %zu bytes, expected 1 to %u", what, length, DSFS_LABEL_MAX);
	memcpy(ret, text, length);
	ret[length] = 0;
	return 0;
}

int wish_parse(const char *text, struct wish *ret, struct error *err)
{
	const char *comma = strchr(text, ','), *end = comma ? comma : text + strlen(text);
	const char *at = memchr(text, '@', (size_t)(end - text));
	struct wish wish = { .path = "" };
	int r = wish_cut("name", text, at ? at : end, wish.name, err);

	if (r == 0)
		r = named_check(wish.name, err);
	if (r == 0 && at)
		r = wish_cut("version", at + 1, end, wish.version, err);
	if (r == 0 && at)
		r = version_check_label(wish.version, err);
	if (r == 0 && comma)
		r = wish_parse_path(comma + 1, wish.path, err);
	if (r < 0)
		return r;
	*ret = wish;
	return 0;
}

static int wish_is_at(const struct wish *a, const struct wish *b)
{
	return !strcmp(a->path, b->path) && (*a->path || !strcmp(a->name, b->name));
}

int wish_add(struct wishes *wishes, const char *text, struct error *err)
{
	struct wish wish;
	size_t kept = 0;
	int r = wish_parse(text, &wish, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < wishes->count; i++)
		if (!wish_is_at(&wishes->items[i], &wish))
			wishes->items[kept++] = wishes->items[i];
	wishes->count = kept;
	if (kept == WISH_MAX)
		return error_set(err, -E2BIG, "there are more than %u data sets", WISH_MAX);
	wishes->items[wishes->count++] = wish;
	return 0;
}

void wish_text(const struct wish *wish, char ret[WISH_TEXT_SIZE])
{
	snprintf(ret, WISH_TEXT_SIZE, "%s%s%s%s%s", wish->name, *wish->version ? "@" : "", wish->version,
		 *wish->path ? "," : "", wish->path);
}
