/* SPDX-License-Identifier: MIT */
/* Programs that are run and waited for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory_file.h"
#include "base/program/invoke.h"
#include "lib/check.h"

static const struct invoke_streams ours = { -1, -1, -1 };

static void test_how_it_ended(void **state)
{
	const char *seven[] = { "sh", "-c", "exit 7", NULL }, *killed[] = { "sh", "-c", "kill -9 $$", NULL };
	struct error err = { 0 };
	int status;

	status = invoke_run(seven, ours, NULL, &err);
	assert_int_equal(WEXITSTATUS(status), 7);
	status = invoke_run(killed, ours, NULL, &err);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(err.code, 0);
}

static void test_it_does_not_run(void **state)
{
	const char *nobody[] = { "/nowhere/program", NULL }, *folder[] = { "/", NULL };

	CHECK_FAILS(invoke_run(nobody, ours, NULL, &err), -ENOENT, "cannot run /nowhere/program: ");
	CHECK_FAILS(invoke_run(folder, ours, NULL, &err), -EACCES, "cannot run /: ");
}

static int refuse(struct error *err)
{
	return error_set(err, -EBUSY, "not in this process");
}

static int prepare(struct error *err)
{
	return setenv("PREPARED", "yes", 1) < 0 ? error_no_memory(err) : 0;
}

static void test_what_it_gets(void **state)
{
	const char *words[] = { "sh", "-c", "cat; echo $PREPARED; echo wrong >&2", NULL };
	struct invoke_streams streams;
	char out[16] = "", wrong[16] = "";

	CHECK_OK(memory_file_make("in", 0, &streams.in, &err));
	CHECK_OK(memory_file_make("out", 0, &streams.out, &err));
	CHECK_OK(memory_file_make("err", 0, &streams.err, &err));
	assert_int_equal(pwrite(streams.in, "in ", 3, 0), 3);
	CHECK_FAILS(invoke_run(words, streams, refuse, &err), -EBUSY, "not in this process");
	CHECK_OK(invoke_run(words, streams, prepare, &err));
	assert_true(pread(streams.out, out, sizeof(out) - 1, 0) > 0);
	assert_true(pread(streams.err, wrong, sizeof(wrong) - 1, 0) > 0);
	assert_string_equal(out, "in yes\n");
	assert_string_equal(wrong, "wrong\n");
	assert_null(getenv("PREPARED"));
	close(streams.in);
	close(streams.out);
	close(streams.err);
}

CHECK_MAIN(cmocka_unit_test(test_how_it_ended), cmocka_unit_test(test_it_does_not_run),
	   cmocka_unit_test(test_what_it_gets))
