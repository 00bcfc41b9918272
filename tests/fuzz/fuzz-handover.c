/* SPDX-License-Identifier: MIT */
/* Messages from either side of a mount's socket: one that is accepted can be used without another check. */
#include "fuzz/fuzz.h"
#include "handover/handover.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct {
		enum handover_kind kind;
		size_t size;
	} kinds[] = {
		{ HANDOVER_GREETING, sizeof(struct handover_greeting) },
		{ HANDOVER_OPEN, sizeof(struct handover_open) },
		{ HANDOVER_OPENED, sizeof(struct handover_opened) },
		{ HANDOVER_REPORT, HANDOVER_REPORT_LEAST },
		{ HANDOVER_BORROW, sizeof(struct handover_borrow) },
		{ HANDOVER_LENT, sizeof(struct handover_lent) },
		{ HANDOVER_CACHE, sizeof(struct handover_cache) },
		{ HANDOVER_CACHED, sizeof(struct handover_cached) },
		{ HANDOVER_HITS, sizeof(struct handover_hits) },
	};
	unsigned accepted = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct error err = { 0 };
		int r = handover_check(bytes, length, kinds[i].kind, kinds[i].size, &err);

		if (r < 0 ? !err.reason[0] : length < kinds[i].size)
			__builtin_trap();
		accepted += r == 0;
	}
	if (accepted > 1)
		__builtin_trap();
	if (handover_check_answer(bytes, length, HANDOVER_OPENED, sizeof(struct handover_opened), NULL) == 0 &&
	    length < sizeof(struct handover_opened))
		__builtin_trap();
	return 0;
}
