/* SPDX-License-Identifier: MIT */
/* Uses the seals of memfd_create(2), and the life of one thread: when it ends, even by SIGKILL, the kernel marks
 * that in the shared page. */
#include "client/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdname.h"
#include "base/memory_file.h"
#include "base/thread/life.h"

#define STATE_MAGIC UINT64_C(0x3145544154534644) /* "DFSTATE1" */
#define STATE_SIZE  4096u
#define STATE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

/* The contents of the memfd. Later releases add fields at the end. */
struct state_page {
	uint64_t magic;
	_Atomic uint64_t key;    /* of the version that is served; 0: none any more */
	_Atomic uint64_t volume; /* how often it was opened again */
	struct life life;        /* of the thread that stands for the daemon */
	struct state_terms terms;
	_Atomic uint32_t sharers;
};

struct state {
	int fd; /* O_RDONLY, for clients */
	struct state_page *page;
	struct life_holder holder;
};

/* ---- the daemon's ---- */

/* Opens a read-only descriptor, because a client could make another's mapping writable through a writable one. */
static int state_seal(int fd, int *ret_fd, struct error *err)
{
	if (fcntl(fd, F_ADD_SEALS, STATE_SEALS) < 0)
		return error_errno(err, "cannot seal the state");
	*ret_fd = fdname_reopen(fd, O_RDONLY);
	return *ret_fd < 0 ? error_errno(err, "cannot open the state again") : 0;
}

int state_new(const struct state_terms *terms, struct state **ret, struct error *err)
{
	auto_close int fd = -1;
	auto_free struct state *state = calloc(1, sizeof(*state));
	int r;

	if (!state)
		return error_no_memory(err);
	r = memory_file_make("datasetfs-state", STATE_SIZE, &fd, err);
	if (r < 0)
		return error_wrap(err, r, "the state");
	state->page = mmap(NULL, STATE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (state->page == MAP_FAILED)
		return error_errno(err, "cannot map the state");
	state->page->magic = STATE_MAGIC;
	state->page->terms = *terms;
	state->page->sharers = 1;
	r = state_seal(fd, &state->fd, err);
	if (r < 0) {
		munmap(state->page, STATE_SIZE);
		return r;
	}
	*ret = take_ptr(&state);
	return 0;
}

void state_free(struct state *state)
{
	if (!state)
		return;
	state_publish(state, 0);
	munmap(state->page, STATE_SIZE);
	close(state->fd);
	free(state);
}

int state_fd(const struct state *state)
{
	return state->fd;
}

void state_live(struct state *state)
{
	life_begin(&state->page->life, &state->holder);
}

void state_publish(struct state *state, uint64_t key)
{
	atomic_store(&state->page->key, key);
}

void state_divide(struct state *state, uint32_t sharers)
{
	atomic_store(&state->page->sharers, sharers);
}

void state_renew(struct state *state)
{
	atomic_fetch_add(&state->page->volume, 1);
}

uint64_t state_volume(const struct state *state)
{
	return atomic_load(&state->page->volume);
}

/* ---- the client's ---- */

static const struct state_page *state_page_of(const struct state_view *view)
{
	return (const struct state_page *)view;
}

static int state_check(int fd, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & STATE_SEALS) != STATE_SEALS)
		return error_set(err, -EPROTO, "the state has the seals %#x, expected %#x", seals < 0 ? 0 : seals,
				 STATE_SEALS);
	if (fstat(fd, &st) < 0)
		return error_errno(err, "the state");
	if (st.st_size < (off_t)STATE_SIZE)
		return error_set(err, -EPROTO, "the state has %lld bytes, expected %u", (long long)st.st_size,
				 STATE_SIZE);
	return 0;
}

int state_view_open(int fd, const struct state_view **ret, struct error *err)
{
	const struct state_page *page;
	int r = state_check(fd, err);

	if (r < 0)
		return r;
	page = mmap(NULL, STATE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return error_errno(err, "cannot map the state");
	if (page->magic != STATE_MAGIC) {
		r = error_set(err, -EPROTO, "the state begins with %#llx, expected %#llx",
			      (unsigned long long)page->magic, (unsigned long long)STATE_MAGIC);
		munmap((void *)(uintptr_t)page, STATE_SIZE);
		return r;
	}
	*ret = (const struct state_view *)page;
	return 0;
}

void state_view_close(const struct state_view *view)
{
	if (view)
		munmap((void *)(uintptr_t)view, STATE_SIZE);
}

int state_view_replace(const struct state_view *view, int fd, struct error *err)
{
	const struct state_view *next = NULL;
	int r = state_view_open(fd, &next, err);

	if (r < 0)
		return r;
	state_view_close(next); /* it was checked */
	/* The kernel puts one page in place of the other at once. ThreadSanitizer would take mmap(3) for a write that
	 * readers race with. */
	if (syscall(SYS_mmap, view, (long)STATE_SIZE, (long)PROT_READ, (long)(MAP_SHARED | MAP_FIXED), (long)fd,
		    0L) < 0)
		return error_errno(err, "cannot map the state");
	return 0;
}

uint64_t state_view_key(const struct state_view *view)
{
	const struct state_page *page = state_page_of(view);

	if (!life_goes_on(&page->life))
		return 0;
	return atomic_load_explicit(&page->key, memory_order_acquire);
}

void state_view_terms(const struct state_view *view, struct state_terms *ret)
{
	*ret = state_page_of(view)->terms;
}

uint32_t state_view_sharers(const struct state_view *view)
{
	return atomic_load_explicit(&state_page_of(view)->sharers, memory_order_relaxed);
}

uint64_t state_view_volume(const struct state_view *view)
{
	return atomic_load_explicit(&state_page_of(view)->volume, memory_order_acquire);
}
