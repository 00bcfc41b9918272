/* SPDX-License-Identifier: MIT */
/* A unix socket at which root alone is served: by its mode, by that of its folder, and by asking who connects. */
#pragma once
#include "base/error.h"

/* Listens, in place of a plugin that was killed. -EADDRINUSE: one answers there. */
must_check int socket_listen(const char *path, int *ret, struct error *err);
/* Accepts a connection. Returns -1 if there is none, or if it is not root's, which is closed. */
int socket_accept(int listener);
