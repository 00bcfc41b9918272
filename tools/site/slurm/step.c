/* SPDX-License-Identifier: MIT */
/* The calls of unshare(2) and mount(2), who may cover which directory, and the command lines of datasetfsctl. */
#include "slurm/step.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm/control.h"

static void step_place(const struct site *site, const struct wish *wish, char ret[PATH_MAX])
{
	if (*wish->path)
		snprintf(ret, PATH_MAX, "%s", wish->path);
	else
		snprintf(ret, PATH_MAX, "%s/%s", site->folder, wish->name);
}

/* ---- directories that may be covered ---- */

static bool step_is_below(const char *place, const char *folder, size_t length)
{
	return length && !strncmp(place, folder, length) && place[length] == '/';
}

static bool step_is_sites(const struct site *site, const char *place)
{
	const char *folder = site->places ? site->places : "";
	size_t length;

	for (; *folder; folder += length + (folder[length] == ':')) {
		length = strcspn(folder, ":");
		if (step_is_below(place, folder, length))
			return true;
	}
	return step_is_below(place, site->folder, strlen(site->folder));
}

/* A program with the set-user-ID bit trusts /etc, /usr and more. So a user covers only what could be made to vanish
 * in any case: an own directory. */
static int step_check(const struct site *site, const char *place, uid_t user, struct error *err)
{
	struct stat st;

	if (user == 0 || step_is_sites(site, place))
		return 0;
	if (lstat(place, &st) < 0)
		return error_errno(err, "cannot look at '%s'", place);
	if (st.st_uid == user && S_ISDIR(st.st_mode))
		return 0;
	return error_set(err, -EPERM, "'%s' is no directory of your own, expected one, or a path below %s%s%s", place,
			 site->folder, site->places ? ":" : "", site->places ? site->places : "");
}

/* A place without a name of its own is made, and stays: an empty directory for each data set. */
static int step_make(const struct site *site, const char *place, struct error *err)
{
	if ((mkdir(site->folder, 0755) < 0 && errno != EEXIST) || (mkdir(place, 0755) < 0 && errno != EEXIST))
		return error_errno(err, "cannot make '%s'", place);
	return 0;
}

/* ---- a data set ---- */

static int step_attach_one(const struct site *site, const struct wish *wish, uid_t user, struct error *err)
{
	char place[PATH_MAX], version[sizeof("version=") + DSFS_LABEL_MAX];
	const char *words[] = { "attach", "--named", "--", wish->name, place, NULL, NULL, NULL };
	int r;

	step_place(site, wish, place);
	r = *wish->path ? step_check(site, place, user, err) : step_make(site, place, err);
	if (r < 0)
		return r;
	if (*wish->version) {
		snprintf(version, sizeof(version), "version=%s", wish->version);
		memcpy(words + 2, (const char *[]){ "--want", version, "--", wish->name, place }, 5 * sizeof(*words));
	}
	return control_run(site, words, err);
}

static int step_detach_one(const struct site *site, const struct wish *wish, struct error *err)
{
	char place[PATH_MAX];

	step_place(site, wish, place);
	return control_run(site, (const char *[]){ "detach", "--", place, NULL }, err);
}

/* ---- all of them ---- */

static int step_separate(struct error *err)
{
	if (unshare(CLONE_NEWNS) < 0)
		return error_errno(err, "cannot make a mount namespace for the job%s", errno == EPERM ?
				   " (does slurmd lack CAP_SYS_ADMIN?)" : "");
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return error_errno(err, "cannot make the job's mounts private%s", errno == EINVAL ?
				   " ('/' is not a mount point: is slurmd in a chroot?)" : "");
	return 0;
}

/* Detaches the last one first, as one may lie in another. */
int step_detach(const struct site *site, const struct wishes *wishes, size_t count, struct error *err)
{
	int result = 0, r;

	while (count-- > 0) {
		r = step_detach_one(site, &wishes->items[count], result == 0 ? err : NULL);
		if (result == 0)
			result = r;
	}
	return result;
}

int step_attach(const struct site *site, const struct wishes *wishes, uid_t user, struct error *err)
{
	int r = wishes->count ? step_separate(err) : 0;

	for (size_t i = 0; r == 0 && i < wishes->count; i++) {
		r = step_attach_one(site, &wishes->items[i], user, err);
		if (r < 0)
			(void)!step_detach(site, wishes, i, NULL);
	}
	return r;
}

int step_clear(const struct site *site, struct error *err)
{
	return control_run(site, (const char *[]){ "detach", "--ended", NULL }, err);
}

ino_t step_namespace(void)
{
	struct stat st;

	return stat("/proc/thread-self/ns/mnt", &st) == 0 ? st.st_ino : 0;
}
