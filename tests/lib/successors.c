/* SPDX-License-Identifier: MIT */
/* A mount of the files 0, 1, … of a folder whose servers die and are replaced, for tests/fuse/resend.sh, with what
 * src/fuse/ has for that. The first process mounts, holds all descriptors and forks the servers, one after the other.
 * Each answers some READs, keeps the next ones and kills itself with them in hand. The last one serves until the end,
 * or dies as well, and then the first process aborts the connection.
 *
 * usage: successors FOLDER MOUNTPOINT LIVES serve|abort
 * It prints "ready", and at the end what happened: deaths; held, the READs in hand at deaths; resent, the READs that
 * came again; doubled, the answers that were refused as their request had been sent again; wrong, whatever should not
 * be: an untrue answer about a known node, an answer that should have been refused. File 0 must be open from when it
 * says "ready" until the last server is there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread/thread.h"
#include "fuse/abort.h"
#include "fuse/channel.h"
#include "fuse/init.h"
#include "fuse/known.h"
#include "fuse/mount.h"
#include "fuse/resend.h"

#define CHANNELS   2u
#define SLOTS      16u
#define ANSWERS    8u /* READs that a server answers before it keeps some */
#define HOLD       2u /* READs that it keeps: its death */
#define FIRST_NODE (FUSE_ROOT_ID + 1)
#define FOREVER    1000000000u

/* In memory that all processes share. */
struct happened {
	_Atomic unsigned deaths, held, resent, doubled, wrong;
};

struct successors {
	const char *mountpoint;
	struct mount *mounted; /* the first process's */
	struct mount *mount;   /* the server's, adopted */
	struct mount_kept kept;
	struct happened *happened;
	int folder, abort;
	int clones[CHANNELS];
	bool is_first, dies; /* this server */
	_Atomic unsigned reads, kept_reads;
	atomic_flag has_doubled;
	struct thread threads[CHANNELS];
	struct channel *channels[CHANNELS];
	_Atomic unsigned next; /* channel of the next thread */
};

static _Noreturn void successors_fail(const struct error *err)
{
	fprintf(stderr, "successors: %s\n", err->reason);
	exit(1);
}

static _Noreturn void successors_fail_errno(const char *what)
{
	struct error err = { 0 };

	error_errno(&err, "%s", what);
	successors_fail(&err);
}

/* ---- requests ---- */

static bool successors_answer(struct channel_request *request, int error, const void *data, size_t length)
{
	struct successors *all = request->channel->context;
	bool taken = channel_answer(request, error, data, length);

	if (!taken)
		atomic_fetch_add(&all->happened->doubled, 1);
	channel_release(request);
	return taken;
}

static int successors_attributes(const struct successors *all, uint64_t node, struct fuse_attr *ret)
{
	char name[24];
	struct stat st;

	*ret = (struct fuse_attr){ .ino = node, .mode = S_IFDIR | 0755, .nlink = 2, .blksize = 4096 };
	if (node == FUSE_ROOT_ID)
		return 0;
	snprintf(name, sizeof(name), "%llu", (unsigned long long)(node - FIRST_NODE));
	if (fstatat(all->folder, name, &st, 0) < 0)
		return -errno;
	ret->mode = S_IFREG | 0644;
	ret->nlink = 1;
	ret->size = (uint64_t)st.st_size;
	return 0;
}

static void successors_lookup(void *context, struct channel_request *request)
{
	struct fuse_entry_out out = { .attr_valid = FOREVER, .entry_valid = FOREVER };
	char *end;
	int r;

	out.nodeid = FIRST_NODE + strtoull(request->wire.name, &end, 10);
	r = *end ? -ENOENT : successors_attributes(context, out.nodeid, &out.attr);
	successors_answer(request, r, &out, r < 0 ? 0 : sizeof(out));
}

static void successors_getattr(void *context, struct channel_request *request)
{
	struct fuse_attr_out out = { .attr_valid = FOREVER };
	int r = successors_attributes(context, request->wire.nodeid, &out.attr);

	successors_answer(request, r, &out, r < 0 ? 0 : sizeof(out));
}

/* The first READ of the first server is in its hand while it has all sent again: this answer must come to nothing. No
 * other server does so, as it would bring back what its takeover should have. */
static void successors_double(struct successors *all, struct channel_request *request)
{
	struct error err = { 0 };

	if (resend_all(mount_fd(all->mount), &err) < 0)
		successors_fail(&err);
	if (successors_answer(request, -EIO, NULL, 0))
		atomic_fetch_add(&all->happened->wrong, 1);
}

static void successors_read(void *context, struct channel_request *request)
{
	struct successors *all = context;
	size_t size = request->wire.in.read.size;
	char name[24];
	ssize_t n = -1;
	int fd;

	if (request->wire.unique & WIRE_UNIQUE_RESEND)
		atomic_fetch_add(&all->happened->resent, 1);
	else if (all->is_first && !atomic_flag_test_and_set(&all->has_doubled))
		return successors_double(all, request);
	if (all->dies && atomic_fetch_add(&all->reads, 1) >= ANSWERS) {
		atomic_fetch_add(&all->happened->held, 1);
		if (atomic_fetch_add(&all->kept_reads, 1) + 1 == HOLD)
			kill(getpid(), SIGKILL);
		return;
	}
	snprintf(name, sizeof(name), "%llu", (unsigned long long)(request->wire.nodeid - FIRST_NODE));
	fd = openat(all->folder, name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = pread(fd, request->payload, size < request->payload_size ? size : request->payload_size,
			  (off_t)request->wire.in.read.offset);
		close(fd);
	}
	successors_answer(request, n < 0 ? -EIO : 0, request->payload, n < 0 ? 0 : (size_t)n);
}

static void successors_handle(void *context, struct channel_request *request)
{
	switch (request->wire.opcode) {
	case FUSE_LOOKUP:
		successors_lookup(context, request);
		break;
	case FUSE_GETATTR:
		successors_getattr(context, request);
		break;
	case FUSE_READ:
		successors_read(context, request);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		channel_release(request);
		break;
	default:
		successors_answer(request, -ENOSYS, NULL, 0);
	}
}

/* ---- a server ---- */

static bool successors_receive(struct channel *channel)
{
	struct error err = { 0 };
	bool drained = false;
	int r;

	do
		r = channel_receive(channel, &drained, &err);
	while (r == 0 && !drained);
	if (r < 0 && r != -ENODEV && r != -ECONNABORTED)
		successors_fail(&err);
	return r == 0;
}

static void successors_serve(void *argument)
{
	struct successors *all = argument;
	struct channel *channel = all->channels[atomic_fetch_add(&all->next, 1)];
	struct pollfd fd = { .fd = channel->poll_fd, .events = POLLIN };

	while (successors_receive(channel))
		while (poll(&fd, 1, -1) < 0)
			continue;
}

static void successors_open(struct successors *all, bool has_clones)
{
	struct channel_setup setup = {
		.handle = successors_handle, .context = all,
		.session_fd = mount_fd(has_clones ? all->mount : all->mounted),
		.slots = SLOTS,
		.payload_size = INIT_READ_MAX,
	};
	struct error err = { 0 };

	for (unsigned i = 0; i < CHANNELS; i++) {
		setup.clone = has_clones ? all->clones[i] : -1;
		if (channel_dev_new(&setup, &all->channels[i], &err) < 0)
			successors_fail(&err);
		if (has_clones && all->channels[i]->poll_fd != all->clones[i])
			atomic_fetch_add(&all->happened->wrong, 1);
	}
}

static void successors_ask(struct successors *all)
{
	static const struct {
		uint64_t node;
		int known;
	} nodes[] = { { FUSE_ROOT_ID, 1 }, { FIRST_NODE, 1 }, { UINT64_C(1) << 40, 0 } };

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (known_node(mount_fd(all->mount), nodes[i].node) != nodes[i].known)
			atomic_fetch_add(&all->happened->wrong, 1);
}

/* The former server is gone, so nothing is taken after this RESEND. */
static void successors_take_over(struct successors *all)
{
	struct error err = { 0 };

	for (unsigned i = 0; i < CHANNELS; i++)
		successors_receive(all->channels[i]);
	if (resend_all(mount_fd(all->mount), &err) < 0)
		successors_fail(&err);
	successors_ask(all);
}

static _Noreturn void successors_server(struct successors *all)
{
	const struct rendezvous *farewell = mount_rendezvous(all->mounted);
	const struct thread_setup setup = { .run = successors_serve, .argument = all };
	struct error err = { 0 };

	if (mount_adopt(all->mountpoint, "successors", &all->kept, mount_fd(all->mounted), farewell->folder,
			farewell->listener, &all->mount, &err) < 0)
		successors_fail(&err);
	successors_open(all, true);
	if (!all->is_first)
		successors_take_over(all);
	if (thread_start(all->threads, CHANNELS, &setup, &err) < 0)
		successors_fail(&err);
	thread_join_all(all->threads, CHANNELS);
	if (!mount_is_over(all->mount))
		atomic_fetch_add(&all->happened->wrong, 1);
	for (unsigned i = 0; i < CHANNELS; i++)
		channel_free(all->channels[i]);
	mount_free(all->mount);
	exit(0);
}

/* ---- the first process ---- */

static void successors_mount(struct successors *all)
{
	const struct mount_setup setup = { .source = "successors", .selinux = &(struct selinux){ { 0 } } };
	struct error err = { 0 };
	struct init init;

	if (mount_open(all->mountpoint, &setup, &all->mounted, &err) < 0 ||
	    init_negotiate(mount_fd(all->mounted), (struct init_wishes){ 0 }, &init, &err) < 0)
		successors_fail(&err);
	if (!init.resends) {
		puts("no RESEND");
		exit(mount_unmount(all->mounted, true, &err) < 0);
	}
	mount_keep(all->mounted, &all->kept);
	if (abort_open(mount_device_minor(all->mounted), &all->abort, &err) < 0)
		printf("no abort: %s\n", err.reason);
	successors_open(all, false);
	for (unsigned i = 0; i < CHANNELS; i++) {
		all->clones[i] = dup(all->channels[i]->poll_fd);
		if (all->clones[i] < 0)
			successors_fail_errno("dup");
		channel_free(all->channels[i]);
	}
	printf("socket=%s\n", all->kept.farewell_path);
}

/* Returns whether the server was killed. */
static bool successors_live(struct successors *all)
{
	pid_t first = getpid(), server = fork();
	int status;

	if (server < 0)
		successors_fail_errno("fork");
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != first)
			_exit(1);
		successors_server(all);
	}
	while (waitpid(server, &status, 0) < 0)
		if (errno != EINTR)
			successors_fail_errno("waitpid");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		atomic_fetch_add(&all->happened->deaths, 1);
		return true;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		exit(1);
	return false;
}

static void successors_end(const struct successors *all, bool aborts)
{
	const struct happened *happened = all->happened;

	if (aborts && write(all->abort, "1", 1) != 1)
		successors_fail_errno("cannot abort the connection");
	printf("deaths=%u held=%u resent=%u doubled=%u wrong=%u\n", happened->deaths, happened->held, happened->resent,
	       happened->doubled, happened->wrong);
}

int main(int argc, char **argv)
{
	static struct successors all = { .abort = -1, .has_doubled = ATOMIC_FLAG_INIT };
	unsigned lives;
	bool aborts;

	if (argc != 5) {
		fputs("Usage: successors FOLDER MOUNTPOINT LIVES serve|abort\n", stderr);
		return 2;
	}
	all.mountpoint = argv[2];
	lives = (unsigned)strtoul(argv[3], NULL, 10);
	aborts = !strcmp(argv[4], "abort");
	all.folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	all.happened = mmap(NULL, sizeof(*all.happened), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all.folder < 0 || all.happened == MAP_FAILED)
		successors_fail_errno(argv[1]);
	successors_mount(&all);
	puts("ready");
	fflush(stdout);
	for (unsigned life = 0; life < lives; life++) {
		all.dies = life + 1 < lives || aborts;
		all.is_first = life == 0;
		if (!successors_live(&all))
			break;
	}
	successors_end(&all, aborts);
	mount_free(all.mounted);
	return 0;
}
