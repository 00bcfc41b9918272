/* SPDX-License-Identifier: MIT */
/* The exporter: how it reads the texts of mounts, which may be hostile; which format a client gets; addresses; which
 * mounts are asked. */
#include "lib/check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/exposition.h"
#include "exporter/listener.h"
#include "exporter/mounts.h"

/* The lower half of the first argument of a system call. */
#define SECCOMP_DOMAIN (offsetof(struct seccomp_data, args) + (__BYTE_ORDER == __BIG_ENDIAN ? 4 : 0))

/* Takes the text of a mount. */
static int add(struct exposition *exposition, const char *mountpoint, const char *text, struct error *err)
{
	char *copy = strdup(text);
	int r;

	assert_non_null(copy);
	r = exposition_add(exposition, mountpoint, copy, strlen(copy), err);
	free(copy);
	return r;
}

static void written(const struct exposition *exposition, const char *expected)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	exposition_write(exposition, out);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

#define READS "# HELP datasetfs_reads_total Reads.\n# TYPE datasetfs_reads_total counter\n"
#define STATE "# HELP datasetfs_state State.\n# TYPE datasetfs_state gauge\n"
#define TIMES "# HELP datasetfs_seconds Times.\n# TYPE datasetfs_seconds histogram\n"
#define INFO  "# HELP datasetfs_version_info Version.\n# TYPE datasetfs_version_info gauge\n"

static void test_merge(void **state)
{
	struct exposition *exposition;

	CHECK_OK(exposition_new(&exposition, &err));
	CHECK_OK(add(exposition, "/a", READS "datasetfs_reads_total 7\n"
		     INFO "datasetfs_version_info{version=\"v1\"} 1\n",
		     &err));
	CHECK_OK(add(exposition, "/b \"\n\\\xff",
		     STATE "datasetfs_state{member=\"0\",state=\"a\\\"\\\\\\n\"} 1\n"
		     READS "datasetfs_reads_total 18446744073709551615\n"
		     TIMES "datasetfs_seconds_bucket{le=\"0.5\"} 1\ndatasetfs_seconds_bucket{le=\"+Inf\"} 2\n"
			   "datasetfs_seconds_sum 1.5\ndatasetfs_seconds_count 2\n",
		     &err));
	CHECK_OK(exposition_family(exposition, "datasetfs_up", "gauge", "Up.", &err));
	CHECK_OK(exposition_series(exposition, "datasetfs_up", "/a", 1, &err));
#define B "mountpoint=\"/b \\\"\\n\\\\\\\\xff\""
#define SERIES_READS                                             \
	"datasetfs_reads_total{mountpoint=\"/a\"} 7\n"           \
	"datasetfs_reads_total{" B "} 18446744073709551615\n"
#define SERIES_INFO "datasetfs_version_info{mountpoint=\"/a\",version=\"v1\"} 1\n"
#define SERIES_STATE "datasetfs_state{" B ",member=\"0\",state=\"a\\\"\\\\\\n\"} 1\n"
#define SERIES_TIMES                                                     \
	"datasetfs_seconds_bucket{" B ",le=\"0.5\"} 1\n"                 \
	"datasetfs_seconds_bucket{" B ",le=\"+Inf\"} 2\n"                \
	"datasetfs_seconds_sum{" B "} 1.5\ndatasetfs_seconds_count{" B "} 2\n"
#define UP "# HELP datasetfs_up Up.\n# TYPE datasetfs_up gauge\ndatasetfs_up{mountpoint=\"/a\"} 1\n"
	written(exposition, READS SERIES_READS INFO SERIES_INFO STATE SERIES_STATE TIMES SERIES_TIMES UP);
	exposition_free(exposition);
}

static const struct {
	const char *text, *why;
} hostile[] = {
	{ "datasetfs_reads_total 7\n", "a series outside of its family: 'datasetfs_reads_total 7'" },
	{ READS "datasetfs_reads_total 7\n" READS "datasetfs_reads_total 7\n", "comes twice" },
	{ READS "datasetfs_reads_total 7", "the last line does not end" },
	{ READS "datasetfs_reads_total 7\n\n", "a series outside of its family: ''" },
	{ READS "datasetfs_reads_total 7\r\n", "not text at offset 96" },
	{ READS "datasetfs_reads_total{a=\"\xff\"} 7\n", "not text at offset" },
	{ READS "datasetfs_reads_total 7 1700000000\n", "not a series" },
	{ READS "datasetfs_reads_total 7 # {} 1\n", "not a series" },
	{ READS "datasetfs_reads_total 1e999\n", "not a series" },
	{ READS "datasetfs_reads_total 0x7\n", "not a series" },
	{ READS "datasetfs_reads_total NaN\n", "not a series" },
	{ READS "datasetfs_reads_total \n", "not a series" },
	{ READS "datasetfs_reads_total{} 7\n", "not a series" },
	{ READS "datasetfs_reads_total{a=\"1\",} 7\n", "not a series" },
	{ READS "datasetfs_reads_total{a=\"1\" 7\n", "not a series" },
	{ READS "datasetfs_reads_total{a=\"1\\\"} 7\n", "not a series" },
	{ READS "datasetfs_reads_total{a=\"\\x\"} 7\n", "not a series" },
	{ READS "datasetfs_reads_total{a=\"1\",a=\"2\"} 7\n", "not a series" },
	{ READS "datasetfs_reads_total{mountpoint=\"/other\"} 7\n", "not a series" },
	{ READS "datasetfs_reads_total{__name__=\"up\"} 7\n", "not a series" },
	{ READS "datasetfs_reads_total{a=\"\",b=\"\",c=\"\",d=\"\",e=\"\",f=\"\",g=\"\",h=\"\",i=\"\","
	  "j=\"\",k=\"\",l=\"\",m=\"\",n=\"\",o=\"\",p=\"\",q=\"\"} 7\n", "not a series" },
	{ READS "datasetfs_reads_totals 7\n", "a series outside" },
	{ READS "datasetfs_reads_total_count 7\n", "a series outside" },
	{ TIMES "datasetfs_seconds 7\n", "a series outside" },
	{ READS "up 1\n", "a series outside" },
	{ "# HELP up Up.\n# TYPE up gauge\nup 1\n", "an unexpected HELP of 'up'" },
	{ "# HELP datasetfs_up Up.\n# TYPE datasetfs_up gauge\ndatasetfs_up 1\n", "an unexpected HELP" },
	{ "# HELP datasetfs_exporter_x_total Up.\n", "an unexpected HELP of 'datasetfs_exporter_x_total'" },
	{ "# HELP datasetfs_a\n", "an unexpected HELP of 'datasetfs_a'" },
	{ "# HELP datasetfs_a Say \"a\".\n", "an unexpected HELP of 'datasetfs_a'" },
	{ "# HELP datasetfs_a A.\n# HELP datasetfs_b B.\n", "an unexpected HELP of 'datasetfs_b'" },
	{ "# HELP datasetfs_a A.\n", "the text ends within 'datasetfs_a'" },
	{ "# TYPE datasetfs_a gauge\n", "an unexpected TYPE of 'datasetfs_a'" },
	{ "# HELP datasetfs_a A.\n# TYPE datasetfs_b gauge\n", "an unexpected TYPE of 'datasetfs_b'" },
	{ "# HELP datasetfs_a A.\n# TYPE datasetfs_a counter\n", "an unexpected TYPE of 'datasetfs_a'" },
	{ "# HELP datasetfs_a_total A.\n# TYPE datasetfs_a_total gauge\n", "an unexpected TYPE" },
	{ "# HELP datasetfs_a A.\n# TYPE datasetfs_a summary\n", "an unexpected TYPE of 'datasetfs_a'" },
	{ "# HELP datasetfs_state S.\n# TYPE datasetfs_state histogram\n",
	  "'datasetfs_state' is a histogram, and a gauge of another mount" },
	{ "# EOF\n", "a series outside" },
	{ "", "the last line does not end" },
};

/* Each is refused whole: the good family before it is not taken either. */
static void test_hostile(void **state)
{
	struct exposition *exposition;
	bool is_whole;
	char *text;

	CHECK_OK(exposition_new(&exposition, &err));
	CHECK_OK(add(exposition, "/a", STATE "datasetfs_state 1\n", &err));
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++) {
		/* A good family first, unless the text has it itself, or is refused before lines are looked at. */
		is_whole = strstr(hostile[i].text, TIMES) || strstr(hostile[i].why, "offset") || !*hostile[i].text;
		assert_true(asprintf(&text, "%s%s", is_whole ? "" : TIMES, hostile[i].text) >= 0);
		CHECK_FAILS(add(exposition, "/b", text, &err), -EBADMSG, hostile[i].why);
		free(text);
	}
	written(exposition, STATE "datasetfs_state{mountpoint=\"/a\"} 1\n");
	exposition_free(exposition);
}

/* A mount may take all families that there are: others are refused then, but the exporter's own go on. Nor do lines
 * multiply a long mountpoint without end. */
static void test_crowd(void **state)
{
	struct exposition *exposition;
	char *text = NULL, *point, name[32];
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	for (int i = 0; i < 496; i++)
		fprintf(out, "# HELP datasetfs_%d A.\n# TYPE datasetfs_%d gauge\ndatasetfs_%d 1\n", i, i, i);
	fclose(out);
	CHECK_OK(exposition_new(&exposition, &err));
	CHECK_OK(add(exposition, "/a", STATE "datasetfs_state 1\n", &err));
	CHECK_FAILS(add(exposition, "/b", text, &err), -EBADMSG, "more than 496 families with those of other mounts");
	CHECK_OK(add(exposition, "/c", strstr(text + 1, "# HELP"), &err));
	CHECK_FAILS(add(exposition, "/d", READS, &err), -EBADMSG, "more than 496 families");
	point = calloc(1, 65536);
	assert_non_null(point);
	memset(point, 'a', 65535);
	CHECK_FAILS(add(exposition, point, strstr(text + 1, "# HELP"), &err), -EBADMSG, "more than 64 MiB with what");
	CHECK_OK(add(exposition, "/e", strstr(text + 1, "# HELP"), &err));
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "datasetfs_own_%d", i);
		CHECK_OK(exposition_family(exposition, name, "gauge", "Own.", &err));
	}
	free(point);
	free(text);
	exposition_free(exposition);
}

static void test_listener(void **state)
{
	static const char *const good[] = { "127.0.0.1:9570", "0.0.0.0:1", "[::1]:65535", "[::]:0", ":9570" };
	static const char *const bad[] = { "",	     "127.0.0.1", "9570",	"127.0.0.1:",	    "127.0.0.1:65536",
					   "::1:80", "[::1:80",	  "[::1]",	"[::1]80",	    "localhost:80",
					   "[]:80",  "1.2.3:-1",  "1.2.3.4:x", "1.2.3.4.5:80", "[::g]:80" };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		CHECK_OK(listener_check(good[i], &err));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_FAILS(listener_check(bad[i], &err), -EINVAL,
			    "expected ADDRESS:PORT, such as 127.0.0.1:9570 or [::1]:9570");
}

/* The table has one mount more. */
static void see(struct mounts *mounts, const char *line, unsigned number, unsigned user)
{
	struct mountinfo info;
	char *text;

	assert_true(asprintf(&text, line, number, number, user) >= 0);
	assert_true(mountinfo_parse(text, &info));
	CHECK_OK(mounts_see(mounts, &info, &err));
	free(text);
}

/* Users may mount as many as they like: root's are asked all the same. Names are what they were. */
static void test_mounts(void **state)
{
	static const char plain[] = "1 2 0:%u / /m%u rw - fuse.datasetfs v rw,user_id=%u,group_id=0,allow_other\n";
	static const char odd[] =
		"1 2 0:%u / /a\\040-\\040b\\012\"\\134\xff%u rw shared:1 - fuse.datasetfs  rw,user_id=%u\n";
	struct mounts mounts = { 0 };

	see(&mounts, plain, 1, 0);
	for (unsigned i = 2; i <= MOUNTS_MAX; i++)
		see(&mounts, plain, i, 1000);
	assert_int_equal(mounts.left_out, 0);
	see(&mounts, plain, MOUNTS_MAX + 1, 1000);
	see(&mounts, odd, MOUNTS_MAX + 2, 0);
	assert_int_equal(mounts.count, MOUNTS_MAX);
	assert_int_equal(mounts.left_out, 2);
	assert_string_equal(mounts.list[0].point, "/m1");
	assert_true(mounts.list[0].is_roots && mounts.list[0].is_shared);
	assert_string_equal(mounts.list[MOUNTS_MAX - 1].point, "/a - b\n\"\\\xff" "1026");
	assert_true(mounts.list[MOUNTS_MAX - 1].is_roots && !mounts.list[MOUNTS_MAX - 1].is_shared);
	mounts_free(&mounts);
}

/* From here on the process has no IPv6; false where filters of system calls are not allowed. */
static bool give_up_ipv6(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SECCOMP_DOMAIN),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(steps) / sizeof(*steps), .filter = steps };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The number of the check that fails there; 0: none does. */
static int without_ipv6(void)
{
	char name[LISTENER_NAME_SIZE];
	struct error err = { 0 };
	int fd;

	if (!give_up_ipv6())
		return 77;
	if (listener_open(":0", &fd, name, &err) < 0)
		return 1;
	if (strncmp(name, "0.0.0.0:", 8) != 0 || listen(fd, 1) < 0)
		return 2;
	close(fd);
	if (listener_open("[::1]:0", &fd, name, &err) != -EAFNOSUPPORT)
		return 3;
	return 0;
}

/* In a process of its own, as that cannot be taken back. */
static void test_no_ipv6(void **state)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child)
		_exit(without_ipv6());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The second one learns what it can do about the first. */
static void test_taken(void **state)
{
	char name[LISTENER_NAME_SIZE], other[LISTENER_NAME_SIZE];
	int fd, second;

	CHECK_OK(listener_open("127.0.0.1:0", &fd, name, &err));
	CHECK_FAILS(listener_open(name, &second, other, &err), -EADDRINUSE,
		    "Address already in use; 'ss -ltnp' shows which program does: stop it, or give another address "
		    "with --listen");
	close(fd);
}

CHECK_MAIN(cmocka_unit_test(test_merge), cmocka_unit_test(test_hostile), cmocka_unit_test(test_crowd),
	   cmocka_unit_test(test_listener), cmocka_unit_test(test_mounts), cmocka_unit_test(test_no_ipv6),
	   cmocka_unit_test(test_taken))
