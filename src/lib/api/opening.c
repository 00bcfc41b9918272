/* SPDX-License-Identifier: MIT */
/* Opens a path in a mount as the version that is mounted: past the mount if the daemon hands over its descriptors. Any
 * other path names a volume. */
#include "lib/api/opening.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "lib/direct/linked.h"
#include "lib/mounted/mounted.h"
#include "lib/mounted/mounted_place.h"

static int opening_past(int mount, const struct query *query, struct opened **ret, bool *ret_final, struct error *err)
{
	struct link_place place;
	int r = link_find(mount, &place, err);

	*ret_final = false;
	if (r < 0)
		return r;
	return linked_open(&place, query, ret, ret_final, err);
}

static int opening_mount(int mount, const struct query *query, struct opened **ret, struct error *err)
{
	struct error why = { 0 };
	bool is_final;
	int r;

	if (query->flags & DSFS_OPEN_MOUNT)
		return mounted_open(query, "DSFS_OPEN_MOUNT asks for the mount", ret, err);
	r = opening_past(mount, query, ret, &is_final, &why);
	if (r == 0)
		return 0;
	if (is_final || query->flags & DSFS_OPEN_DIRECT)
		return error_set(err, r, "'%s': %s", query->where, why.reason);
	return mounted_open(query, why.reason, ret, err);
}

int opening_open(const struct query *query, struct opened **ret, struct error *err)
{
	struct error why = { 0 };
	auto_close int mount = -1;
	struct stat st;
	int r = mounted_place_open(query->where, &mount, &why);

	if (r == 0)
		return opening_mount(mount, query, ret, err);
	if (r == -ENOTCONN || query->flags & DSFS_OPEN_MOUNT)
		return error_pass(err, r, &why);
	if (stat(query->where, &st) == 0 && S_ISDIR(st.st_mode))
		return error_set(err, -EINVAL, "%s", why.reason);
	return direct_open_volume(query, ret, err);
}

/* Makes one reason for both cases: there is nothing to open, or nothing any more. */
static int opening_gone(const struct query *query, const struct error *why, struct error *err)
{
	struct error ignored = { 0 };
	auto_close int mount = -1;

	if (why->code == -ENOTCONN || mounted_place_open(query->where, &mount, &ignored) == 0)
		return error_pass(err, why->code, why);
	return error_set(err, -ENOTCONN, "the daemon of the mount '%s' has ended and no mount is there: mount it again",
			 query->where);
}

/* Asks the backend first: a daemon knows which version is next, even if its mount is not visible any more. If it has
 * ended there may be another one; the same version comes with descriptors that are good. */
int opening_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err)
{
	struct error why = { 0 };
	int r = opened->backend->renew(opened, query, ret, err);

	if (r <= 0)
		return r;
	if (opening_open(query, ret, &why) == 0)
		return 0;
	if (opened->backend->lives && opened->backend->lives(opened))
		return error_pass(err, why.code, &why);
	return opening_gone(query, &why, err);
}
