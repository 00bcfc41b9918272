/* SPDX-License-Identifier: MIT */
/* Opens a device again that went away and came back while the mount serves, perhaps under another name. */
#pragma once
#include "serve/serve.h"

/* Has the control thread check the volume, as reads fail because of the path to the device. Callable on any thread. */
void reopen_request(struct serve *serve);
/* After reopen_request(), checks whether each member can still be read. If not, opens it again: the namespace with the
 * identity that was mounted, or the file that its path leads to now. If that is the same volume, in a state not older
 * than at the mount, it takes over the descriptor. Control thread only. */
void reopen_settle(struct serve *serve);
/* Whether the control thread must not read this member, because it does not answer and would block the thread. */
bool reopen_must_wait(const struct serve *serve, uint32_t slot);
/* Tells all threads that have registered the descriptor of this slot, and clients, that it leads elsewhere. */
void reopen_renew(struct serve *serve, uint32_t slot);
/* Notes that the slot has its member: it is not lost. Failures of the time when it was lost no longer count. */
void reopen_found(struct serve *serve, uint32_t slot);
