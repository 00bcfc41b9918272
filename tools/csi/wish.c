/* SPDX-License-Identifier: MIT */
/* Goes through the attributes; what they may say is listed here, and checked for its value by src/attach/key.c. */
#include "csi/wish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text/nearest.h"

#define WISH_EPHEMERAL "csi.storage.k8s.io/ephemeral"

static const char *const wish_attributes[] = { "dataset", "digest", "follow", "version" };

struct wish {
	const char *data_set;
	bool is_persistent;    /* of a PersistentVolume: only who administrates the cluster can make one */
	const char *words[14]; /* of the command line: this is room for all three wants */
	size_t count;
	char *wants[3]; /* "NAME=VALUE"; request.c refuses an attribute that comes twice */
	size_t want_count;
};

/* ---- words ---- */

int wish_words(const char *const *words, char ***ret, struct error *err)
{
	char **copy = NULL;
	size_t count = 0;

	while (words[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		copy[i] = strdup(words[i]);
		if (!copy[i]) {
			wish_free(copy);
			return error_no_memory(err);
		}
	}
	*ret = copy;
	return 0;
}

void wish_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

/* ---- attributes ---- */

static int wish_refuse(const char *name, struct error *err)
{
	struct nearest nearest = nearest_begin(name, strlen(name));

	for (size_t i = 0; i < sizeof(wish_attributes) / sizeof(*wish_attributes); i++)
		nearest_try(&nearest, wish_attributes[i]);
	if (nearest.found)
		return error_set(err, -EINVAL, "unknown attribute '%s', did you mean '%s'?", name, nearest.found);
	return error_set(err, -EINVAL,
			 "unknown attribute '%s', expected dataset, digest, follow or version", name);
}

static bool wish_knows(const char *name)
{
	for (size_t i = 0; i < sizeof(wish_attributes) / sizeof(*wish_attributes); i++)
		if (!strcmp(wish_attributes[i], name))
			return true;
	return false;
}

/* Of Kubernetes itself. Users cannot set these for a driver with podInfoOnMount; for one without, see
 * wish_is_inline(). */
static bool wish_is_kubernetes(const char *name)
{
	return !strncmp(name, "csi.storage.k8s.io/", 19) || !strncmp(name, "storage.kubernetes.io/", 22);
}

/* The kubelet makes the volume_id of an inline volume, so nobody can forge it, whatever CSIDriver says. */
static bool wish_is_inline(const char *volume)
{
	return !strncmp(volume, "csi-", 4) && strlen(volume) == 68 && strspn(volume + 4, "0123456789abcdef") == 64;
}

static int wish_add(struct wish *wish, const struct request_pair *pair, struct error *err)
{
	char *want;

	if (!strcmp(pair->key, WISH_EPHEMERAL))
		wish->is_persistent = !strcmp(pair->value, "false");
	if (wish_is_kubernetes(pair->key))
		return 0;
	if (!wish_knows(pair->key))
		return wish_refuse(pair->key, err);
	if (!*pair->value)
		return error_set(err, -EINVAL, "attribute '%s' is empty", pair->key);
	if (!strcmp(pair->key, "dataset")) {
		wish->data_set = pair->value;
		return 0;
	}
	if (asprintf(&want, "%s=%s", pair->key, pair->value) < 0)
		return error_no_memory(err);
	wish->wants[wish->want_count++] = want;
	return 0;
}

static int wish_read(struct wish *wish, const struct request *request, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < request->attribute_count; i++)
		r = wish_add(wish, &request->attributes[i], err);
	if (r == 0 && !wish->data_set)
		r = error_set(err, -EINVAL, "attribute 'dataset' is missing: it names the data set");
	wish->is_persistent &= !wish_is_inline(request->volume);
	return r;
}

/* ---- what is allowed ---- */

/* Finds the volume. Somebody who may name one can open any device of the machine. */
static int wish_find(const struct wish *wish, const struct named_list *named, bool paths, struct named *ret,
		     struct error *err)
{
	const struct named *found = NULL;
	int r = 0;

	if (!strpbrk(wish->data_set, NAMED_OF_VOLUMES)) {
		r = named_find(named, wish->data_set, &found, err);
		if (r == 0)
			*ret = *found;
		return r;
	}
	if (!wish->is_persistent && !paths)
		return error_set(err, -EPERM, "dataset '%s' names a volume: expected a data set of '%s', or a "
				 "PersistentVolume", wish->data_set, named->file);
	*ret = (struct named){ .volume = (char *)(uintptr_t)wish->data_set };
	return 0;
}

static void wish_say(struct wish *wish, const char *word)
{
	wish->words[wish->count++] = word;
}

static int wish_finish(struct wish *wish, const struct named *set, const char *target, char ***ret,
		       struct error *err)
{
	wish_say(wish, "datasetfsctl");
	wish_say(wish, "attach");
	for (size_t i = 0; i < wish->want_count; i++) {
		wish_say(wish, "--want");
		wish_say(wish, wish->wants[i]);
	}
	if (set->options) {
		wish_say(wish, "-o");
		wish_say(wish, set->options);
	}
	wish_say(wish, "--");
	wish_say(wish, set->volume);
	wish_say(wish, target);
	wish_say(wish, NULL);
	return wish_words(wish->words, ret, err);
}

int wish_command(const struct request *request, const struct named_list *named, bool paths, const char *target,
		 char ***ret, struct error *err)
{
	struct named set = { 0 };
	struct wish wish = { 0 };
	int r = wish_read(&wish, request, err);

	if (r == 0)
		r = wish_find(&wish, named, paths, &set, err);
	if (r == 0)
		r = wish_finish(&wish, &set, target, ret, err);
	for (size_t i = 0; i < wish.want_count; i++)
		free(wish.wants[i]);
	return r;
}
