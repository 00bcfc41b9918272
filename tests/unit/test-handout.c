/* SPDX-License-Identifier: MIT */
/* Files that a member of direct_group gets where there can be no read-only mount of them: memory files are on one that
 * cannot be cloned. */
#include "lib/check.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/clients/handout.h"

static int file, ends[2];

static struct credentials member_of(uint32_t uid, uint32_t gid)
{
	return (struct credentials){ .uid = uid, .gid = gid, .fd = ends[0], .is_member = true };
}

static int give(struct credentials peer, mode_t mode, struct error *err)
{
	int opened = -1, r;

	assert_int_equal(fchmod(file, mode), 0);
	r = handout_open(&peer, file, 0, "the volume", &opened, err);
	if (r == 0)
		assert_int_equal(close(opened), 0);
	return r;
}

static void test_writers(void **state)
{
	const struct credentials stranger = member_of(geteuid() + 1, getegid() + 77);
	const struct credentials same_group = member_of(geteuid() + 1, getegid());
	struct credentials other_socket = stranger;

	CHECK_OK(give(stranger, 0644, &err));
	CHECK_FAILS(give(stranger, 0646, &err), -EPERM, "could write to the volume");
	CHECK_OK(give(same_group, 0644, &err));
	CHECK_FAILS(give(same_group, 0664, &err), -EPERM, "and has the mode 0664");
	CHECK_FAILS(give(member_of(geteuid(), getegid() + 77), 0444, &err), -EPERM, "could write to the volume");
	/* Groups that cannot be read may be any. */
	other_socket.fd = file;
	CHECK_FAILS(give(other_socket, 0664, &err), -EPERM, "could write to the volume");
}

static void test_others(void **state)
{
	struct credentials root = member_of(geteuid(), getegid());

	root.is_member = false;
	CHECK_OK(give(root, 0666, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writers), cmocka_unit_test(test_others)
	};

	file = memfd_create("volume", MFD_CLOEXEC);
	if (file < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
