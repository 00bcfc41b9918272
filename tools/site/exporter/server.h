/* SPDX-License-Identifier: MIT */
/* Serves HTTP: a client that asks for /metrics waits until the owner of the server answers all waiting clients at once.
 * This file is the only user of libmicrohttpd, and starts no thread. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "exporter/exposition.h"

#define SERVER_SECONDS 15u /* until an idle connection is closed */

struct server;

/* Makes a server. Takes ownership of the listening socket, except if it fails. */
must_check int server_open(int listener, struct server **ret, struct error *err);
void server_close(struct server *server); /* NULL does nothing */
/* Returns the descriptor to poll for input. */
int server_fd(const struct server *server);
/* Returns for how many ms to poll at most. */
int server_wait(const struct server *server);
must_check int server_step(struct server *server, struct error *err);
/* Returns whether a client waits for metrics. */
bool server_is_asked(const struct server *server);
/* Answers all waiting clients. exposition: the metrics; NULL: there are none, for the reason in err. */
void server_answer(struct server *server, const struct exposition *exposition, const struct error *err);
