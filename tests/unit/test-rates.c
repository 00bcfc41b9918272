/* SPDX-License-Identifier: MIT */
/* Counters as datasetfsctl top and status show them: rates, percentiles, troubles in words, columns. */
#include "lib/check.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mounts/percentile.h"
#include "mounts/rates.h"
#include "status/health.h"
#include "top/table.h"

#define CLOSE(found, expected) assert_true(fabs((found) - (expected)) <= 1e-9 * fabs(expected))

/* Element n counts 2^(n-1) to under 2^n µs. */
static void test_percentiles(void **state)
{
	uint64_t buckets[DSFS_CONTROL_LATENCY_BUCKETS] = { 0 };

	assert_true(isnan(percentile_of(buckets, 0.5)));
	buckets[0] = 4; /* under 1 µs */
	CLOSE(percentile_of(buckets, 0.5), 0.5e-6);
	CLOSE(percentile_of(buckets, 1), 1e-6);
	buckets[0] = 0;
	buckets[8] = 100; /* 128 to 256 µs */
	CLOSE(percentile_of(buckets, 0.25), 160e-6);
	CLOSE(percentile_of(buckets, 0.99), 254.72e-6);
	buckets[11] = 100; /* 1024 to 2048 µs */
	CLOSE(percentile_of(buckets, 0.5), 256e-6);
	CLOSE(percentile_of(buckets, 0.75), 1536e-6);
	CLOSE(percentile_of(buckets, 1), 2048e-6);
	buckets[8] = buckets[11] = 0;
	buckets[DSFS_CONTROL_LATENCY_BUCKETS - 1] = 7; /* no end */
	CLOSE(percentile_of(buckets, 0.5), 4.194304);
}

static struct reported_stats counters(uint64_t n)
{
	struct reported_stats stats = {
		.pid = 7,
		.uptime = 10 + (double)n,
		.cpu = 0.5 + 0.25 * (double)n,
		.files_served = 1000 * n,
		.bytes_served = 3000000 * n,
		.bytes_stored = 1000000 * n,
		.client_files = 500 * n,
		.client_bytes = 2000000 * n,
		.device_reads = 1500 * n,
		.held_reads = 300 * n,
		.local_hits = 500 * n,
		.device_bytes = 5000000 * n,
		.read_failures = n,
		.stalls = 2 * n,
	};

	stats.read_latency[5] = 1000000; /* long ago */
	stats.read_latency[11] = 90 * n;
	stats.read_latency[14] = 10 * n;
	return stats;
}

/* Two looks two seconds apart: what was before the first one does not count. */
static void test_rates(void **state)
{
	struct reported_stats before = counters(1), after = counters(3);
	struct rates rates;

	rates_between(&before, &after, &rates);
	CLOSE(rates.seconds, 2.0);
	assert_int_equal(rates.files, 3000); /* 2000 through the mount, 1000 past it */
	assert_int_equal(rates.mount_files, 2000);
	assert_int_equal(rates.bytes, 12000000); /* in replies, stored, and past the mount */
	assert_int_equal(rates.reads, 3000);
	assert_int_equal(rates.device_bytes, 10000000);
	assert_int_equal(rates.errors, 2);
	assert_int_equal(rates.stalls, 4);
	CLOSE(rates.cpu, 0.5);
	CLOSE(rates.files_per_second, 1500.0);
	CLOSE(rates.bytes_per_second, 6e6);
	CLOSE(rates.device_bytes_per_second, 5e6);
	CLOSE(rates.local_per_read, 0.25);
	CLOSE(rates.reads_per_file, 1.5); /* of those that the daemon read */
	CLOSE(rates.cpu_per_file, 250e-6);
	CLOSE(rates.latency[RATES_P50], (1024 + 1024 * 100.0 / 180) * 1e-6);
	CLOSE(rates.latency[RATES_P90], 2048e-6);
	CLOSE(rates.latency[RATES_P99], (8192 + 8192 * 0.9) * 1e-6);
}

static void test_rates_of_nothing(void **state)
{
	struct reported_stats before = counters(1), after = before;
	struct rates rates;

	rates_between(NULL, &after, &rates);
	assert_true(rates.seconds == 0 && isnan(rates.files_per_second));
	after.uptime += 1;
	rates_between(&before, &after, &rates);
	assert_true(rates.files_per_second == 0);
	assert_true(isnan(rates.reads_per_file) && isnan(rates.cpu_per_file) && isnan(rates.latency[RATES_P99]));
}

/* Its counters begin at 0: nothing becomes negative, and what it did counts. */
static void test_another_daemon(void **state)
{
	struct reported_stats before = counters(100), after = counters(1);
	struct rates rates;

	after.uptime = 4; /* a process of the same number, as in containers */
	rates_between(&before, &after, &rates);
	CLOSE(rates.seconds, 4.0);
	assert_int_equal(rates.files, 1500);
	CLOSE(rates.files_per_second, 375.0);
	after.pid = 8;
	after.uptime = 200; /* has run for longer than the other one */
	rates_between(&before, &after, &rates);
	CLOSE(rates.seconds, 200.0);
	assert_int_equal(rates.mount_files, 1000);
}

static void expect_trouble(const struct reported_stats *stats, size_t index, const char *word, const char *text)
{
	struct health_trouble trouble;

	assert_true(health_trouble(stats, "/mnt", 1000, index, &trouble));
	assert_string_equal(trouble.word, word);
	assert_string_equal(trouble.text, text);
}

static void test_health(void **state)
{
	struct reported_stats stats = counters(0);
	struct health_trouble trouble;

	stats.stalls = 3; /* they are over */
	stats.errors = stats.retries = 5;
	assert_false(health_trouble(&stats, "/mnt", 1000, 0, &trouble));
	stats.client_device_errors = 1;
	stats.checksum_failures = 2;
	stats.last_error = 990;
	expect_trouble(&stats, 0, "errors",
		       "1 reads of the device failed, 2 sums did not match since the mount, the last 10 s ago");
	stats.read_failures = 1;
	stats.last_failure = 995;
	expect_trouble(&stats, 0, "failures", "1 read failed for good since the mount, the last 5 s ago");
	stats.client_read_failures = 1;
	expect_trouble(&stats, 0, "failures", "2 reads failed for good since the mount, the last 5 s ago");
	stats.damaged = 2;
	expect_trouble(&stats, 0, "damage", "2 places, see /mnt/.datasetfs/damage");
	stats.members = 4;
	stats.suspect = 1;
	stats.first_suspect = 3;
	expect_trouble(&stats, 0, "suspect", "member 3 is silent or fails, a copy is read where there is one");
	stats.missing = 2;
	expect_trouble(&stats, 0, "degraded", "2 of 4 members missing");
	strcpy(stats.degraded, "members 1, 2 missing");
	expect_trouble(&stats, 0, "degraded", "members 1, 2 missing");
	stats.stalled_since = 986;
	expect_trouble(&stats, 0, "stalled",
		       "reads have waited for the device for 14 s, since 1970-01-01 00:16:26 UTC");
	expect_trouble(&stats, 1, "degraded", "members 1, 2 missing");
	expect_trouble(&stats, 5, "errors",
		       "1 reads of the device failed, 2 sums did not match since the mount, the last 10 s ago");
	assert_false(health_trouble(&stats, "/mnt", 1000, 6, &trouble));
}

/* It explains reads of the device that failed, but not what followed from them. */
static void test_truncated(void **state)
{
	struct reported_stats stats = counters(0);
	struct health_trouble trouble;

	stats.device_errors = stats.read_failures = 1;
	stats.last_error = stats.last_failure = 995;
	stats.truncated = (struct reported_size){ .size = 100 << 20, .opened = 478 << 20 };
	expect_trouble(&stats, 0, "truncated", "the volume is shorter than when it was mounted (100 MiB of 478 MiB)");
	expect_trouble(&stats, 1, "failures", "1 read failed for good since the mount, the last 5 s ago");
	assert_false(health_trouble(&stats, "/mnt", 1000, 2, &trouble));
	stats.members = 4;
	stats.truncated.member = 2;
	expect_trouble(&stats, 0, "truncated", "member 2 is shorter than when it was mounted (100 MiB of 478 MiB)");
}

static struct watch_mount mount_of(char *point, uint64_t n)
{
	struct reported_stats before = counters(0), after = counters(n);
	struct watch_mount mount = { .mounted = { .point = point },
				     .state = WATCH_ANSWERS,
				     .has_stats = true,
				     .has_rates = true,
				     .stats = after };

	after.uptime = before.uptime + 1;
	after.read_failures = mount.stats.read_failures = 0;
	mount.stats.serving_since = 1000;
	strcpy(mount.stats.label, "2026-11-23 with much behind it");
	rates_between(&before, &after, &mount.rates);
	return mount;
}

static void test_columns(void **state)
{
	struct watch_mount mount = mount_of((char[]){ "/mnt/datasets/imagenet" }, 3);
	char text[TABLE_LINE_SIZE];

	table_head(80, 0, text);
	assert_string_equal(text, "MOUNT       VERSION SINCE  FILES   DATA   p50   p99 READS CPU us STALLS STATE");
	table_head(80, 1, text);
	assert_string_equal(text, "                              /s   MB/s    ms    ms /file  /file");
	table_row(&mount, 1000 + 7200, 80, text);
	assert_string_equal(text, "~s/imagenet ~ind it    2h   4500   18.0  1.59  15.6  1.50    250      6 ok");
	table_row(&mount, 1000 + 59, 10, text); /* as 35 */
	assert_string_equal(text, "~s/imagenet ~ind it   4500 ok");
	for (unsigned width = 35; width < 80; width++) {
		table_head(width, 0, text);
		assert_in_range(strlen(text), width - 3, width); /* the title is shorter than the column */
		table_row(&mount, 1000 + 59, width, text);
		assert_in_range(strlen(text), width - 6, width);
		assert_string_equal(strrchr(text, ' '), " ok");
	}
	table_row(&mount, 1000 + 90000, 140, text);
	assert_string_equal(
		text, "/mnt/datasets/imagenet ~h behind it    1d   4500   18.0  1.59  2.05  15.6  16.3  1.50"
		      "    250   15.0  75.0  20.0      0     0      6 ok");
	mount.stats.damaged = 1;
	assert_string_equal(table_state(&mount, 1000), "damage");
	mount.rates.reads_per_file = 0.99976;
	mount.rates.files_per_second = 1234567;
	table_row(&mount, 1000, 80, text);
	assert_string_equal(text, "~s/imagenet ~ind it    0s  1235k   18.0  1.59  15.6  1.00    250      6 damage");
	mount.state = WATCH_SILENT;
	mount.has_rates = false;
	assert_string_equal(table_state(&mount, 1000), "silent");
	table_row(&mount, 1000, 80, text);
	assert_string_equal(text, "~s/imagenet ~ind it    0s      -      -     -     -     -      -      6 silent");
}

/* Whatever is in a name, a line has the columns that it may have and does no harm. */
static void test_names(void **state)
{
	char point[600] = "/", text[TABLE_LINE_SIZE];
	struct watch_mount mount = mount_of(point, 1);

	setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 1; i + 2 < sizeof(point); i += 2)
		memcpy(point + i, "\xcc\x81", 3); /* an accent without a letter */
	for (unsigned width = 80; width <= TABLE_WIDTH_MAX; width++) {
		table_row(&mount, 1000, width, text);
		assert_true(strlen(text) < TABLE_LINE_SIZE);
	}
	table_cut(point, 10, text);
	assert_int_equal(strlen(text), 1 + 38); /* no columns, but bytes */
	strcpy(point, "/a\033[2J\n\xff");
	table_row(&mount, 1000, 80, text);
	assert_memory_equal(text, "/a?[2J??    ", 12);
	table_cut("abc\007def", 5, text);
	assert_string_equal(text, "abc?d");
}

static void test_order(void **state)
{
	struct watch_mount mounts[] = { mount_of((char[]){ "/b" }, 1), mount_of((char[]){ "/a" }, 1),
					mount_of((char[]){ "/c" }, 2), mount_of((char[]){ "/d" }, 1) };
	struct watch_mount *order[] = { mounts, mounts + 1, mounts + 2, mounts + 3 };
	enum table_sort sort = TABLE_FILES;

	mounts[3].state = WATCH_GONE;
	qsort_r(order, 4, sizeof(*order), table_compare, &sort);
	assert_string_equal(order[0]->mounted.point, "/d");
	assert_string_equal(order[1]->mounted.point, "/c");
	assert_string_equal(order[2]->mounted.point, "/a");
	assert_string_equal(order[3]->mounted.point, "/b");
	sort = TABLE_MOUNT;
	qsort_r(order, 4, sizeof(*order), table_compare, &sort);
	assert_string_equal(order[1]->mounted.point, "/a");
	assert_string_equal(order[3]->mounted.point, "/c");
}

CHECK_MAIN(cmocka_unit_test(test_percentiles), cmocka_unit_test(test_rates), cmocka_unit_test(test_rates_of_nothing),
	   cmocka_unit_test(test_another_daemon), cmocka_unit_test(test_health), cmocka_unit_test(test_truncated),
	   cmocka_unit_test(test_columns), cmocka_unit_test(test_names), cmocka_unit_test(test_order))
