/* SPDX-License-Identifier: MIT */
/* A slow device for tests: a FUSE file system that is one file, whose reads take a given time longer than those of the
 * file behind it. The time is latency and no queue: any number of reads wait at once, each for itself. With CHANNELS it
 * is a device that serves so many at a time, in the order in which they came; half of the time of a read is the same
 * for all, and the rest exponentially distributed, as in tests/sim.
 *
 *   slowfs BACKING MOUNTPOINT MICROSECONDS [CONTROL [CHANNELS]]
 *
 * MOUNTPOINT is a file too. Says 'ready' when it serves, and at its end what it did. CONTROL is a file that is looked
 * at every few milliseconds, with one word: 'hang', no read is answered until it says something else; 'eio', all fail;
 * a number, the microseconds from now on; 'count' and a number, it says how many reads were answered. CONTROL.obeyed
 * has the word that it acts on by now. At the end of a hang it says how many reads waited when it began, how many came,
 * and how many of these later than half a second after. */
#define FUSE_USE_VERSION 314
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLOWFS_FOREVER    1e6    /* s */
#define SLOWFS_LATE       500000000 /* ns after which it should be known that it hangs */
#define SLOWFS_LOOK       5000000 /* ns between two looks at the control file */
#define SLOWFS_CHANNELS   64u
#define SLOWFS_BACKGROUND 60000u /* reads at once; the kernel's own limit of 12 would be a queue */

/* A read that is done, but whose time has not come. */
struct slowfs_answer {
	fuse_req_t request;
	int64_t due; /* ns, monotonic */
	ssize_t result;
	struct slowfs_answer *next;
	char bytes[];
};

struct slowfs {
	int fd;
	const char *control; /* its path; NULL: there is none */
	char obeyed[32];     /* the last word that was found there */
	/* ns; mostly the same for all: the first that came is the first that is answered. As what follows under the
	 * lock. */
	int64_t latency, last; /* last: when the last of those that wait is due */
	int64_t free[SLOWFS_CHANNELS]; /* when each channel is */
	unsigned channels;     /* 0: no queue */
	unsigned short random[3];
	uint64_t answered;
	int fails, hangs;
	int64_t hangs_since;
	unsigned hung, came, late; /* reads that waited when it began to hang, that came since, and not at once */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct slowfs_answer *waiting, **end;
	unsigned count, most;
	uint64_t reads, bytes;
	int ending;
};

static int64_t slowfs_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct timespec slowfs_time(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

static void slowfs_sleep(int64_t until)
{
	struct timespec time = slowfs_time(until);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		continue;
}

/* ---- the thread that answers ---- */

/* Waits until an answer is due, before which another one may come that is due earlier. Under the lock. */
static void slowfs_wait(struct slowfs *slowfs)
{
	struct timespec due;

	while (slowfs->waiting ? slowfs->waiting->due > slowfs_now() : !slowfs->ending) {
		due = slowfs_time(slowfs->waiting ? slowfs->waiting->due : INT64_MAX);
		pthread_cond_timedwait(&slowfs->wake, &slowfs->lock, &due);
	}
}

/* NULL: it is over. */
static struct slowfs_answer *slowfs_take(struct slowfs *slowfs)
{
	struct slowfs_answer *answer;

	pthread_mutex_lock(&slowfs->lock);
	slowfs_wait(slowfs);
	answer = slowfs->waiting;
	if (answer && !(slowfs->waiting = answer->next))
		slowfs->end = &slowfs->waiting;
	pthread_mutex_unlock(&slowfs->lock);
	return answer;
}

static void slowfs_reply(struct slowfs *slowfs, struct slowfs_answer *answer)
{
	pthread_mutex_lock(&slowfs->lock); /* first: who has his answer sees it counted */
	while (slowfs->hangs && !slowfs->ending)
		pthread_cond_wait(&slowfs->wake, &slowfs->lock);
	slowfs->count--;
	slowfs->answered++;
	pthread_mutex_unlock(&slowfs->lock);
	if (answer->result < 0)
		fuse_reply_err(answer->request, (int)-answer->result);
	else
		fuse_reply_buf(answer->request, answer->bytes, (size_t)answer->result);
	free(answer);
}

static void *slowfs_main(void *argument)
{
	struct slowfs *slowfs = argument;
	struct slowfs_answer *answer;

	prctl(PR_SET_TIMERSLACK, 1ul);
	while ((answer = slowfs_take(slowfs)))
		slowfs_reply(slowfs, answer);
	return NULL;
}

/* ---- the thread that looks at what is wanted ---- */

/* Under the lock. */
static void slowfs_hang(struct slowfs *slowfs, int hangs)
{
	if (slowfs->hangs == hangs)
		return;
	slowfs->hangs = hangs;
	if (hangs) {
		slowfs->hung = slowfs->count;
		slowfs->came = slowfs->late = 0;
		slowfs->hangs_since = slowfs_now();
	} else {
		printf("hung=%u came=%u late=%u\n", slowfs->hung, slowfs->came, slowfs->late);
		fflush(stdout);
	}
	pthread_cond_broadcast(&slowfs->wake);
}

static void slowfs_do(struct slowfs *slowfs, const char *word)
{
	pthread_mutex_lock(&slowfs->lock);
	slowfs_hang(slowfs, !strcmp(word, "hang"));
	slowfs->fails = !strcmp(word, "eio");
	if (word[0] >= '0' && word[0] <= '9')
		slowfs->latency = strtoll(word, NULL, 10) * 1000;
	if (!strncmp(word, "count", 5)) {
		printf("answered=%" PRIu64 "\n", slowfs->answered);
		fflush(stdout);
	}
	pthread_mutex_unlock(&slowfs->lock);
}

static void slowfs_say_obeyed(const struct slowfs *slowfs)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s.obeyed", slowfs->control);
	file = fopen(path, "w");
	if (!file || fputs(slowfs->obeyed, file) < 0 || fclose(file) != 0)
		perror(path);
}

/* An empty file is one that is being written. */
static void slowfs_obey(struct slowfs *slowfs)
{
	FILE *control = fopen(slowfs->control, "r");
	char word[sizeof(slowfs->obeyed)] = "";

	if (!control)
		return;
	if (fscanf(control, "%31s", word) == 1 && strcmp(word, slowfs->obeyed) != 0) {
		slowfs_do(slowfs, word);
		strcpy(slowfs->obeyed, word);
		slowfs_say_obeyed(slowfs);
	}
	fclose(control);
}

static void *slowfs_watch(void *argument)
{
	struct slowfs *slowfs = argument;
	int is_over = 0;

	while (slowfs->control && !is_over) {
		slowfs_obey(slowfs);
		slowfs_sleep(slowfs_now() + SLOWFS_LOOK);
		pthread_mutex_lock(&slowfs->lock);
		is_over = slowfs->ending;
		pthread_mutex_unlock(&slowfs->lock);
	}
	return NULL;
}

/* ---- requests ---- */

static void slowfs_init(void *argument, struct fuse_conn_info *connection)
{
	(void)argument;
	connection->want |= connection->capable & FUSE_CAP_ASYNC_DIO;
	connection->max_background = SLOWFS_BACKGROUND;
	connection->congestion_threshold = SLOWFS_BACKGROUND;
}

static void slowfs_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *file)
{
	const struct slowfs *slowfs = fuse_req_userdata(request);
	struct stat st;

	(void)file;
	if (fstat(slowfs->fd, &st) < 0) {
		fuse_reply_err(request, errno);
		return;
	}
	st.st_ino = node;
	fuse_reply_attr(request, &st, SLOWFS_FOREVER);
}

/* Past the page cache, whoever opens it: a device has none. */
static void slowfs_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *file)
{
	(void)node;
	file->direct_io = 1;
	fuse_reply_open(request, file);
}

/* Puts it where it is due. Under the lock. */
static void slowfs_put(struct slowfs *slowfs, struct slowfs_answer *answer)
{
	struct slowfs_answer **at = slowfs->end;

	if (slowfs->waiting && answer->due < slowfs->last)
		for (at = &slowfs->waiting; (*at)->due <= answer->due;)
			at = &(*at)->next;
	else
		slowfs->last = answer->due;
	answer->next = *at;
	*at = answer;
	if (!answer->next)
		slowfs->end = &answer->next;
}

static void slowfs_add(struct slowfs *slowfs, struct slowfs_answer *answer)
{
	pthread_mutex_lock(&slowfs->lock);
	slowfs_put(slowfs, answer);
	slowfs->reads++;
	slowfs->came += slowfs->hangs != 0;
	slowfs->late += slowfs->hangs && slowfs_now() - slowfs->hangs_since > SLOWFS_LATE;
	slowfs->bytes += answer->result > 0 ? (uint64_t)answer->result : 0;
	if (++slowfs->count > slowfs->most)
		slowfs->most = slowfs->count;
	pthread_cond_signal(&slowfs->wake);
	pthread_mutex_unlock(&slowfs->lock);
}

/* When the first free channel has served a read that came then. Under the lock. */
static int64_t slowfs_serves(struct slowfs *slowfs, int64_t came)
{
	double half = (double)slowfs->latency / 2;
	int64_t *channel = slowfs->free;

	for (unsigned i = 1; i < slowfs->channels; i++)
		if (slowfs->free[i] < *channel)
			channel = &slowfs->free[i];
	*channel = (*channel > came ? *channel : came) + (int64_t)(half - half * log1p(-erand48(slowfs->random)));
	return *channel;
}

/* Whether a read that came then is to fail, and when it is due. */
static int slowfs_fails(struct slowfs *slowfs, int64_t came, int64_t *ret_due)
{
	int fails;

	pthread_mutex_lock(&slowfs->lock);
	fails = slowfs->fails;
	*ret_due = slowfs->channels ? slowfs_serves(slowfs, came) : came + slowfs->latency;
	pthread_mutex_unlock(&slowfs->lock);
	return fails;
}

static void slowfs_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset, struct fuse_file_info *file)
{
	struct slowfs *slowfs = fuse_req_userdata(request);
	struct slowfs_answer *answer = malloc(sizeof(*answer) + size);
	int64_t came = slowfs_now();

	(void)node;
	(void)file;
	if (!answer) {
		fuse_reply_err(request, ENOMEM);
		return;
	}
	*answer = (struct slowfs_answer){ .request = request };
	if (slowfs_fails(slowfs, came, &answer->due))
		answer->result = -EIO;
	else if ((answer->result = pread(slowfs->fd, answer->bytes, size, offset)) < 0)
		answer->result = -errno;
	slowfs_add(slowfs, answer);
}

static const struct fuse_lowlevel_ops slowfs_ops = {
	.init = slowfs_init,
	.getattr = slowfs_getattr,
	.open = slowfs_open,
	.read = slowfs_read,
};

/* ---- its life ---- */

static int slowfs_serve(struct slowfs *slowfs, struct fuse_session *session)
{
	pthread_t thread, watch;
	int r = pthread_create(&thread, NULL, slowfs_main, slowfs);

	if (!r)
		r = pthread_create(&watch, NULL, slowfs_watch, slowfs);
	if (r) {
		fprintf(stderr, "slowfs: cannot start a thread: %s\n", strerror(r));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	r = fuse_session_loop(session);
	pthread_mutex_lock(&slowfs->lock);
	slowfs->ending = 1;
	pthread_cond_broadcast(&slowfs->wake);
	pthread_mutex_unlock(&slowfs->lock);
	pthread_join(thread, NULL);
	pthread_join(watch, NULL);
	printf("reads=%" PRIu64 " bytes=%" PRIu64 " at_once=%u\n", slowfs->reads, slowfs->bytes, slowfs->most);
	return r < 0;
}

static int slowfs_mount(struct slowfs *slowfs, const char *mountpoint)
{
	char *words[] = { "slowfs", "-o", "ro,fsname=slowfs", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, words);
	struct fuse_session *session = fuse_session_new(&args, &slowfs_ops, sizeof(slowfs_ops), slowfs);
	int status = 1;

	fuse_opt_free_args(&args); /* libfuse made a copy of them its own */
	if (!session)
		return 1;
	if (fuse_set_signal_handlers(session) == 0) {
		if (fuse_session_mount(session, mountpoint) == 0) {
			status = slowfs_serve(slowfs, session);
			fuse_session_unmount(session);
		}
		fuse_remove_signal_handlers(session);
	}
	fuse_session_destroy(session);
	return status;
}

int main(int argc, char **argv)
{
	struct slowfs slowfs = { .end = &slowfs.waiting };
	pthread_condattr_t clock;

	if (argc > 5)
		slowfs.channels = (unsigned)strtoul(argv[5], NULL, 10);
	if (argc < 4 || argc > 6 || slowfs.channels > SLOWFS_CHANNELS) {
		fputs("Usage: slowfs BACKING MOUNTPOINT MICROSECONDS [CONTROL [CHANNELS]]\n", stderr);
		return 2;
	}
	slowfs.latency = strtoll(argv[3], NULL, 10) * 1000;
	slowfs.control = argc > 4 ? argv[4] : NULL;
	slowfs.fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (slowfs.fd < 0) {
		perror(argv[1]);
		return 1;
	}
	pthread_mutex_init(&slowfs.lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&slowfs.wake, &clock);
	pthread_condattr_destroy(&clock);
	return slowfs_mount(&slowfs, argv[2]);
}
