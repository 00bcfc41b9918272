/* SPDX-License-Identifier: MIT */
/* Checks the owner's bits, else the group's, else the others' bits; capabilities override them. */
#include "lib/permission.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(CAP_DAC_OVERRIDE < 32 && CAP_DAC_READ_SEARCH < 32 && CAP_SETUID < 32 && CAP_SETGID < 32,
	       "all are in the first word");

/* Returns the calling thread's capabilities. */
static struct __user_cap_data_struct permission_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	(void)!syscall(SYS_capget, &header, data);
	return data[0];
}

static bool permission_has(uint32_t capabilities, int which)
{
	return capabilities >> which & 1;
}

/* Returns the filesystem user, which differs from the effective one after setfsuid(2). Only this call tells it, and
 * seccomp filters of hardened services kill for it: so it is made only where a thread could have called it before. */
static uid_t permission_uid(uint32_t permitted)
{
	uid_t real, effective, saved, found;

	if (getresuid(&real, &effective, &saved) < 0)
		return geteuid();
	if (real == effective && saved == effective && !permission_has(permitted, CAP_SETUID))
		return effective;
	found = (uid_t)setfsuid((uid_t)-1); /* not a user: changes nothing */
	return found == (uid_t)-1 ? effective : found;
}

static gid_t permission_gid(uint32_t permitted)
{
	gid_t real, effective, saved, found;

	if (getresgid(&real, &effective, &saved) < 0)
		return getegid();
	if (real == effective && saved == effective && !permission_has(permitted, CAP_SETGID))
		return effective;
	found = (gid_t)setfsgid((gid_t)-1);
	return found == (gid_t)-1 ? effective : found;
}

static int permission_look(struct permission *permission, struct error *err)
{
	const struct __user_cap_data_struct capabilities = permission_capabilities();
	int count;

	permission->has_all = permission_has(capabilities.effective, CAP_DAC_OVERRIDE) ||
			      permission_has(capabilities.effective, CAP_DAC_READ_SEARCH);
	if (permission->has_all) {
		permission->is_known = true;
		return 0;
	}
	permission->uid = permission_uid(capabilities.permitted);
	permission->gid = permission_gid(capabilities.permitted);
	count = getgroups(0, NULL);
	if (count > 0) {
		permission->groups = calloc((size_t)count, sizeof(*permission->groups));
		if (!permission->groups)
			return error_no_memory(err);
		permission->group_count = getgroups(count, permission->groups);
	}
	permission->is_known = true;
	return 0;
}

static bool permission_is_member(const struct permission *permission, gid_t gid)
{
	if (permission->gid == gid)
		return true;
	for (int i = 0; i < permission->group_count; i++)
		if (permission->groups[i] == gid)
			return true;
	return false;
}

static bool permission_allows(const struct permission *permission, const struct inode *inode,
			      enum permission_kind kind)
{
	if (permission->has_all)
		return true;
	if (permission->uid == inode->uid)
		return inode->mode & (unsigned)kind << 6;
	if (permission_is_member(permission, inode->gid))
		return inode->mode & (unsigned)kind << 3;
	return inode->mode & (unsigned)kind;
}

int permission_check(struct permission *permission, const struct inode *inode, enum permission_kind kind,
		     struct error *err)
{
	int r;

	if (permission_is_everybodys(inode, kind))
		return 0;
	if (!permission->is_known) {
		r = permission_look(permission, err);
		if (r < 0)
			return r;
	}
	if (permission_allows(permission, inode, kind))
		return 0;
	return error_set(err, -EACCES, "inode %" PRIu64 " has mode %04o, uid %u, gid %u: uid %u may not %s it",
			 inode->ordinal, inode->mode & 07777, inode->uid, inode->gid, permission->uid,
			 kind == PERMISSION_READ ? "read" : "search");
}

void permission_end(struct permission *permission)
{
	free(permission->groups);
	*permission = (struct permission){ 0 };
}
