/* SPDX-License-Identifier: MIT */
/* Queues lookups and listings, and carries them out on a thread of its own. */
#include "serve/dotdir/visits.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/thread/thread.h"
#include "datasetfs/control.h"
#include "serve/control/listing.h"
#include "serve/dotdir/describe.h"
#include "serve/dotdir/facts.h"
#include "serve/opening/mounted.h"
#include "serve/opening/open.h"
#include "serve/request/caller.h"
#include "serve/request/dirlist.h"
#include "serve/request/node.h"
#include "serve/request/reply.h"
#include "serve/serve.h"
#include "serve/successor/crash.h"

#define VISITS_MAX   64u /* limit of visits, waiting and under way */
#define VISITS_VALID 9u  /* entry timeout of a label in seconds, as it may be published anew */
#define VISITS_SHORT 1u  /* the same if the volume was not read; both together are 10 */

/* A request that waits for the thread. Its worker makes it, the thread owns it until it posts `task` to the worker. */
struct visit {
	struct worker_task task;
	struct worker *worker;
	struct channel_request *request;
	struct recovery_request in_hand; /* the same, as the record has it */
	enum { VISIT_LOOKUP, VISIT_LIST, VISIT_DESCRIBE, VISIT_TELL } kind;
	char label[DSFS_LABEL_MAX + 1];  /* label to look up */
	struct generation *generation; /* version that was found, pinned */
	struct fuse_entry_out entry;
	struct dirlist list;
	char *text;     /* result of VISIT_DESCRIBE, and who answers with it: */
	void (*answer)(struct worker *worker, struct channel_request *request, char *text, size_t length);
	size_t length;  /* of the text, or of the answer of VISIT_TELL */
	uint64_t after; /* of VISIT_TELL, see struct dsfs_version_list */
	int result;
	struct visit *next;
};

struct visits {
	struct serve *serve;
	struct thread thread;
	pthread_cond_t wake;
	pthread_mutex_t lock; /* protects the fields below, up to `ending` */
	struct visit *waiting, **end;
	const struct visit *doing; /* taken from the queue and not finished; NULL: none */
	unsigned count;            /* visits waiting and under way */
	bool ending;
	unsigned most, most_of_user; /* limits of visits: for all, for a user who may not switch the mount; constant */
	/* thread only, but served is under the lock: */
	struct visitor_failures failures;
	uint32_t served; /* user of the last visit */
};

/* ---- the thread ---- */

/* Logs the reason, as the caller sees only an errno, and returns the code to answer with. A device's ENODATA (a bad
 * block) and ENXIO (it is gone) become EIO, as for a read: in replies they would mean no attribute and no data. */
static int visits_report(int code, const struct error *err, const struct visit *visit)
{
	static struct log_limit limit = { .burst = 10 };
	unsigned suppressed;

	if (code < 0 && code != -ENOENT && log_allow(&limit, &suppressed))
		log_err("cannot %s '" DSFS_CONTROL_FOLDER "/%s%s%s': %s, suppressed=%u",
			visit->kind == VISIT_LIST || visit->kind == VISIT_TELL ? "list" : "open",
			visit->kind == VISIT_DESCRIBE ? DSFS_CONTROL_CATALOGUE : DSFS_CONTROL_VERSIONS,
			visit->kind == VISIT_LOOKUP ? "/" : "", visit->label, err->reason, suppressed);
	return code == -ENODATA || code == -ENXIO ? -EIO : code;
}

static void visits_report_unsure(const struct error *err, const char *label)
{
	static struct log_limit limit = { .burst = 2 };
	unsigned suppressed;

	if (log_allow(&limit, &suppressed))
		log_warn("cannot check whether '" DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_VERSIONS
			 "/%s' is still the open version: %s, ignoring, suppressed=%u", label, err->reason, suppressed);
}

/* Makes the answer to a LOOKUP of a label. valid: entry timeout in seconds. */
static int visits_entry(struct generation *generation, unsigned valid, struct fuse_entry_out *ret, struct error *err)
{
	struct inode root;
	int r = inode_get(generation->opened.index, INODE_ROOT, &root, err);

	if (r < 0)
		return r;
	node_entry(generation, generation_side_root(generation), &root, ret);
	ret->entry_valid = valid;
	return 0;
}

static int visits_do_lookup(struct visits *visits, struct visit *visit)
{
	struct visitor visitor = { .uid = caller_share(visits->serve, visit->request), .failures = &visits->failures };
	unsigned valid = VISITS_VALID;
	struct error err = { 0 };
	int r;

	visitor.may_switch = caller_check(visits->serve, visit->request, &err) == 0;
	err = (struct error){ 0 };
	r = open_visit(visits->serve, visit->label, &visitor, &visit->generation, &err);
	if (r < 0)
		return visits_report(r, &err, visit);
	if (r > 0) {
		visits_report_unsure(&err, visit->label);
		valid = VISITS_SHORT;
	}
	r = visits_entry(visit->generation, valid, &visit->entry, &err);
	if (r < 0)
		generations_unpin(&visits->serve->generations, visit->generation, false);
	else /* Orders our loads before the version's end: reply and FORGET are ordered by the kernel alone. */
		atomic_fetch_add(&visit->generation->lookups, 0);
	return visits_report(r, &err, visit);
}

static int visits_do_list(struct visits *visits, struct visit *visit)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	struct error err = { 0 };
	uint64_t ino;
	bool room;
	int r = mounted_read(visits->serve, &super, &catalogue, &err);

	if (r < 0) {
		catalogue_free(&catalogue);
		return visits_report(r, &err, visit);
	}
	dirlist_begin(&visit->list, visit->request);
	room = dirlist_add_dots(&visit->list, NODE_VERSIONS, NODE_ROOT);
	for (uint64_t i = visit->list.first; i < catalogue.version_count && room; i++) {
		ino = catalogue.versions[i].sequence << DSFS_ORDINAL_BITS | INODE_ROOT;
		room = dirlist_add(&visit->list, i, ino, DT_DIR, span_text(catalogue.versions[i].label), NULL);
	}
	catalogue_free(&catalogue);
	return 0;
}

static int visits_do_describe(struct visits *visits, struct visit *visit)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	struct error err = { 0 };
	int r = mounted_read(visits->serve, &super, &catalogue, &err);

	if (r == 0 && describe_catalogue(&catalogue, &visit->text, &visit->length) < 0)
		r = error_no_memory(&err);
	catalogue_free(&catalogue);
	return visits_report(r, &err, visit);
}

static int visits_do_tell(struct visits *visits, struct visit *visit)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	struct error err = { 0 };
	int r = mounted_read(visits->serve, &super, &catalogue, &err);

	if (r == 0)
		visit->length = facts_list(&catalogue, visit->after, visit->request);
	catalogue_free(&catalogue);
	return visits_report(r, &err, visit);
}

static void visits_do(struct visits *visits, struct visit *visit)
{
	static int (*const todo[])(struct visits *visits, struct visit *visit) = {
		[VISIT_LOOKUP] = visits_do_lookup,
		[VISIT_LIST] = visits_do_list,
		[VISIT_DESCRIBE] = visits_do_describe,
		[VISIT_TELL] = visits_do_tell,
	};
	const struct serve *serve = visits->serve;
	unsigned hand = serve->worker_count + RECOVERY_VISITS;

	recovery_take(serve->recovery, hand, &visit->in_hand);
	visit->result = caller_is_gone(visit->request) ? -EINTR : todo[visit->kind](visits, visit);
	recovery_leave(serve->recovery, hand);
	pthread_mutex_lock(&visits->lock);
	visits->count--;
	visits->doing = NULL;
	pthread_mutex_unlock(&visits->lock);
	worker_post(visit->worker, &visit->task); /* the worker owns the visit now */
}

/* Takes the first visit of another user than the last one, or else the first, out of the queue, so that no user waits
 * for all visits of another. The caller holds the lock. */
static struct visit *visits_pick(struct visits *visits)
{
	struct visit **at = &visits->waiting, *visit;

	while (*at && caller_share(visits->serve, (*at)->request) == visits->served)
		at = &(*at)->next;
	if (!*at)
		at = &visits->waiting;
	visit = *at;
	if (visit && !(*at = visit->next))
		visits->end = at;
	return visit;
}

/* Waits for the next visit. NULL: the mount ends. */
static struct visit *visits_next(struct visits *visits)
{
	struct visit *visit;

	pthread_mutex_lock(&visits->lock);
	while (!visits->waiting && !visits->ending)
		pthread_cond_wait(&visits->wake, &visits->lock);
	visit = visits_pick(visits);
	visits->doing = visit;
	if (visit)
		visits->served = caller_share(visits->serve, visit->request);
	pthread_mutex_unlock(&visits->lock);
	return visit;
}

static void visits_main(void *argument)
{
	struct visits *visits = argument;
	struct visit *visit;

	crash_name(visits->serve->worker_count + RECOVERY_VISITS);
	while ((visit = visits_next(visits)))
		visits_do(visits, visit);
}

/* The limit of visits: all that the workers may have waiting. With the ring the last worker gets none. */
static unsigned visits_room(const struct serve *serve)
{
	unsigned room = (serve->worker_count - serve->machine.ring) * (serve->machine.jobs - 1);

	return room < VISITS_MAX ? room : VISITS_MAX;
}

/* The limit for one user: half of all, but not all of one worker's, as over the ring no other one answers its CPU. */
static unsigned visits_room_of_user(const struct serve *serve)
{
	unsigned half = visits_room(serve) / 2, worker = serve->machine.jobs > 4 ? serve->machine.jobs - 2 : 2;

	return half < worker ? half : worker;
}

int visits_start(struct serve *serve, struct error *err)
{
	struct visits *visits = calloc(1, sizeof(*visits));
	const struct thread_setup setup = { .run = visits_main, .argument = visits, .what = "the thread of visits" };

	if (!visits)
		return error_no_memory(err);
	visits->serve = serve;
	visits->end = &visits->waiting;
	visits->most = visits_room(serve);
	visits->most_of_user = visits_room_of_user(serve);
	pthread_mutex_init(&visits->lock, NULL);
	pthread_cond_init(&visits->wake, NULL);
	serve->visits = visits;
	return thread_start(&visits->thread, 1, &setup, err);
}

void visits_stop(struct visits *visits)
{
	if (!visits)
		return;
	pthread_mutex_lock(&visits->lock);
	visits->ending = true;
	pthread_cond_signal(&visits->wake);
	pthread_mutex_unlock(&visits->lock);
	thread_join(&visits->thread);
}

void visits_free(struct visits *visits)
{
	if (!visits)
		return;
	pthread_cond_destroy(&visits->wake);
	pthread_mutex_destroy(&visits->lock);
	free(visits);
}

/* ---- the worker's side ---- */

static void visits_end(struct visit *visit)
{
	visit->worker->waiting.visits--;
	free(visit);
}

static void visits_answer_lookup(struct worker_task *task)
{
	struct visit *visit = (struct visit *)task; /* its first field */
	bool is_given;

	if (visit->result < 0) {
		reply_error(visit->worker, visit->request, visit->result);
	} else {
		is_given = reply_data(visit->worker, visit->request, &visit->entry, sizeof(visit->entry));
		generations_unpin(&visit->worker->serve->generations, visit->generation, is_given);
	}
	visits_end(visit);
}

static void visits_answer_list(struct worker_task *task)
{
	struct visit *visit = (struct visit *)task; /* its first field */

	if (visit->result < 0)
		reply_error(visit->worker, visit->request, visit->result);
	else if (reply_data(visit->worker, visit->request, visit->request->payload, visit->list.used))
		listing_answered(visit->worker->serve);
	visits_end(visit);
}

static void visits_answer_describe(struct worker_task *task)
{
	struct visit *visit = (struct visit *)task; /* its first field */

	if (visit->result < 0)
		reply_error(visit->worker, visit->request, visit->result);
	else
		visit->answer(visit->worker, visit->request, visit->text, visit->length);
	visits_end(visit);
}

static void visits_answer_tell(struct worker_task *task)
{
	struct visit *visit = (struct visit *)task; /* its first field */

	if (visit->result < 0)
		reply_error(visit->worker, visit->request, visit->result);
	else
		reply_data(visit->worker, visit->request, visit->request->payload, visit->length);
	visits_end(visit);
}

static bool visits_looks_up(const struct visit *visit, const char *label)
{
	return visit && visit->kind == VISIT_LOOKUP && !strcmp(visit->label, label);
}

/* Whether a lookup of the label is waiting or under way. The caller holds the lock. */
static bool visits_is_asked(const struct visits *visits, const char *label)
{
	const struct visit *visit = visits->waiting;

	while (visit && !visits_looks_up(visit, label))
		visit = visit->next;
	return visit || visits_looks_up(visits->doing, label);
}

/* The number of a user's visits, waiting and under way. The caller holds the lock. */
static unsigned visits_of_user(const struct visits *visits, uint32_t uid)
{
	unsigned count = visits->doing && caller_share(visits->serve, visits->doing->request) == uid;

	for (const struct visit *visit = visits->waiting; visit; visit = visit->next)
		count += caller_share(visits->serve, visit->request) == uid;
	return count;
}

/* Queues a visit if a worker keeps a slot for a command and one for other requests, and if its user has fewer than
 * most_of_user visits. once: a lookup is refused if one of the same label is waiting or under way. */
static bool visits_take(struct visits *visits, struct visit *visit, unsigned most_of_user, bool once)
{
	struct worker *worker = visit->worker;
	bool taken;

	pthread_mutex_lock(&visits->lock);
	taken = visits->count < visits->most && worker_jobs(worker) + 1 < visits->serve->machine.jobs &&
		visits_of_user(visits, caller_share(visits->serve, visit->request)) < most_of_user &&
		!(once && visits_is_asked(visits, visit->label));
	if (taken) {
		visits->count++;
		worker->waiting.visits++;
		list_append(visits->end, visit, next);
		pthread_cond_signal(&visits->wake);
	}
	pthread_mutex_unlock(&visits->lock);
	return taken;
}

/* Makes a visit. NULL: there is no memory, and the request was answered. */
static struct visit *visits_new(struct worker *worker, struct channel_request *request,
				void (*answer)(struct worker_task *task))
{
	struct visit *visit = calloc(1, sizeof(*visit));

	if (!visit) {
		reply_error(worker, request, -ENOMEM);
		return NULL;
	}
	visit->task.run = answer;
	visit->worker = worker;
	visit->request = request;
	visit->in_hand = recovery_in_hand(worker->serve->recovery, worker->number);
	return visit;
}

/* Answers a lookup without reading the volume. False: no version with that label is open, and nothing was answered. */
static bool visits_lookup_open(struct worker *worker, struct channel_request *request)
{
	struct serve *serve = worker->serve;
	struct generation *generation = generations_by_label(&serve->generations, request->wire.name);
	struct fuse_entry_out entry;
	struct error err = { 0 };

	if (!generation || visits_entry(generation, VISITS_SHORT, &entry, &err) < 0 ||
	    !generations_hold(generation))
		return false;
	if (!reply_data(worker, request, &entry, sizeof(entry)))
		generations_forget(&serve->generations, generation, 1);
	return true;
}

static void visits_submit(struct visit *visit)
{
	const struct serve *serve = visit->worker->serve;
	struct visits *visits = serve->visits;
	struct error ignored;

	if (visits_take(visits, visit, visits->most_of_user, false) ||
	    (caller_check(serve, visit->request, &ignored) == 0 && visits_take(visits, visit, visits->most, false)))
		return;
	reply_error(visit->worker, visit->request, -EBUSY);
	free(visit);
}

void visits_lookup(struct worker *worker, struct channel_request *request)
{
	struct visit *visit;

	if (request->wire.name_length > DSFS_LABEL_MAX) {
		reply_error(worker, request, -ENOENT);
		return;
	}
	visit = visits_new(worker, request, visits_answer_lookup);
	if (!visit)
		return;
	memcpy(visit->label, request->wire.name, request->wire.name_length);
	if (visits_take(worker->serve->visits, visit, worker->serve->visits->most_of_user, true))
		return;
	/* Only one visitor of an open version waits for the volume, and none if too many wait already. */
	if (visits_lookup_open(worker, request))
		free(visit);
	else
		visits_submit(visit);
}

void visits_list(struct worker *worker, struct channel_request *request)
{
	struct visit *visit = visits_new(worker, request, visits_answer_list);

	if (!visit)
		return;
	visit->kind = VISIT_LIST;
	visits_submit(visit);
}

void visits_describe(struct worker *worker, struct channel_request *request,
		     void (*answer)(struct worker *worker, struct channel_request *request, char *text, size_t length))
{
	struct visit *visit = visits_new(worker, request, visits_answer_describe);

	if (!visit)
		return;
	visit->kind = VISIT_DESCRIBE;
	visit->answer = answer;
	visits_submit(visit);
}

void visits_tell(struct worker *worker, struct channel_request *request)
{
	struct visit *visit;
	uint64_t after;

	if (!facts_take_list(request, &after)) {
		reply_error(worker, request, -ENOTTY);
		return;
	}
	visit = visits_new(worker, request, visits_answer_tell);
	if (!visit)
		return;
	visit->kind = VISIT_TELL;
	visit->after = after;
	visits_submit(visit);
}
