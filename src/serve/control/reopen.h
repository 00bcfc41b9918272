/* SPDX-License-Identifier: MIT */
/* Opens a device again that went away and came back, perhaps under another name, while the mount serves. */
#pragma once
#include "serve/serve.h"

/* Any thread: reads fail because of the way to the device. */
void reopen_wish(struct serve *serve);
/* By the control thread. Looks when it was wished whether the volume can still be read, and if not whether it is
 * somewhere else: the namespace with the identity that it was mounted from, or what its path leads to. It must be the
 * same volume, in a state not older than at the mount. Then it takes the descriptor's place. */
void reopen_settle(struct serve *serve);
/* Whether the control thread must not read this member, because it does not answer and would block the thread. */
bool reopen_must_wait(const struct serve *serve, uint32_t slot);
/* Tells everybody who has registered the descriptor of this slot that it leads elsewhere. */
void reopen_renew(struct serve *serve, uint32_t slot);
/* The slot has its member. */
void reopen_found(struct serve *serve, uint32_t slot);
