/* SPDX-License-Identifier: MIT */
/* A flat JSON object: nothing outside of the text is read, and what was found fits. */
#include <string.h>

#include "base/text/json_read.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct json_read read = json_read_begin((const char *)bytes, length);
	char label[16] = "";
	uint64_t sequence;
	bool current;
	const struct json_wanted wanted[] = {
		{ .key = "label", .text = label, .room = sizeof(label) },
		{ .key = "sequence", .number = &sequence },
		{ .key = "current", .flag = &current },
	};
	struct error err = { 0 };

	if (json_read_object(&read, wanted, 3, &err) < 0) {
		if (!err.reason[0])
			__builtin_trap();
		return 0;
	}
	if (read.at > read.end || strlen(label) >= sizeof(label))
		__builtin_trap();
	return 0;
}
