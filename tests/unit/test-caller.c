/* SPDX-License-Identifier: MIT */
/* Who may switch a mount. The process that asks is this one. */
#include <errno.h>
#include <grp.h>
#include <unistd.h>

#include "lib/check.h"
#include "serve/request/caller.h"

#define OWNER 1000u
#define OTHER 1001u

static void member_while_he_waits(void **state)
{
	struct channel_request request = {
		.owed = 5,
		.wire = { .unique = 5, .uid = OTHER, .pid = (uint32_t)getpid() },
	};
	struct serve serve = { .owner = OWNER, .options.has_control_group = true };
	gid_t groups[256] = { 4711 };
	int count = getgroups(256, groups);

	(void)state;
	if (count == 0 && setgroups(1, groups) < 0) /* root may give itself one */
		skip();
	assert_true(count >= 0);
	serve.options.control_group = groups[0];
	request.wire.gid = groups[0] + 1;
	CHECK_OK(caller_check(&serve, &request, &err));
	/* Answered: the number may be another's by now. */
	request.owed = 0;
	CHECK_FAILS(caller_check(&serve, &request, &err), -EINTR, "killed");
	assert_true(caller_is_gone(&request));
	request.owed = 5;
	assert_false(caller_is_gone(&request));
	/* In another namespace of processes. */
	request.wire.pid = 0;
	CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM, "user 1000 and members of its control_group");
}

static void without_a_look_at_the_process(void **state)
{
	struct channel_request request = { .owed = 5, .wire = { .unique = 5, .uid = OWNER, .gid = 7 } };
	struct serve serve = { .owner = OWNER };

	(void)state;
	CHECK_OK(caller_check(&serve, &request, &err));
	request.wire.uid = OTHER;
	CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM,
		    "only root with CAP_SYS_ADMIN and user 1000 may switch");
	serve.options.has_control_group = true;
	serve.options.control_group = 7;
	CHECK_OK(caller_check(&serve, &request, &err));
	/* A user who mounted and is root needs the capability all the same. */
	serve = (struct serve){ .owner = 0 };
	request.wire.uid = 0;
	CHECK_FAILS(caller_check(&serve, &request, &err), -EPERM, "only root with CAP_SYS_ADMIN may switch");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(member_while_he_waits),
		cmocka_unit_test(without_a_look_at_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
