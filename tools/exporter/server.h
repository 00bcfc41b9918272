/* SPDX-License-Identifier: MIT */
/* Speaks HTTP: a client that asks for /metrics waits until the owner of the server answers all waiting clients at once.
 * The only user of libmicrohttpd. Starts no thread. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "exporter/exposition.h"

#define SERVER_SECONDS 15u /* after which an idle connection is closed; crowd.h limits their number */

struct server;

/* Takes ownership of the listening socket, also when it fails. */
must_check int server_open(int listener, struct server **ret, struct error *err);
void server_close(struct server *server); /* NULL does nothing */
/* The descriptor to poll for input, and for how many ms at most. */
int server_fd(const struct server *server);
int server_wait(const struct server *server);
must_check int server_step(struct server *server, struct error *err);
/* Whether a client waits for metrics. */
bool server_is_asked(const struct server *server);
/* Answers all waiting clients. exposition: NULL if there is none, for the reason in err. */
void server_answer(struct server *server, const struct exposition *exposition, const struct error *err);
