/* SPDX-License-Identifier: MIT */
/* Reopens a device that went away and came back while the mount serves, perhaps under another name. */
#pragma once
#include "serve/serve.h"

/* Has the control thread check the volume, because reads fail on the path to the device. Any thread may call this. */
void reopen_request(struct serve *serve);
/* After reopen_request(), checks whether each member can still be read. If not, opens it again: the namespace with the
 * identity that was mounted, or the file that its path leads to now. If that is a member of the same volume, no older
 * than at the mount, the member's descriptor refers to it from now on. Control thread only. */
void reopen_settle(struct serve *serve);
/* Whether the control thread must not read this member, because it does not answer and would block the thread. */
bool reopen_must_wait(const struct serve *serve, uint32_t slot);
/* Tells all threads that have registered the descriptor of this slot, and clients, that it now refers to another device
 * or file. */
void reopen_renew(struct serve *serve, uint32_t slot);
/* Notes that the member in this slot is not lost, or was found again. Failures from the time when it was lost no longer
 * count. */
void reopen_found(struct serve *serve, uint32_t slot);
