/* SPDX-License-Identifier: MIT */
/* Sums are the same by the code for each kind of CPU, in one piece and in several, and leave registers as other code
 * needs them. */
#include <string.h>

#ifdef CHECKSUM_CHOOSES
#include <sys/platform/x86.h>
#endif

#include "image/sums/checksum.h"
#include "image/sums/checksum_code.h"
#include "lib/check.h"

enum { LARGEST = 70000 };

static uint8_t bytes[LARGEST + 64];

/* The implementations that this CPU can run; NULL behind the last one. */
static const struct checksum_code *codes[4];

static int set_up(void **state)
{
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 2654435761u >> 13);
	codes[count++] = &checksum_baseline;
#ifdef CHECKSUM_CHOOSES
	if (CPU_FEATURE_ACTIVE(AVX2))
		codes[count++] = &checksum_avx2;
	if (CPU_FEATURE_ACTIVE(AVX512F))
		codes[count++] = &checksum_avx512;
#endif
	return 0;
}

/* In three pieces, of which the first ends in the middle of a block of XXH3. */
static uint64_t sum_pieces(const struct checksum_code *code, const uint8_t *start, size_t length)
{
	size_t first = length / 3, second = length / 2 - first;
	const struct iovec pieces[] = {
		{ (void *)start, first },
		{ (void *)(start + first), second },
		{ (void *)(start + first + second), length - first - second },
	};

	return code->sum_64_pieces(pieces, 3);
}

static void check_length(size_t length)
{
	const uint8_t *start = bytes + length % 64;
	uint64_t expected = checksum_baseline.sum_64(start, length);
	struct checksum_key key = checksum_baseline.sum_128(start, length), other;

	for (unsigned i = 0; codes[i]; i++) {
		other = codes[i]->sum_128(start, length);
		assert_int_equal(codes[i]->sum_64(start, length), expected);
		assert_int_equal(sum_pieces(codes[i], start, length), expected);
		assert_int_equal(other.low, key.low);
		assert_int_equal(other.high, key.high);
	}
	assert_int_equal(checksum_64(start, length), expected);
}

static void test_same(void **state)
{
	for (size_t length = 0; length <= 1088; length++)
		check_length(length);
	for (size_t block = 2048; block <= 65536; block *= 2)
		for (size_t length = block - 65; length <= block + 65; length++)
			check_length(length);
}

/* Sums of other implementations of XXH3: sums are stored on volumes. */
static void test_known(void **state)
{
	static const char text[] = "datasetfs";

	for (unsigned i = 0; codes[i]; i++) {
		assert_int_equal(codes[i]->sum_64(text, strlen(text)), UINT64_C(0x729be22c3d4624ab));
		assert_int_equal(codes[i]->sum_64(bytes, 8192), UINT64_C(0x45830b9271bf697a));
	}
}

#ifdef CHECKSUM_CHOOSES
#define STATE_AVX 2 /* the upper halves, in XCR0 */

__attribute__((target("xsave"))) static bool has_upper_halves(void)
{
	return __builtin_ia32_xgetbv(1) & 1 << STATE_AVX;
}

/* While they are in use, instructions of SSE wait for the ones before. */
static void test_clean(void **state)
{
	if (!CPU_FEATURE_ACTIVE(AVX2) || !CPU_FEATURE_PRESENT(XGETBV_ECX_1))
		skip();
	__asm__ volatile("vzeroupper" ::: "xmm0");
	if (has_upper_halves())
		skip(); /* this CPU does not tell */
	__asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
	assert_true(has_upper_halves());
	for (unsigned i = 1; codes[i]; i++) {
		codes[i]->sum_64(bytes, 8192);
		assert_false(has_upper_halves());
		sum_pieces(codes[i], bytes, 8192);
		assert_false(has_upper_halves());
		codes[i]->sum_128(bytes, 8192);
		assert_false(has_upper_halves());
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_known),
#ifdef CHECKSUM_CHOOSES
		cmocka_unit_test(test_clean),
#endif
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
