/* SPDX-License-Identifier: MIT */
/* Speaks HTTP: who asks for /metrics waits until the owner of the server answers all who do. The only user of
 * libmicrohttpd. No thread but the caller's. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "exporter/exposition.h"

#define SERVER_SECONDS 15u /* that a connection may be idle; how many there may be: crowd.h */

struct server;

/* Takes the listening socket, also when it fails. */
must_check int server_open(int listener, struct server **ret, struct error *err);
void server_close(struct server *server); /* NULL does nothing */
/* To be polled for something to read, for so many ms at most. */
int server_fd(const struct server *server);
int server_wait(const struct server *server);
must_check int server_step(struct server *server, struct error *err);
/* Somebody waits for metrics. */
bool server_is_asked(const struct server *server);
/* Answers them. exposition: NULL when it could not be made, for this reason. */
void server_answer(struct server *server, const struct exposition *exposition, const struct error *err);
