/* SPDX-License-Identifier: MIT */
/* Tells the service manager the state of the program: sd_notify(3) without libsystemd. */
#pragma once
#include "base/error.h"

/* Sends one datagram to $NOTIFY_SOCKET, or nothing if it is not set. Lines as in sd_notify(3): "READY=1". */
void notify_send(const char *fmt, ...) printf_like(1, 2);
