/* SPDX-License-Identifier: MIT */
/* A FUSE request's bytes: whatever is parsed points into them, and nothing else is read. */
#include "fuse/wire.h"
#include "fuzz/fuzz.h"

static volatile uint64_t sink;

static void use_bytes(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		sink += bytes[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct error err = { 0 };
	struct request request;

	if (wire_parse(bytes, length, &request, &err) < 0) {
		if (!err.reason[0])
			__builtin_trap();
		return 0;
	}
	if (request.name) {
		if (request.name_length == 0 || request.name[request.name_length] != 0)
			__builtin_trap();
		use_bytes((const uint8_t *)request.name, request.name_length + 1);
	}
	use_bytes(request.rest, request.rest_length);
	if (request.opcode == FUSE_BATCH_FORGET)
		for (uint32_t i = 0; i < request.in.batch_forget.count; i++)
			sink += wire_forget(&request, i).nodeid;
	if (!wire_opcode_name(request.opcode)[0])
		__builtin_trap();
	return 0;
}
