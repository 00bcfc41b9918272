/* SPDX-License-Identifier: MIT */
/* Its requests are empty, and its answers always the same. Numbers of fields are those of csi.proto, version 1. */
#include "csi/identity.h"

#include "base/cleanup.h"

void identity_info(void *argument, struct call *call, struct span message)
{
	auto_wire struct wire_message answer = { 0 };

	(void)argument;
	(void)message;
	wire_put_text(&answer, 1, IDENTITY_NAME);
	wire_put_text(&answer, 2, DATASETFS_RELEASE);
	server_answer(call, &answer);
}

/* There is no controller, and volumes are the same on each node. */
void identity_capabilities(void *argument, struct call *call, struct span message)
{
	const struct wire_message answer = { 0 };

	(void)argument;
	(void)message;
	server_answer(call, &answer);
}

void identity_probe(void *argument, struct call *call, struct span message)
{
	auto_wire struct wire_message answer = { 0 }, ready = { 0 };

	(void)argument;
	(void)message;
	wire_put_number(&ready, 1, 1);
	wire_put_message(&answer, 1, &ready);
	server_answer(call, &answer);
}
