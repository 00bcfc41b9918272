/* SPDX-License-Identifier: MIT */
/* The part of a takeover that needs no kernel: descriptors of another process, requests that come a
 * second time, notifications. A socket stands for /dev/fuse. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/program/rendezvous.h"
#include "fuse/abort.h"
#include "fuse/channel.h"
#include "fuse/init.h"
#include "fuse/known.h"
#include "fuse/mount.h"
#include "fuse/notice.h"
#include "fuse/resend.h"
#include "fuse/wire.h"
#include "lib/check.h"

#define NAME "7:29:4711-0123456789abcdef.socket"

static int ours, kernel; /* the two ends */

static int set_up(void **state)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -1;
	ours = ends[0];
	kernel = ends[1];
	return 0;
}

static int tear_down(void **state)
{
	close(kernel);
	return 0;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* ---- notifications ---- */

static int refusal; /* what the kernel answers to notifications */

int __real_notice_write(int fd, int code, struct iovec *iov, int count);
int __wrap_notice_write(int fd, int code, struct iovec *iov, int count);

int __wrap_notice_write(int fd, int code, struct iovec *iov, int count)
{
	int r = __real_notice_write(fd, code, iov, count);

	return r < 0 ? r : refusal;
}

static void test_resend(void **state)
{
	struct fuse_out_header header;

	refusal = 0;
	CHECK_OK(resend_all(ours, &err));
	assert_int_equal(recv(kernel, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(header.len, sizeof(header));
	assert_int_equal(header.error, 7);
	assert_int_equal(header.unique, 0);
	refusal = -EINVAL;
	CHECK_FAILS(resend_all(ours, &err), -EINVAL, "sent again: Invalid argument");
	close(ours);
}

static void test_known(void **state)
{
	static const struct {
		int refusal, known;
	} cases[] = { { 0, 1 }, { -EINVAL, 1 }, { -ENOENT, 0 }, { -ENODEV, -ENODEV } };
	struct {
		struct fuse_out_header header;
		struct fuse_notify_store_out store;
	} sent;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		refusal = cases[i].refusal;
		assert_int_equal(known_node(ours, 1000 + i), cases[i].known);
		assert_int_equal(recv(kernel, &sent, sizeof(sent), 0), sizeof(sent));
		assert_int_equal(sent.header.len, sizeof(sent));
		assert_int_equal(sent.header.error, FUSE_NOTIFY_STORE);
		assert_int_equal(sent.store.nodeid, 1000 + i);
		assert_int_equal(sent.store.size, 0);
	}
	close(ours);
}

static void test_abort(void **state)
{
	int fd = -1;
	struct error err = { 0 };

	assert_true(abort_open(4294967295u, &fd, &err) < 0);
	assert_non_null(strstr(err.reason, "'/sys/fs/fuse/connections/4294967295/abort'"));
	assert_int_equal(fd, -1);
	close(ours);
}

/* ---- requests ---- */

static void check_init(uint32_t flags2, bool resends)
{
	struct {
		struct fuse_in_header header;
		struct fuse_init_in init;
	} request = {
		.header = { .len = sizeof(request), .opcode = FUSE_INIT, .unique = 2 },
		.init = { .major = FUSE_KERNEL_VERSION, .minor = 40, .flags = FUSE_MAX_PAGES | FUSE_INIT_EXT,
			  .flags2 = flags2 },
	};
	struct {
		struct fuse_out_header header;
		struct fuse_init_out init;
	} reply;
	struct init init;

	assert_int_equal(send(kernel, &request, sizeof(request), 0), sizeof(request));
	CHECK_OK(init_negotiate(ours, (struct init_wishes){ 0 }, &init, &err));
	assert_int_equal(init.resends, resends);
	assert_int_equal(recv(kernel, &reply, sizeof(reply), 0), sizeof(reply));
	assert_int_equal(reply.init.flags2 & 1u << 7, 0);
	assert_int_equal(init.taken & WIRE_HAS_RESEND, 0);
}

static void test_init(void **state)
{
	check_init(1u << 7, true);
	check_init(0, false);
	close(ours);
}

static void answer(void *context, struct channel_request *request)
{
	*(uint64_t *)context = request->wire.unique;
	assert_true(channel_answer(request, -ENOSYS, NULL, 0));
	channel_release(request);
}

static void test_channel(void **state)
{
	const uint64_t unique = WIRE_UNIQUE_RESEND | 44;
	const struct fuse_in_header request = { .len = sizeof(request), .opcode = FUSE_STATFS, .unique = unique };
	uint64_t seen = 0;
	const struct channel_setup setup = {
		.handle = answer, .context = &seen, .session_fd = -1, .clone = ours, .slots = 1,
		.payload_size = 4096,
	};
	struct fuse_out_header reply;
	struct channel *channel;
	bool drained = false;

	CHECK_OK(channel_dev_new(&setup, &channel, &err));
	assert_int_equal(channel->poll_fd, ours);
	assert_int_equal(send(kernel, &request, sizeof(request), 0), sizeof(request));
	CHECK_OK(channel_receive(channel, &drained, &err));
	assert_true(drained);
	assert_true(seen == unique);
	assert_int_equal(recv(kernel, &reply, sizeof(reply), 0), sizeof(reply));
	assert_true(reply.unique == unique);
	assert_int_equal(reply.error, -ENOSYS);
	channel_free(channel);
	assert_false(is_open(ours));
}

/* ---- descriptors ---- */

static char folder_path[64];
static int folder;

static void make_folder(void)
{
	snprintf(folder_path, sizeof(folder_path), "/tmp/test-adoption-XXXXXX");
	assert_non_null(mkdtemp(folder_path));
	folder = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder >= 0);
}

static void make_file(const char *name)
{
	int fd = openat(folder, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void test_rendezvous(void **state)
{
	static const char *const others[] = { "", "..", ("../" NAME), "other", "a-0123456789abcdef.socket" };
	struct rendezvous rendezvous;

	make_folder();
	make_file(NAME);
	rendezvous_adopt(&rendezvous, folder, ours, NAME, "/somewhere/" NAME);
	assert_int_equal(rendezvous.folder, folder);
	assert_int_equal(rendezvous.listener, ours);
	assert_string_equal(rendezvous.path, "/somewhere/" NAME);
	rendezvous_withdraw(&rendezvous);
	assert_int_equal(faccessat(folder, NAME, F_OK, 0), -1);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		rendezvous_adopt(&rendezvous, dup(folder), dup(ours), others[i], "");
		assert_int_equal(rendezvous.folder, -1);
		assert_int_equal(rendezvous.listener, -1);
		assert_string_equal(rendezvous.name, "");
	}
	rendezvous_adopt(&rendezvous, -1, ours, NAME, "");
	assert_int_equal(rendezvous.listener, -1);
	assert_false(is_open(ours));
	rendezvous_adopt(&rendezvous, folder, -1, NAME, "");
	assert_int_equal(rendezvous.folder, -1);
	assert_false(is_open(folder));
	assert_int_equal(rmdir(folder_path), 0);
}

static void check_kept(const struct mount_kept *found, const struct mount_kept *expected)
{
	assert_int_equal(found->device_major, expected->device_major);
	assert_int_equal(found->device_minor, expected->device_minor);
	assert_int_equal(found->noted, expected->noted);
	assert_string_equal(found->farewell_name, expected->farewell_name);
	assert_string_equal(found->farewell_path, expected->farewell_path);
}

static void test_mount(void **state)
{
	const struct mount_kept kept = {
		.device_major = 7, .device_minor = 29, .noted = true, .farewell_name = NAME, .farewell_path = "/path",
	};
	struct mount_kept again, endless = kept;
	struct mount *mount = NULL;
	int listener = dup(ours), lost = dup(ours);

	make_folder();
	make_file(NAME);
	memset(endless.farewell_path, 'x', sizeof(endless.farewell_path));
	CHECK_FAILS(mount_adopt("/no/such", "v", &endless, lost, dup(folder), dup(ours), &mount, &err), -EPROTO,
		    "has no end");
	assert_false(is_open(lost));
	CHECK_OK(mount_adopt("/no/such", "v", &kept, ours, folder, listener, &mount, &err));
	assert_int_equal(mount_fd(mount), ours);
	assert_int_equal(mount_device_minor(mount), 29);
	assert_int_equal(mount_rendezvous(mount)->folder, folder);
	assert_int_equal(mount_rendezvous(mount)->listener, listener);
	mount_keep(mount, &again);
	check_kept(&again, &kept);
	assert_false(mount_is_over(mount));
	mount_free(mount);
	assert_false(is_open(ours) || is_open(folder) || is_open(listener));
	assert_int_equal(rmdir(folder_path), 0); /* the socket's name is gone */
}

static void test_mount_alone(void **state)
{
	const struct mount_kept kept = { .device_major = 7, .device_minor = 29 };
	struct mount_kept again;
	struct mount *mount;

	CHECK_OK(mount_adopt("/no/such", "v", &kept, ours, -1, -1, &mount, &err));
	assert_int_equal(mount_rendezvous(mount)->folder, -1);
	mount_keep(mount, &again);
	check_kept(&again, &kept);
	mount_free(mount);
	assert_false(is_open(ours));
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROW(test_resend),  ROW(test_known),	 ROW(test_abort), ROW(test_init),
		ROW(test_channel), ROW(test_rendezvous), ROW(test_mount), ROW(test_mount_alone)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
