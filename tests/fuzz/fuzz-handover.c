/* SPDX-License-Identifier: MIT */
/* Messages from either side of a mount's socket: one that is accepted can be used without another check. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "handover/handover.h"

static void use_version(const struct handover_opened *opened)
{
	struct error err = { 0 };
	struct index_layout layout;
	struct version version;

	if (handover_get_version(&opened->version, &version, &err) < 0) {
		if (!err.reason[0])
			__builtin_trap();
		return;
	}
	if (strlen(version.label) > DSFS_LABEL_MAX || !version.shape.inode_count ||
	    version.chunk_log < DSFS_CHUNK_LOG_MIN || version.chunk_log > DSFS_CHUNK_LOG_MAX ||
	    index_layout(&version.shape, &layout, &err) < 0 || layout.length != version.index.length)
		__builtin_trap();
	version_free(&version);
}

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
	struct handover_opened opened;
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
	if (handover_check_answer(bytes, length, HANDOVER_OPENED, sizeof(opened), NULL) == 0) {
		memcpy(&opened, bytes, sizeof(opened));
		use_version(&opened);
	}
	return 0;
}
