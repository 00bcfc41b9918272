/* SPDX-License-Identifier: MIT */
/* How the channel of /dev/fuse takes requests. A socket stands for /dev/fuse. */
#include <sys/socket.h>
#include <unistd.h>

#include "fuse/channel.h"
#include "fuse/wire.h"
#include "lib/check.h"

static void count(void *context, struct channel_request *request)
{
	++*(unsigned *)context;
	assert_true(channel_answer(request, -ENOSYS, NULL, 0));
	channel_release(request);
}

/* A worker takes no more requests in a turn than it should, and knows that there are more. */
static void test_turns(void **state)
{
	struct fuse_in_header request = { .len = sizeof(request), .opcode = FUSE_STATFS };
	unsigned seen = 0;
	struct channel_setup setup = { .handle = count, .context = &seen, .session_fd = -1, .slots = 1,
				       .payload_size = 4096 };
	struct channel *channel;
	bool drained = false;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	setup.clone = ends[0];
	CHECK_OK(channel_dev_new(&setup, &channel, &err));
	for (request.unique = 2; request.unique <= 40; request.unique += 2)
		assert_int_equal(send(ends[1], &request, sizeof(request), 0), sizeof(request));
	CHECK_OK(channel_receive(channel, &drained, &err));
	assert_in_range(seen, 1, 8);
	assert_true(channel->has_more && !drained);
	while (channel->has_more)
		CHECK_OK(channel_receive(channel, &drained, &err));
	assert_int_equal(seen, 20);
	assert_true(drained);
	channel_free(channel);
	close(ends[1]);
}

CHECK_MAIN(cmocka_unit_test(test_turns))
