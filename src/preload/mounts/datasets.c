/* SPDX-License-Identifier: MIT */
/* Reads /proc/self/mountinfo at the first open, and again when poll(2) tells a change: one system call for each open.
 * It does not tell that a folder above a mountpoint was renamed, so mountpoints are checked now and then. Nothing here
 * allocates memory, except the library when a path leads into a data set: the caller may be an allocator. */
#include "preload/mounts/datasets.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/mountinfo.h"
#include "image/inode.h"
#include "lib/api/handle.h"
#include "lib/direct/daemon/link.h"
#include "lib/direct/direct.h"
#include "lib/high.h"
#include "preload/mounts/roomy.h"
#include "preload/process/next.h"
#include "preload/process/own.h"
#include "preload/process/placeholder.h"
#include "preload/process/private.h"
#include "preload/process/report.h"
#include "preload/process/settings.h"

#define DATASETS_MOST 64u
#define DATASETS_LOOK INT64_C(5000000) /* ns between two checks of the mountpoints */

/* States of a data set. DATASET_GONE: not mounted, hidden, or something is mounted in it. */
enum { DATASET_GONE, DATASET_HERE, DATASET_OPEN, DATASET_REFUSED };

/* State of one process; zero in a child. */
struct datasets_watch {
	pthread_mutex_t lock;     /* code under it allocates no memory, and waits for no daemon */
	pthread_mutex_t opening;  /* held while a data set is opened */
	_Atomic bool is_watching; /* this process has its own descriptor */
	_Atomic int64_t looked;   /* when the mountpoints were last checked, ns */
	bool is_adopted;          /* this process may use its parent's data sets; under the lock */
};

static void *_Atomic watch;
static struct dataset datasets[DATASETS_MOST];
static _Atomic unsigned dataset_count;
static int mounts = -1; /* /proc/self/mountinfo, of the process that opened it */

static struct datasets_watch *datasets_here(void)
{
	return atomic_load_explicit(&watch, memory_order_acquire);
}

bool datasets_make(void)
{
	return private_new(&watch, sizeof(struct datasets_watch));
}

/* --- the table of mounts --- */

static void datasets_add(const struct mountinfo *info)
{
	struct dataset *dataset = datasets;
	unsigned count = dataset_count;

	if (strcmp(info->type, MOUNTINFO_OURS) || strcmp(info->root, "/") || strlen(info->point) >= DATASET_ROOT ||
	    !info->point[1])
		return;
	while (dataset < datasets + count && (dataset->device != info->device || strcmp(dataset->root, info->point)))
		dataset++;
	if (dataset == datasets + DATASETS_MOST)
		return;
	dataset->is_listed = true;
	atomic_store_explicit(&dataset->mount, info->id, memory_order_relaxed);
	if (dataset < datasets + count)
		return;
	strcpy(dataset->root, info->point);
	dataset->length = strlen(info->point);
	dataset->device = info->device;
	atomic_store_explicit(&dataset_count, count + 1, memory_order_release);
}

/* Leaves out a data set that something is mounted in, as that would be missed below it. */
static void datasets_cover(const struct mountinfo *info)
{
	for (struct dataset *dataset = datasets; dataset < datasets + dataset_count; dataset++)
		if (!strncmp(info->point, dataset->root, dataset->length) && info->point[dataset->length] == '/')
			dataset->is_listed = false;
}

static void datasets_each(char *text, void (*each)(const struct mountinfo *info))
{
	struct mountinfo info;

	for (char *next_line, *at = text; *at; at = next_line) {
		next_line = strchrnul(at, '\n');
		if (*next_line)
			*next_line++ = 0;
		if (mountinfo_parse(at, &info))
			each(&info);
	}
}

/* --- which data sets are visible --- */

bool datasets_is_device(const struct dataset *dataset, const struct statx *st)
{
	return makedev(st->stx_dev_major, st->stx_dev_minor) == dataset->device;
}

/* Calls statx(2) on arguments of openat(2), or on an empty path. */
static bool datasets_ask(int directory, const char *path, struct statx *ret)
{
	return statx(directory, path, AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO | STATX_MNT_ID,
		     ret) == 0;
}

/* Whether nothing hides the data set: no other mount, and no new name of a folder above it. */
static bool dataset_is_seen(const struct dataset *dataset)
{
	struct statx st;

	return datasets_ask(AT_FDCWD, dataset->root, &st) && datasets_is_device(dataset, &st) &&
	       st.stx_ino == INODE_ROOT;
}

static void dataset_settle(struct dataset *dataset, bool is_here)
{
	int state = DATASET_GONE;

	if (!is_here)
		atomic_store(&dataset->state, DATASET_GONE);
	else
		atomic_compare_exchange_strong(&dataset->state, &state, dataset->fs ? DATASET_OPEN : DATASET_HERE);
}

static int64_t datasets_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void datasets_settle(void)
{
	for (struct dataset *dataset = datasets; dataset < datasets + dataset_count; dataset++)
		dataset_settle(dataset, dataset->is_listed && dataset_is_seen(dataset));
	atomic_store(&datasets_here()->looked, datasets_clock());
}

/* --- looking --- */

/* Maps two copies, as parsing cuts one up, each with a NUL behind it. *ret_size: offset of the second. */
static char *datasets_read(size_t *ret_size)
{
	for (size_t size = 1 << 16, used;; size *= 4) {
		char *text = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ssize_t n = 1;

		if (text == MAP_FAILED)
			return NULL;
		for (used = 0; n > 0 && used < size - 1; used += n > 0 ? (size_t)n : 0)
			n = next()->pread(mounts, text + used, size - 1 - used, (off_t)used);
		if (n == 0) {
			memcpy(text + size, text, used);
			*ret_size = size;
			return text;
		}
		munmap(text, 2 * size);
		if (n < 0)
			return NULL;
	}
}

static void datasets_load(void)
{
	size_t size;
	char *text;

	for (struct dataset *dataset = datasets; dataset < datasets + dataset_count; dataset++)
		dataset->is_listed = false;
	text = datasets_read(&size);
	if (text) {
		datasets_each(text, datasets_add);
		datasets_each(text + size, datasets_cover);
		munmap(text, 2 * size);
	}
	datasets_settle();
}

/* Opens a descriptor for this process: on its parent's, the kernel tells a change to only one of the two. */
static bool datasets_watch(void)
{
	if (mounts >= 0)
		close(mounts);
	mounts = next()->open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (mounts < 0)
		return false;
	high_move(&mounts);
	return true;
}

/* Makes its parent's versions usable in a child, which has none of the threads that used them. Called under the lock,
 * once, before this process uses a version: a first look may fail, and be repeated with files already open. */
static void datasets_adopt(struct datasets_watch *here)
{
	if (here->is_adopted)
		return;
	here->is_adopted = true;
	for (struct dataset *dataset = datasets; dataset < datasets + dataset_count; dataset++)
		if (dataset->fs)
			handle_forget_calls(dataset->fs);
}

static void datasets_begin(void)
{
	struct datasets_watch *here = datasets_here();

	pthread_mutex_lock(&here->lock);
	datasets_adopt(here);
	if (!here->is_watching && own_have_room() && placeholder_prepare() && datasets_watch()) {
		datasets_load();
		atomic_store(&here->is_watching, true);
	}
	pthread_mutex_unlock(&here->lock);
}

static void datasets_renew(bool has_changed)
{
	struct datasets_watch *here = datasets_here();

	pthread_mutex_lock(&here->lock);
	if (has_changed)
		datasets_load();
	else
		datasets_settle();
	pthread_mutex_unlock(&here->lock);
}

bool datasets_look(void)
{
	struct pollfd fd = { .events = POLLPRI };

	if (!private_is_ours())
		return false;
	if (!atomic_load_explicit(&datasets_here()->is_watching, memory_order_acquire)) {
		datasets_begin();
		return dataset_count;
	}
	fd.fd = mounts;
	if (next()->poll(&fd, 1, 0) != 0)
		datasets_renew(true);
	else if (dataset_count && datasets_clock() - datasets_here()->looked > DATASETS_LOOK)
		datasets_renew(false);
	return dataset_count;
}

void datasets_look_again(void)
{
	if (datasets_look())
		datasets_renew(true);
}

const struct dataset *datasets_next(dev_t device, const struct dataset *last)
{
	const struct dataset *dataset = last ? last + 1 : datasets;

	for (; dataset < datasets + dataset_count; dataset++)
		if (dataset->device == device && dataset->state != DATASET_GONE)
			return dataset;
	return NULL;
}

/* --- the data set of a path --- */

static struct dataset *datasets_end(void)
{
	return datasets + atomic_load_explicit(&dataset_count, memory_order_acquire);
}

static bool dataset_is_served(const struct dataset *dataset)
{
	int state = atomic_load_explicit(&dataset->state, memory_order_acquire);

	return state == DATASET_HERE || state == DATASET_OPEN;
}

/* Returns the rest of a path behind the names of a mountpoint; NULL: it does not begin with them. */
static const char *datasets_behind(const char *path, const char *names, size_t length)
{
	if (strncmp(path, names, length) || path[length] != '/')
		return NULL;
	return path + length + strspn(path + length, "/");
}

struct dataset *datasets_find(const char *path, const char **ret_below)
{
	for (struct dataset *dataset = datasets; dataset < datasets_end(); dataset++) {
		const char *below = datasets_behind(path, dataset->root, dataset->length);

		if (!below || !dataset_is_served(dataset))
			continue;
		*ret_below = below;
		return dataset;
	}
	return NULL;
}

struct dataset *datasets_find_around(int directory, const char *path, uint64_t *ret_inode)
{
	struct statx st;

	if (!datasets_ask(directory, path, &st) || !(st.stx_mask & STATX_MNT_ID))
		return NULL;
	*ret_inode = st.stx_ino;
	for (struct dataset *dataset = datasets; dataset < datasets_end(); dataset++)
		if (atomic_load_explicit(&dataset->mount, memory_order_relaxed) == st.stx_mnt_id &&
		    datasets_is_device(dataset, &st) && dataset_is_served(dataset))
			return dataset;
	return NULL;
}

/* Tries the directory as the parent of each of the mountpoint's last names. */
static const char *dataset_find_below(struct dataset *dataset, int directory, const char *path)
{
	const char *end = dataset->root + dataset->length, *below;
	uint64_t inode;

	for (const char *names = dataset->root; (names = strchr(names, '/'));) {
		names++;
		below = datasets_behind(path, names, (size_t)(end - names));
		if (below && datasets_find_around(directory, names, &inode) == dataset && inode == INODE_ROOT)
			return below;
	}
	return NULL;
}

struct dataset *datasets_find_below(int directory, const char *path, const char **ret_below)
{
	for (struct dataset *dataset = datasets; dataset < datasets_end(); dataset++) {
		const char *below = dataset_find_below(dataset, directory, path);

		if (!below)
			continue;
		*ret_below = below;
		return dataset;
	}
	return NULL;
}

bool datasets_have(dev_t device)
{
	for (const struct dataset *dataset = datasets; dataset < datasets_end(); dataset++)
		if (dataset->device == device)
			return true;
	return false;
}

/* --- opening --- */

struct datasets_opening {
	struct dataset *dataset;
	struct dsfs *fs;
	struct link *link;
	int result;
};

static void dataset_open_now(void *argument)
{
	static const struct dsfs_options options = { .size = sizeof(options), .flags = DSFS_OPEN_DIRECT };
	struct datasets_opening *opening = argument;

	opening->result = dsfs_open(opening->dataset->root, &options, &opening->fs);
	if (opening->result < 0)
		report_refused(opening->dataset->root, dsfs_reason());
}

static void dataset_open(struct dataset *dataset)
{
	struct datasets_opening opening = { .dataset = dataset };
	struct datasets_watch *process = datasets_here();
	int here = DATASET_HERE;

	pthread_mutex_lock(&process->opening);
	if (dataset->state == DATASET_HERE && own_have_room() && roomy_call(dataset_open_now, &opening)) {
		if (opening.result >= 0)
			dataset->fs = opening.fs;
		atomic_compare_exchange_strong(&dataset->state, &here,
					       opening.result < 0 ? DATASET_REFUSED : DATASET_OPEN);
	}
	pthread_mutex_unlock(&process->opening);
	if (settings_mode() == SETTINGS_OFF) /* another thread stopped everything before this one existed */
		datasets_stop();
}

void datasets_stop(void)
{
	struct datasets_watch *here = datasets_here();
	struct dsfs *fs;

	if (!here || !private_is_ours()) /* there are none, or they are the parent's */
		return;
	pthread_mutex_lock(&here->lock);
	datasets_adopt(here);
	pthread_mutex_unlock(&here->lock);
	for (struct dataset *dataset = datasets; dataset < datasets_end(); dataset++) {
		fs = atomic_exchange(&dataset->fs, NULL);
		if (fs)
			handle_end(fs); /* never freed, as a thread may have got the pointer just before */
	}
}

static void dataset_renew(void *argument)
{
	struct datasets_opening *opening = argument;

	opening->result = dsfs_refresh(opening->fs);
}

/* Unchanged programs get only versions that a daemon handed over. */
static struct link *datasets_link(const struct opened *opened)
{
	return ((const struct direct *)opened)->link;
}

static void datasets_reach(void *argument)
{
	struct datasets_opening *opening = argument;

	opening->result = link_goes_on(opening->link) ? 0 : -ENOTCONN;
}

bool datasets_goes_on(const struct opened *opened)
{
	struct datasets_opening opening = { .link = datasets_link(opened) };

	return link_lives(opening.link) || (roomy_call(datasets_reach, &opening) && opening.result == 0);
}

struct opened *datasets_get(struct dataset *dataset)
{
	struct datasets_opening opening = { .dataset = dataset };
	struct opened *opened;

	if (dataset->state == DATASET_HERE)
		dataset_open(dataset);
	if (dataset->state != DATASET_OPEN)
		return NULL;
	opening.fs = dataset->fs;
	opened = opening.fs ? handle_get(opening.fs) : NULL;
	if (!opened)
		return NULL;
	if (link_is_current(datasets_link(opened)))
		return opened;
	handle_put(opened);
	return roomy_call(dataset_renew, &opening) && opening.result >= 0 ? handle_get(opening.fs) : NULL;
}
