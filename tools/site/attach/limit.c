/* SPDX-License-Identifier: MIT */
/* Counts keys and not mounts, so that dead mounts of a key do not prevent the next one. */
#include "attach/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "attach/instance.h"
#include "attach/launch.h"
#include "base/cleanup.h"

struct limit {
	int state;
	const char *own; /* name of the key that is not counted */
	const char *volume;
	const char *of;  /* name of the key that is looked at */
	unsigned count;
};

static int limit_visit_mount(void *argument, const char *name, struct error *err)
{
	const struct limit *limit = argument;
	const struct instance instance = instance_of(limit->of, (unsigned)strtoul(name, NULL, 10));

	(void)err;
	return launch_is_of(&instance, limit->volume);
}

static int limit_visit_key(void *argument, const char *name, struct error *err)
{
	struct limit *limit = argument;
	auto_close int folder = -1;

	(void)err;
	if (!strcmp(name, limit->own))
		return 0;
	folder = openat(limit->state, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	limit->of = name;
	limit->count += folder >= 0 && runtime_each(folder, limit_visit_mount, limit, NULL) > 0;
	return 0;
}

int limit_check(int state, const char *name, const struct key *key, struct error *err)
{
	struct limit limit = { .state = state, .own = name, .volume = key->volume };
	int r = key->is_asked ? runtime_each(state, limit_visit_key, &limit, err) : 0;

	if (r < 0 || limit.count < key->max_mounts)
		return r;
	return error_set(err, -EUSERS, "the machine has %u mounts of '%s' already, and consumers may have %u: end "
			 "some, or have the administrator raise max_mounts=", limit.count, key->volume,
			 key->max_mounts);
}
