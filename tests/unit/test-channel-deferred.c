/* SPDX-License-Identifier: MIT */
/* The channel over io_uring when a request is answered while the device still has its payload: the entry's next request
 * waits until the handler lets go, and nothing that the payload brought is believed. */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/channel.h"
#include "lib/check.h"

/* --- the kernel's side: one entry --- */

static struct io_command *command;
static struct wire_uring_header *header;
static uint8_t *payload;
static unsigned answers;
static uint64_t answered;
static int answer;

static void fake_command(struct engine *engine, struct io_command *given)
{
	struct fuse_out_header out;

	command = given;
	if (given->operation == WIRE_URING_REGISTER) {
		header = given->iov[0].iov_base;
		payload = given->iov[1].iov_base;
		return;
	}
	memcpy(&out, header->in_out, sizeof(out));
	answers++;
	answered = out.unique;
	answer = out.error;
}

static int fake_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	*ret_readable = false;
	return 0;
}

static const struct engine_ops engine_ops = { .command = fake_command, .wait = fake_wait };
static struct engine engine = { .ops = &engine_ops };

static void give(uint32_t opcode, uint64_t unique, const void *argument, size_t length, size_t rest)
{
	struct fuse_in_header in = { .opcode = opcode, .unique = unique, .nodeid = 7, .pid = 99 };

	in.len = (uint32_t)(sizeof(in) + length + rest);
	memcpy(header->in_out, &in, sizeof(in));
	if (length)
		memcpy(header->op_in, argument, length);
	header->payload_size = (uint32_t)rest;
	header->commit_id = unique;
	command->done(command, 0);
}

static void send_read(uint64_t unique)
{
	give(FUSE_READ, unique, &(struct fuse_read_in){ .size = 100 }, sizeof(struct fuse_read_in), 0);
}

static void send_lookup(uint64_t unique)
{
	memcpy(payload, "name", sizeof("name"));
	give(FUSE_LOOKUP, unique, NULL, 0, sizeof("name"));
}

static void expect_answer(unsigned count, uint64_t unique, int error)
{
	assert_int_equal(answers, count);
	assert_int_equal(answered, unique);
	assert_int_equal(answer, error);
}

/* --- the handler's side --- */

static struct channel *channel;
static struct channel_request *handled;
static unsigned handled_count;

static void handle(void *context, struct channel_request *request)
{
	handled = request;
	handled_count++;
}

/* A READ that is answered at its deadline; the handler still has it. */
static int start(void **state)
{
	static const uint16_t numbers[] = { 0 }, depths[] = { 1 };
	static const struct channel_queues queues = { .numbers = numbers, .depths = depths, .count = 1 };
	static const struct channel_setup setup = { .handle = handle, .slots = 1, .payload_size = 8192 };

	answers = handled_count = 0;
	CHECK_OK(channel_ring_new(&setup, &queues, &channel, &err));
	CHECK_OK(channel_start(channel, &engine, &err));
	send_read(10);
	assert_int_equal(handled_count, 1);
	assert_true(channel_expire(handled, 10));
	expect_answer(1, 10, -EIO);
	assert_true(channel_is_answered(handled));
	assert_false(channel_expire(handled, 10));
	assert_int_equal(channel->busy, 1);
	return 0;
}

static int stop(void **state)
{
	assert_int_equal(channel->busy, 0);
	command->done(command, -ENOTCONN);
	channel_free(channel);
	return 0;
}

static void the_next_request_waits(void **state)
{
	send_read(12);
	assert_int_equal(handled_count, 1);
	channel_release(handled);
	assert_int_equal(handled_count, 2);
	assert_int_equal(handled->wire.unique, 12);
	assert_int_equal(answers, 1);
	assert_true(channel_answer(handled, 0, NULL, 0));
	channel_release(handled);
	expect_answer(2, 12, 0);
}

static void a_name_is_not_believed(void **state)
{
	send_lookup(12);
	assert_int_equal(answers, 1);
	channel_release(handled);
	expect_answer(2, 12, -EIO);
	assert_int_equal(handled_count, 1);
	send_lookup(14); /* when the device is done with it */
	assert_int_equal(handled_count, 2);
	channel_answer(handled, -ENOENT, NULL, 0);
	channel_release(handled);
	expect_answer(3, 14, -ENOENT);
}

static void what_waits_has_a_deadline(void **state)
{
	int64_t before = clock_now();

	for (uint64_t unique = 12; unique < 18; unique += 2) {
		send_read(unique);
		channel->ops->expire(channel, before);
		assert_int_equal(answered, unique - 2);
		channel->ops->expire(channel, clock_now() + 1);
		assert_int_equal(answered, unique);
		assert_int_equal(answer, -EIO);
	}
	assert_int_equal(handled_count, 1);
	channel_release(handled);
	send_read(18);
	assert_int_equal(handled_count, 2);
	channel_answer(handled, 0, NULL, 0);
	channel_release(handled);
}

/* The kernel takes the connection down while the device still has the memory. */
static void the_mount_ends(void **state)
{
	channel_release(handled);
}

/* The worker ends while the device still has the memory: the deferred request is left to the kernel, as is what the
 * kernel sends after it. */
static void the_worker_ends(void **state)
{
	send_read(12);
	channel->ending = true;
	channel_release(handled);
	assert_int_equal(channel->busy, 0);
	send_read(14);
	assert_int_equal(handled_count, 1);
	assert_int_equal(answers, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_next_request_waits, start, stop),
		cmocka_unit_test_setup_teardown(a_name_is_not_believed, start, stop),
		cmocka_unit_test_setup_teardown(what_waits_has_a_deadline, start, stop),
		cmocka_unit_test_setup_teardown(the_mount_ends, start, stop),
		cmocka_unit_test_setup_teardown(the_worker_ends, start, stop)
	};

	log_set_level(LOG_EMERG);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
