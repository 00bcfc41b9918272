/* SPDX-License-Identifier: MIT */
/* Takes the whole file, so that a mistake in it shows at once, whichever name is asked for. */
#include "attach/named.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text/settings.h"
#include "image/catalogue/version.h"

#define NAMED_SHOWN 256u /* bytes of names in a message */

int named_check(const char *name, struct error *err)
{
	if (strpbrk(name, NAMED_OF_VOLUMES "@") || version_check_label(name, NULL) < 0)
		return error_set(err, -EINVAL, "the name of a data set is '%.127s', expected 1 to 127 letters, digits "
				 "and ._+- and no . or - at the start", name);
	return 0;
}

static const struct named *named_look(const struct named_list *list, const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->items[i].name, name))
			return &list->items[i];
	return NULL;
}

static int named_accept(const struct named_list *list, char *words[], size_t count, struct error *err)
{
	int r;

	if (count < 2 || count > 3)
		return error_set(err, -EINVAL, "there %s, expected NAME VOLUME [OPTIONS]",
				 count < 2 ? "is no volume" : "are more than three words");
	r = named_check(words[0], err);
	if (r < 0)
		return r;
	if (named_look(list, words[0]))
		return error_set(err, -EINVAL, "data set '%s' is there twice", words[0]);
	if (*words[1] != '/' && !strchr(words[1], ':'))
		return error_set(err, -EINVAL, "the volume '%s' is a relative path, expected an absolute one, or an "
				 "identity", words[1]);
	return 0;
}

static void named_free_one(struct named *named)
{
	free(named->name);
	free(named->volume);
	free(named->options);
}

static int named_add(void *argument, char *words[], size_t count, struct error *err)
{
	struct named_list *list = argument;
	struct named named = { 0 };
	int r = named_accept(list, words, count, err);

	if (r == 0)
		r = grow_one(list->items, list->count, err);
	if (r < 0)
		return r;
	named.name = strdup(words[0]);
	named.volume = strdup(words[1]);
	named.options = words[2] ? strdup(words[2]) : NULL;
	if (!named.name || !named.volume || !named.options != !words[2]) {
		named_free_one(&named);
		return error_no_memory(err);
	}
	list->items[list->count++] = named;
	return 0;
}

int named_read(const char *file, struct named_list *ret, struct error *err)
{
	struct named_list list = { .file = file };
	struct error why = { 0 };
	int r = settings_read(file, named_add, &list, &why);

	if (r < 0 && r != -ENOENT) {
		named_free(&list);
		return error_pass(err, r, &why);
	}
	*ret = list;
	return 0;
}

/* Lists the names for a user, who cannot read the file on the node of a job. */
static int named_refuse(const struct named_list *list, const char *name, struct error *err)
{
	char there[NAMED_SHOWN] = "";
	size_t length = 0, i;

	if (!list->count)
		return error_set(err, -ENOENT, "no data set '%s' on this node, as '%s' names none: ask your "
				 "administrator", name, list->file);
	for (i = 0; i < list->count && length + strlen(list->items[i].name) + 3 < sizeof(there); i++)
		length += (size_t)snprintf(there + length, sizeof(there) - length, "%s%s", i ? ", " : "",
					   list->items[i].name);
	return error_set(err, -ENOENT, "no data set '%s' on this node; available: %s%s. Ask your administrator for "
			 "others", name, there, i < list->count ? ", ..." : "");
}

int named_find(const struct named_list *list, const char *name, const struct named **ret, struct error *err)
{
	const struct named *found;
	int r = named_check(name, err);

	if (r < 0)
		return r;
	found = named_look(list, name);
	if (!found)
		return named_refuse(list, name, err);
	*ret = found;
	return 0;
}

void named_free(struct named_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		named_free_one(&list->items[i]);
	free(list->items);
	*list = (struct named_list){ 0 };
}
