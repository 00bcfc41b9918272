/* SPDX-License-Identifier: MIT */
/* Goes through the attributes; what they may say is listed here, and checked for its value by tools/site/attach/key.c.
 * request.c refuses an attribute that comes twice. */
#include "csi/wish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/nearest.h"

#define WISH_EPHEMERAL "csi.storage.k8s.io/ephemeral"

static const char *const wish_attributes[] = { "dataset", "digest", "engine", "follow", "version" };

/* The attributes before anything is looked up. */
struct wish_said {
	const char *data_set;
	bool is_persistent; /* of a PersistentVolume: only who administrates the cluster can make one */
};

static int wish_copy(char **ret, const char *text, struct error *err)
{
	*ret = text ? strdup(text) : NULL;
	return !text || *ret ? 0 : error_no_memory(err);
}

void wish_free(struct wish *wish)
{
	for (size_t i = 0; i < wish->want_count; i++)
		free(wish->wants[i]);
	free(wish->volume);
	free(wish->options);
	*wish = (struct wish){ 0 };
}

static bool wish_has_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool wish_is_same(const struct wish *a, const struct wish *b)
{
	if (!wish_has_same_text(a->volume, b->volume) || !wish_has_same_text(a->options, b->options) ||
	    a->want_count != b->want_count)
		return false;
	for (size_t i = 0; i < a->want_count; i++)
		if (strcmp(a->wants[i], b->wants[i]) != 0)
			return false;
	return true;
}

/* ---- attributes ---- */

static int wish_refuse(const char *name, struct error *err)
{
	struct nearest nearest = nearest_begin(name, strlen(name));

	for (size_t i = 0; i < sizeof(wish_attributes) / sizeof(*wish_attributes); i++)
		nearest_try(&nearest, wish_attributes[i]);
	if (*nearest.found)
		return error_set(err, -EINVAL, "unknown attribute '%s', did you mean '%s'?", name, nearest.found);
	return error_set(err, -EINVAL,
			 "unknown attribute '%s', expected dataset, digest, engine, follow or version", name);
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

static int wish_add(struct wish *wish, struct wish_said *said, const struct request_pair *pair, struct error *err)
{
	if (!strcmp(pair->key, WISH_EPHEMERAL))
		said->is_persistent = !strcmp(pair->value, "false");
	if (wish_is_kubernetes(pair->key))
		return 0;
	if (!wish_knows(pair->key))
		return wish_refuse(pair->key, err);
	if (!*pair->value)
		return error_set(err, -EINVAL, "attribute '%s' is empty", pair->key);
	if (!strcmp(pair->key, "dataset")) {
		said->data_set = pair->value;
		return 0;
	}
	if (asprintf(&wish->wants[wish->want_count], "%s=%s", pair->key, pair->value) < 0)
		return error_no_memory(err);
	wish->want_count++;
	return 0;
}

static int wish_take(struct wish *wish, struct wish_said *said, const struct request *request, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < request->attribute_count; i++)
		r = wish_add(wish, said, &request->attributes[i], err);
	if (r == 0 && !said->data_set)
		r = error_set(err, -EINVAL, "attribute 'dataset' is missing: it names the data set");
	said->is_persistent &= !wish_is_inline(request->volume);
	return r;
}

/* ---- what is allowed ---- */

/* Finds the volume. Somebody who may name one can open any device of the machine. */
static int wish_find(const struct wish_said *said, const struct named_list *named, bool paths, struct wish *wish,
		     struct error *err)
{
	const struct named *found = NULL;
	int r;

	if (strpbrk(said->data_set, NAMED_OF_VOLUMES)) {
		if (said->is_persistent || paths)
			return wish_copy(&wish->volume, said->data_set, err);
		return error_set(err, -EPERM, "dataset '%s' names a volume: expected a data set of '%s', or a "
				 "PersistentVolume", said->data_set, named->file);
	}
	r = named_find(named, said->data_set, &found, err);
	if (r == 0)
		r = wish_copy(&wish->volume, found->volume, err);
	return r < 0 ? r : wish_copy(&wish->options, found->options, err);
}

/* Whether the data set has an option that begins so: the name of one with a value, with the equals sign. */
static bool wish_has(const struct wish *wish, const char *name)
{
	const char *options = wish->options;

	while (options && strncmp(options, name, strlen(name)) != 0) {
		options = strchr(options, ',');
		options += options != NULL;
	}
	return options;
}

static int wish_append(struct wish *wish, const char *name, const char *value, struct error *err)
{
	const char *former = wish->options ? wish->options : "";
	char *options;

	if (!value)
		return 0;
	if (asprintf(&options, "%s%s%s%s", former, *former ? "," : "", name, value) < 0)
		return error_no_memory(err);
	free(wish->options);
	wish->options = options;
	return 0;
}

static bool wish_is_kernels(const struct wish *wish)
{
	for (size_t i = 0; i < wish->want_count; i++)
		if (!strcmp(wish->wants[i], "engine=kernel"))
			return true;
	return wish_has(wish, "kernel") || wish_has(wish, "engine=kernel");
}

/* Adds what csi.conf says of all volumes, unless the data set says that itself. Nobody can read past a mount by the
 * kernel, so it needs no group for that. */
static int wish_add_conf(const struct conf *conf, struct wish *wish, struct error *err)
{
	int r = 0;

	if (!wish_has(wish, "trust=")) {
		r = wish_append(wish, "trust=", conf->trust, err);
		r = r < 0 ? r : wish_append(wish, "revoked=", conf->revoked, err);
	}
	if (r == 0 && !wish_has(wish, "direct_group=") && !wish_is_kernels(wish))
		r = wish_append(wish, "direct_group=", conf->direct_group, err);
	return r;
}

int wish_read(const struct request *request, const struct named_list *named, const struct conf *conf,
	      struct wish *ret, struct error *err)
{
	auto_wish struct wish wish = { 0 };
	struct wish_said said = { 0 };
	int r = wish_take(&wish, &said, request, err);

	if (r == 0)
		r = wish_find(&said, named, conf->inline_paths, &wish, err);
	if (r == 0)
		r = wish_add_conf(conf, &wish, err);
	if (r < 0)
		return r;
	*ret = wish;
	wish = (struct wish){ 0 };
	return 0;
}
