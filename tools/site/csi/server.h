/* SPDX-License-Identifier: MIT */
/* Answers gRPC calls on a unix socket: one message each way, by HTTP/2
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). A call may be answered at once or later. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"
#include "csi/wire.h"

/* Statuses of gRPC. After ABORTED, UNAVAILABLE and RESOURCE_EXHAUSTED the kubelet thinks that a volume may be published
 * all the same, and unpublishes it if the pod goes away. */
enum server_status {
	SERVER_OK = 0,
	SERVER_INVALID_ARGUMENT = 3,
	SERVER_NOT_FOUND = 5,
	SERVER_RESOURCE_EXHAUSTED = 8,
	SERVER_FAILED_PRECONDITION = 9,
	SERVER_ABORTED = 10,
	SERVER_UNIMPLEMENTED = 12,
	SERVER_INTERNAL = 13,
	SERVER_UNAVAILABLE = 14,
};

struct server;
struct call;

/* Handles a call, which somebody has to answer, once; message is valid until then, and no longer than this call. */
typedef void server_handler(void *argument, struct call *call, struct span message);

struct server_method {
	const char *path; /* "/csi.v1.Identity/Probe" */
	server_handler *handler;
};

/* Serves the methods, which end with one whose path is NULL. loop: see loop.h. */
must_check int server_open(int loop, const char *path, const struct server_method *methods, void *argument,
			   struct server **ret, struct error *err);
/* Removes the socket, and drops all calls: no call may be answered any more, unless somebody else holds it. */
void server_close(struct server *server);

/* Answers, and ends the call. The message stays the caller's. */
void server_answer(struct call *call, const struct wire_message *message);
void server_refuse(struct call *call, enum server_status status, const char *reason);
/* Returns whether the client has given up. The call has to be answered all the same. */
bool server_is_gone(const struct call *call);
