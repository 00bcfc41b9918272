/* SPDX-License-Identifier: MIT */
/* Requests on files of .datasetfs that were looked up at an earlier server. Replies go to this test, which also stands
 * in for the thread that reads the catalogue and for the thread of clients. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/check.h"
#include "serve/clients/clients.h"
#include "serve/damage.h"
#include "serve/dotdir/dotdir.h"
#include "serve/dotdir/snapshots.h"
#include "serve/dotdir/visits.h"
#include "serve/request/reply.h"
#include "serve/version/nodeid.h"

/* Numbers of the first server's 70th snapshot, in slot 9. */
#define NUMBER(file) (NODE_SNAPSHOT + (UINT64_C(70) * 8 + (file)) * 1024 + 9)

bool __wrap_reply_data(struct worker *worker, struct channel_request *request, const void *data, size_t length);
void __wrap_reply_error(struct worker *worker, struct channel_request *request, int code);
void __wrap_visits_describe(struct worker *worker, struct channel_request *request,
			    void (*answer)(struct worker *, struct channel_request *, char *, size_t));
void __wrap_clients_write(struct serve *serve, struct json *json);

static struct serve serve;
static struct worker worker = { .serve = &serve };
static uint8_t payload[4096];
static const char *catalogue, *client;

static struct reply {
	bool is_refused; /* set before the request: the kernel does not take the reply */
	unsigned count;
	int code;
	_Alignas(8) uint8_t data[256];
	size_t length;
} reply;

bool __wrap_reply_data(struct worker *from, struct channel_request *request, const void *data, size_t length)
{
	assert_ptr_equal(from, &worker);
	assert_non_null(request);
	assert_true(length < sizeof(reply.data));
	memcpy(reply.data, data, length);
	reply.data[length] = 0;
	reply.length = length;
	reply.code = 0;
	reply.count++;
	return !reply.is_refused;
}

void __wrap_reply_error(struct worker *from, struct channel_request *request, int code)
{
	assert_ptr_equal(from, &worker);
	assert_non_null(request);
	reply.code = code;
	reply.count++;
}

void __wrap_visits_describe(struct worker *from, struct channel_request *request,
			    void (*answer)(struct worker *, struct channel_request *, char *, size_t))
{
	answer(from, request, strdup(catalogue), strlen(catalogue));
}

void __wrap_clients_write(struct serve *of, struct json *json)
{
	assert_ptr_equal(of, &serve);
	fputs(client, json->out);
}

static int setup(void **state)
{
	struct error err;

	reply = (struct reply){ 0 };
	catalogue = "[versions]";
	client = "{socket}";
	serve = (struct serve){ .adopts = true };
	if (snapshots_new(&(struct snapshots_setup){ .texts = -1 }, &serve.snapshots, &err) < 0)
		return -1;
	return damage_new(&serve.damage, &err);
}

static int teardown(void **state)
{
	snapshots_free(serve.snapshots);
	damage_free(serve.damage);
	return 0;
}

static void ask(void (*handle)(struct worker *, struct channel_request *), struct request wire)
{
	struct channel_request request = { .wire = wire, .payload = payload, .payload_size = sizeof(payload) };
	unsigned count = reply.count;

	handle(&worker, &request);
	assert_int_equal(reply.count, count + 1);
}

static void read_at(uint64_t nodeid, uint64_t offset)
{
	ask(dotdir_read, (struct request){ .opcode = FUSE_READ, .nodeid = nodeid, .uid = 1000,
					   .in.read = { .offset = offset, .size = 4096 } });
}

static void getattr(uint64_t nodeid)
{
	ask(dotdir_getattr, (struct request){ .opcode = FUSE_GETATTR, .nodeid = nodeid, .uid = 1000 });
}

static void seek(uint64_t nodeid, uint64_t offset, uint32_t whence)
{
	ask(dotdir_seek, (struct request){ .opcode = FUSE_LSEEK, .nodeid = nodeid, .uid = 1000,
					   .in.lseek = { .offset = offset, .whence = whence } });
}

static void check_read(uint64_t nodeid, const char *text)
{
	read_at(nodeid, 0);
	assert_int_equal(reply.code, 0);
	assert_string_equal((char *)reply.data, text);
}

static void check_is_kept(uint64_t nodeid, bool expected)
{
	struct snapshot *snapshot = snapshots_get(serve.snapshots, nodeid);

	assert_int_equal(snapshot != NULL, expected);
	snapshots_put(snapshot);
}

static void an_open_file_goes_on(void **state)
{
	uint64_t nodeid = NUMBER(SNAPSHOTS_CATALOGUE);
	const struct fuse_attr_out *attr = (const void *)reply.data;
	const struct fuse_lseek_out *place = (const void *)reply.data;

	check_read(nodeid, "[versions]");
	catalogue = "[others]"; /* the snapshot stays as it is */
	check_read(nodeid, "[versions]");
	read_at(nodeid, 4);
	assert_string_equal((char *)reply.data, "sions]");
	getattr(nodeid);
	assert_int_equal(reply.code, 0);
	assert_int_equal(attr->attr.ino, nodeid);
	assert_int_equal(attr->attr.size, strlen("[versions]"));
	seek(nodeid, 3, SEEK_HOLE);
	assert_int_equal(place->offset, strlen("[versions]"));
	seek(nodeid, 10, SEEK_DATA);
	assert_int_equal(reply.code, -ENXIO);
	check_is_kept(nodeid, true);
	snapshots_forget(serve.snapshots, nodeid, 1);
	check_is_kept(nodeid, false);
}

static void each_kind_of_request_may_be_the_first(void **state)
{
	const struct fuse_attr_out *attr = (const void *)reply.data;
	const struct fuse_lseek_out *place = (const void *)reply.data;

	getattr(NUMBER(SNAPSHOTS_CATALOGUE));
	assert_int_equal(attr->attr.size, strlen("[versions]"));
	seek(NUMBER(SNAPSHOTS_CATALOGUE) + 1, 2, SEEK_DATA);
	assert_int_equal(place->offset, 2);
	check_read(NUMBER(SNAPSHOTS_DAMAGE) + 2, "");
	check_read(NODE_CLIENT, "{socket}");
	check_is_kept(NUMBER(SNAPSHOTS_CATALOGUE), true);
	check_is_kept(NUMBER(SNAPSHOTS_CATALOGUE) + 1, true);
	check_is_kept(NUMBER(SNAPSHOTS_DAMAGE) + 2, true);
	check_is_kept(NODE_CLIENT, true);
}

/* The kernel got an answer already, and may have sent the FORGET as well. */
static void a_second_answer_keeps_nothing(void **state)
{
	uint64_t nodeid = NUMBER(SNAPSHOTS_CATALOGUE);

	reply.is_refused = true;
	read_at(nodeid, 0);
	check_is_kept(nodeid, false);
	seek(nodeid, 100, SEEK_DATA);
	assert_int_equal(reply.code, -ENXIO);
	check_is_kept(nodeid, false);
	reply.is_refused = false;
	read_at(nodeid, 0);
	reply.is_refused = true; /* another one made it, and the kernel took that answer */
	read_at(nodeid, 0);
	check_is_kept(nodeid, true);
}

static void its_slot_is_another_file_s(void **state)
{
	uint64_t mine = NUMBER(SNAPSHOTS_DAMAGE), before = NUMBER(SNAPSHOTS_CATALOGUE);

	check_read(mine, "");
	check_read(before, "[versions]");
	check_is_kept(before, false);
	check_read(mine, "");
}

static void other_nodes_are_refused(void **state)
{
	uint64_t later = NUMBER(SNAPSHOTS_FILES); /* a file of a later release */

	read_at(later, 0);
	assert_int_equal(reply.code, -ESTALE);
	getattr(later);
	assert_int_equal(reply.code, -ESTALE);
	seek(later, 0, SEEK_DATA);
	assert_int_equal(reply.code, -EINVAL);
	read_at(NODE_DOTDIR, 0);
	assert_int_equal(reply.code, -EISDIR);
	seek(NODE_CONTROL, 0, SEEK_HOLE);
	assert_int_equal(reply.code, -EINVAL);
}

static void the_first_server_makes_nothing_anew(void **state)
{
	serve.adopts = false;
	read_at(NUMBER(SNAPSHOTS_CATALOGUE), 0);
	assert_int_equal(reply.code, -ESTALE);
	getattr(NODE_CLIENT);
	assert_int_equal(reply.code, -ESTALE);
	check_is_kept(NODE_CLIENT, false);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

CHECK_MAIN(CASE(an_open_file_goes_on), CASE(each_kind_of_request_may_be_the_first), CASE(a_second_answer_keeps_nothing),
	   CASE(its_slot_is_another_file_s), CASE(other_nodes_are_refused), CASE(the_first_server_makes_nothing_anew))
