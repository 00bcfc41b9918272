/* SPDX-License-Identifier: MIT */
/* The channel over io_uring with a fake of the ring: what is registered, that a reply goes back by the entry that its
 * request came by, and what is made of each error that the kernel may answer a command with. */
#include <errno.h>

#include "base/log.h"
#include "fuse/channel.h"
#include "fuse/init.h"
#include "lib/check.h"

#define DEPTH   3u
#define QUEUES  2u
#define LATE    2u /* of the second queue, whose CPU is offline */
#define SLOTS   (DEPTH + LATE)
#define PAYLOAD 8192u

/* --- the kernel's side --- */

static struct io_command *commands[64];
static unsigned command_count;
static int at_start; /* what the kernel answers to commands that it gets in a wait */
static unsigned refuse_from;

static void fake_command(struct engine *engine, struct io_command *command)
{
	assert_true(command_count < 64);
	commands[command_count++] = command;
}

static int fake_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	unsigned count = command_count;

	assert_false(block);
	*ret_readable = false;
	for (unsigned i = refuse_from; i < count && at_start; i++)
		commands[i]->done(commands[i], at_start);
	return 0;
}

static const struct engine_ops fake_ops = { .command = fake_command, .wait = fake_wait };
static struct engine engine = { .ops = &fake_ops };

static struct wire_uring_command argument(const struct io_command *command)
{
	struct wire_uring_command argument;

	memcpy(&argument, command->argument, sizeof(argument));
	return argument;
}

static struct wire_uring_header *header(const struct io_command *command)
{
	return command->iov[0].iov_base;
}

/* A READ in the entry that the command registered. */
static void send_read(struct io_command *command, struct wire_uring_header *into, uint64_t unique)
{
	struct fuse_in_header in = { .opcode = FUSE_READ, .unique = unique, .nodeid = 7, .pid = 99 };
	struct fuse_read_in read = { .offset = 4096, .size = 100 };

	in.len = sizeof(in) + sizeof(read);
	memcpy(into->in_out, &in, sizeof(in));
	memcpy(into->op_in, &read, sizeof(read));
	into->payload_size = 0;
	into->commit_id = unique;
	command->done(command, 0);
}

/* --- the handler's side --- */

static struct channel_request *handled[SLOTS];
static unsigned handled_count;

static void handle(void *context, struct channel_request *request)
{
	assert_int_equal(request->wire.opcode, FUSE_READ);
	assert_int_equal(request->wire.in.read.offset, 4096);
	assert_true(handled_count < SLOTS);
	handled[handled_count++] = request;
}

static struct channel *channel;

static int start(void **state)
{
	static const uint16_t numbers[QUEUES] = { 4, 1 };
	static const uint16_t depths[QUEUES] = { DEPTH, LATE };
	static const struct channel_queues queues = { .numbers = numbers, .depths = depths, .count = QUEUES };
	static const struct channel_setup setup = { .handle = handle, .slots = SLOTS, .payload_size = PAYLOAD };

	command_count = handled_count = refuse_from = 0;
	at_start = 0;
	CHECK_OK(channel_ring_new(&setup, &queues, &channel, &err));
	return 0;
}

static int stop(void **state)
{
	channel_free(channel);
	return 0;
}

static void answer_all(int result)
{
	for (unsigned i = 0; i < SLOTS; i++)
		commands[i]->done(commands[i], result);
}

static void every_entry_is_registered(void **state)
{
	unsigned of[5] = { 0 };

	CHECK_OK(channel_start(channel, &engine, &err));
	assert_int_equal(command_count, SLOTS);
	for (unsigned i = 0; i < SLOTS; i++) {
		assert_int_equal(commands[i]->operation, WIRE_URING_REGISTER);
		assert_int_equal(commands[i]->iov_count, 2);
		assert_true(commands[i]->iov[0].iov_len >= sizeof(struct wire_uring_header));
		assert_int_equal(commands[i]->iov[1].iov_len, PAYLOAD);
		assert_int_equal((uintptr_t)commands[i]->iov[1].iov_base % 4096, 0);
		of[argument(commands[i]).queue]++;
	}
	assert_int_equal(of[4], DEPTH);
	assert_int_equal(of[1], LATE);
	answer_all(-ENOTCONN);
}

static void a_reply_is_the_commit_of_its_entry(void **state)
{
	struct wire_uring_header *to[SLOTS];
	struct fuse_out_header out;

	CHECK_OK(channel_start(channel, &engine, &err));
	for (unsigned i = 0; i < SLOTS; i++)
		to[i] = header(commands[i]);
	for (unsigned i = 0; i < SLOTS; i++)
		send_read(commands[i], to[i], 1000 + 2 * i);
	assert_int_equal(handled_count, SLOTS);
	assert_int_equal(channel->busy, SLOTS);
	/* In another order than they came. */
	for (unsigned i = SLOTS; i-- > 0;) {
		memcpy(handled[i]->payload, "twelve bytes", 12);
		assert_true(channel_answer(handled[i], 0, handled[i]->payload, 12));
		assert_false(channel_answer(handled[i], -EINTR, NULL, 0));
		channel_release(handled[i]);
		assert_int_equal(command_count, SLOTS + (SLOTS - i));
		assert_ptr_equal(commands[command_count - 1], commands[i]);
		assert_int_equal(commands[i]->operation, WIRE_URING_COMMIT_FETCH);
		assert_int_equal(argument(commands[i]).commit_id, 1000 + 2 * i);
		assert_int_equal(argument(commands[i]).queue, i < DEPTH ? 4 : 1);
		memcpy(&out, to[i]->in_out, sizeof(out));
		assert_int_equal(out.unique, 1000 + 2 * i);
		assert_int_equal(to[i]->payload_size, 12);
	}
	assert_int_equal(channel->busy, 0);
	answer_all(-ENOTCONN);
}

static void what_is_malformed_is_answered(void **state)
{
	struct wire_uring_header *to;
	struct fuse_out_header out;

	CHECK_OK(channel_start(channel, &engine, &err));
	to = header(commands[0]);
	memset(to, 0xff, sizeof(*to));
	to->commit_id = 77;
	log_set_program("test");
	commands[0]->done(commands[0], 0);
	assert_int_equal(handled_count, 0);
	assert_int_equal(command_count, SLOTS + 1);
	assert_int_equal(argument(commands[SLOTS]).commit_id, 77);
	memcpy(&out, to->in_out, sizeof(out));
	assert_int_equal(out.error, -EINVAL);
	answer_all(-ENOTCONN);
}

/* Each way in which the kernel says that the mount has gone, in any mixture: no error, and not before the last one. */
static void the_end_of_the_mount(void **state)
{
	const int ends[] = { -ENOTCONN, -ENODEV, -ECANCELED, -ENOENT, -ECONNABORTED };
	bool drained;

	CHECK_OK(channel_start(channel, &engine, &err));
	for (unsigned i = 0; i < SLOTS; i++) {
		CHECK_OK(channel_receive(channel, &drained, &err));
		commands[i]->done(commands[i], ends[i % (sizeof(ends) / sizeof(*ends))]);
	}
	CHECK_FAILS(channel_receive(channel, &drained, &err), -ENODEV, "unmounted");
}

/* A request that is in work when the mount goes is answered into nothing; only then it is over. */
static void the_end_while_a_request_is_in_work(void **state)
{
	bool drained;

	CHECK_OK(channel_start(channel, &engine, &err));
	send_read(commands[0], header(commands[0]), 5);
	for (unsigned i = 1; i < SLOTS; i++)
		commands[i]->done(commands[i], -ENOTCONN);
	CHECK_OK(channel_receive(channel, &drained, &err));
	assert_int_equal(channel_waiter(channel, 5), 0); /* the answer to an INTERRUPT is another thread's */
	assert_false(channel_interrupt(channel, 5));
	assert_true(channel_answer(handled[0], -EIO, NULL, 0));
	channel_release(handled[0]);
	commands[SLOTS]->done(commands[SLOTS], -ENOENT);
	CHECK_FAILS(channel_receive(channel, &drained, &err), -ENODEV, "unmounted");
}

/* One entry less does no harm; a queue without any would leave its CPU's readers waiting for ever, so it is an error,
 * although the other queue is well. */
static void a_queue_that_runs_dry(void **state)
{
	bool drained;

	CHECK_OK(channel_start(channel, &engine, &err));
	log_set_program("test");
	for (unsigned i = 0; i < DEPTH; i++) {
		CHECK_OK(channel_receive(channel, &drained, &err));
		commands[i]->done(commands[i], -EINVAL);
	}
	CHECK_FAILS(channel_receive(channel, &drained, &err), -EIO,
		    "queue 4 of FUSE over io_uring has no entry left: Invalid");
	for (unsigned i = DEPTH; i < SLOTS; i++)
		commands[i]->done(commands[i], -ENOTCONN);
}

static void a_kernel_that_refuses_all(void **state)
{
	at_start = -ENOMEM;
	CHECK_FAILS(channel_start(channel, &engine, &err), -EIO, "Cannot allocate memory");
}

static void a_kernel_that_refuses_some(void **state)
{
	at_start = -ENOMEM;
	refuse_from = DEPTH + 1;
	CHECK_OK(channel_start(channel, &engine, &err));
	at_start = 0;
	for (unsigned i = 0; i < refuse_from; i++)
		commands[i]->done(commands[i], -ENOTCONN);
}

/* Else the kernel refuses every entry, and takes what /dev/fuse gives for the end of the file. */
static void the_largest_read_fits_a_payload(void **state)
{
	assert_int_equal(init_max_pages(4096), 256);
	assert_int_equal(init_max_pages(16384), 64);
	assert_int_equal(init_max_pages(65536), 16);
	for (size_t page = 4096; page <= 65536; page *= 2)
		assert_int_equal(init_max_pages(page) * page, INIT_READ_MAX);
}

#define WITH_CHANNEL(test) cmocka_unit_test_setup_teardown(test, start, stop)

CHECK_MAIN(WITH_CHANNEL(every_entry_is_registered), WITH_CHANNEL(a_reply_is_the_commit_of_its_entry),
	   WITH_CHANNEL(what_is_malformed_is_answered), WITH_CHANNEL(the_end_of_the_mount),
	   WITH_CHANNEL(the_end_while_a_request_is_in_work), WITH_CHANNEL(a_queue_that_runs_dry),
	   WITH_CHANNEL(a_kernel_that_refuses_all), WITH_CHANNEL(a_kernel_that_refuses_some),
	   cmocka_unit_test(the_largest_read_fits_a_payload))
