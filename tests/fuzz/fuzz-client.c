/* SPDX-License-Identifier: MIT */
/* Messages from either side of a mount's socket: one that is accepted can be used without another check. */
#include "client/client.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct {
		enum client_kind kind;
		size_t size;
	} kinds[] = {
		{ CLIENT_GREETING, sizeof(struct client_greeting) }, { CLIENT_OPEN, sizeof(struct client_open) },
		{ CLIENT_OPENED, sizeof(struct client_opened) },     { CLIENT_REPORT, CLIENT_REPORT_LEAST },
		{ CLIENT_BORROW, sizeof(struct client_borrow) },     { CLIENT_LENT, sizeof(struct client_lent) },
		{ CLIENT_CACHE, sizeof(struct client_cache) },       { CLIENT_CACHED, sizeof(struct client_cached) },
		{ CLIENT_HITS, sizeof(struct client_hits) },
	};
	unsigned accepted = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct error err = { 0 };
		int r = client_check(bytes, length, kinds[i].kind, kinds[i].size, &err);

		if (r < 0 ? !err.reason[0] : length < kinds[i].size)
			__builtin_trap();
		accepted += r == 0;
	}
	if (accepted > 1)
		__builtin_trap();
	if (client_check_answer(bytes, length, CLIENT_OPENED, sizeof(struct client_opened), NULL) == 0 &&
	    length < sizeof(struct client_opened))
		__builtin_trap();
	return 0;
}
