/* SPDX-License-Identifier: MIT */
/* Permission to switch a mount, and to read a file of it. The process that asks is this one. */
#include <errno.h>
#include <grp.h>
#include <unistd.h>

#include "lib/check.h"
#include "serve/request/caller.h"

#define OWNER 1000u
#define OTHER 1001u

/* A group of this process that is not its first; root gives itself one. */
static gid_t our_group(void)
{
	gid_t groups[256] = { 4711 };
	int count = getgroups(256, groups);

	assert_true(count >= 0);
	for (int i = 0; i < count; i++)
		if (groups[i] != getegid())
			return groups[i];
	groups[0] = 4711;
	if (setgroups(1, groups) < 0)
		skip();
	return groups[0];
}

static void member_while_he_waits(void **state)
{
	struct channel_request request = {
		.owed = 5,
		.wire = { .unique = 5, .uid = geteuid(), .gid = getegid(), .pid = (uint32_t)getpid() },
	};
	struct serve serve = { .owner = geteuid() + 1, .options.control_group.name = "group" };

	serve.options.control_group.number = our_group();
	CHECK_OK(caller_check(&serve, &request, &err));
	/* Answered: the number may be another's by now. */
	request.owed = 0;
	CHECK_FAILS(caller_check(&serve, &request, &err), -EINTR, "killed");
	assert_true(caller_is_gone(&request));
	request.owed = 5;
	assert_false(caller_is_gone(&request));
	/* In another namespace of processes. */
	request.wire.pid = 0;
	CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM, "and members of its control_group");
	/* Members may switch the mount, but not replace its program. */
	request.wire.gid = serve.options.control_group.number;
	CHECK_OK(caller_check(&serve, &request, &err));
	CHECK_FAILS(caller_check_owner(&serve, &request, &err), -EPERM, " may upgrade this mount");
}

/* A process that acts for another user is in groups in which that user is not. */
static void a_process_acts_for_somebody_else(void **state)
{
	struct channel_request request = {
		.owed = 5,
		.wire = { .unique = 5, .uid = geteuid() + 2, .gid = getegid(), .pid = (uint32_t)getpid() },
	};
	struct caller_reader reader = { .request = &request };
	struct serve serve = { .owner = geteuid() + 1, .options.control_group.name = "group" };

	serve.options.control_group.number = our_group();
	CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM, "and members of its control_group");
	assert_false(caller_may_read(&reader, 0040, OWNER, serve.options.control_group.number));
	caller_reader_free(&reader);
	request.wire.uid = geteuid();
	request.wire.gid = getegid() + 1;
	if (request.wire.gid != serve.options.control_group.number)
		CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM, "and members of its control_group");
	request.wire.gid = getegid();
	CHECK_OK(caller_check(&serve, &request, &err));
}

static void without_a_look_at_the_process(void **state)
{
	struct channel_request request = { .owed = 5, .wire = { .unique = 5, .uid = OWNER, .gid = 7 } };
	struct serve serve = { .owner = OWNER };

	CHECK_OK(caller_check(&serve, &request, &err));
	request.wire.uid = OTHER;
	CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM,
		    "only root with CAP_SYS_ADMIN and user 1000 may switch");
	serve.options.control_group.name = "group";
	serve.options.control_group.number = 7;
	CHECK_OK(caller_check(&serve, &request, &err));
	/* A user who mounted and is root needs the capability all the same. */
	serve = (struct serve){ .owner = 0 };
	request.wire.uid = 0;
	CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM, "only root with CAP_SYS_ADMIN may switch");
}

/* The bits of a file, for its owner, a group, and all others: one class counts, and only one. */
static void who_may_read_a_file(void **state)
{
	struct channel_request request = {
		.owed = 5,
		.wire = { .unique = 5, .uid = OTHER, .gid = 7, .pid = (uint32_t)getpid() },
	};
	struct caller_reader reader = { .request = &request };
	gid_t group;

	assert_true(caller_may_read(&reader, 0400, OTHER, 1));
	assert_false(caller_may_read(&reader, 0077, OTHER, 7));
	assert_true(caller_may_read(&reader, 0004, OWNER, 1));
	assert_false(caller_may_read(&reader, 0400, OWNER, 7));
	assert_true(caller_may_read(&reader, 0040, OWNER, 7));
	assert_false(caller_may_read(&reader, 0004, OWNER, 7));
	assert_true(caller_may_read(&reader, 0044, OWNER, 4711));
	assert_false(caller_may_read(&reader, 0040, OWNER, 4294967294u));
	caller_reader_free(&reader);
	/* In another namespace of processes: no more is known than what the request has. */
	reader = (struct caller_reader){ .request = &request };
	request.wire.pid = 0;
	assert_true(caller_may_read(&reader, 0040, OWNER, 7));
	assert_false(caller_may_read(&reader, 0040, OWNER, 8));
	caller_reader_free(&reader);
	/* In the groups of this process. */
	group = our_group();
	reader = (struct caller_reader){ .request = &request };
	request.wire = (struct request){
		.unique = 5, .uid = geteuid(), .gid = getegid(), .pid = (uint32_t)getpid(),
	};
	assert_true(caller_may_read(&reader, 0040, geteuid() + 1, group));
	assert_false(caller_may_read(&reader, 0004, geteuid() + 1, group));
	caller_reader_free(&reader);
}

/* With the option idmap requests have neither user nor group. */
static void the_kernel_does_not_say_who(void **state)
{
	const struct request unknown = { .unique = 5, .uid = UINT32_MAX, .gid = UINT32_MAX, .pid = (uint32_t)getpid() };
	struct channel_request request = { .owed = 5, .wire = unknown };
	struct serve serve = { .owner = geteuid() + 1, .options = { .control_group.name = "group", .idmap = true } };
	struct caller_reader reader = { .request = &request };

	serve.options.control_group.number = our_group();
	caller_identify(&serve, &request);
	assert_int_equal(request.wire.uid, geteuid());
	assert_int_equal(request.wire.gid, getegid());
	CHECK_OK(caller_check(&serve, &request, &err));
	assert_int_equal(caller_share(&serve, &request), geteuid());
	/* In another namespace of processes: nobody's rights, and a share of its own. */
	request.wire = unknown;
	request.wire.pid = 0;
	caller_identify(&serve, &request);
	assert_int_equal(request.wire.uid, UINT32_MAX);
	CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM, "and members of its control_group");
	assert_false(caller_may_read(&reader, 0440, UINT32_MAX, UINT32_MAX));
	caller_reader_free(&reader);
	request.wire.pid = 77;
	assert_int_equal(caller_share(&serve, &request), UINT32_C(1) << 31 | 77);
	/* Without the option nothing is looked up. */
	serve.options.idmap = false;
	request.wire = unknown;
	caller_identify(&serve, &request);
	assert_int_equal(request.wire.uid, UINT32_MAX);
}

CHECK_MAIN(cmocka_unit_test(member_while_he_waits), cmocka_unit_test(a_process_acts_for_somebody_else),
	   cmocka_unit_test(without_a_look_at_the_process), cmocka_unit_test(who_may_read_a_file),
	   cmocka_unit_test(the_kernel_does_not_say_who))
