/* SPDX-License-Identifier: MIT */
/* Ends unused mounts when another consumer attaches or detaches, or on request:
 *
 *   - a bind for a mount namespace without processes that nothing keeps: its job or container is over; and the mount
 *     as well, if that was its last consumer;
 *   - a folder in which nothing is mounted: its attach or detach was killed;
 *   - a mount without consumers, ten minutes after it was begun, or at once on request: its attach was killed and not
 *     repeated;
 *   - a mount without consumers that new ones could not use either: at once. */
#pragma once
#include "attach/instance.h"
#include "attach/uses.h"

/* Looks at the mounts of all keys but this one. Skips those at which another process is at work. Failures show as
 * mounts that are still there next time. */
void reap_others(int state, const char *key);
/* Looks at all of them, on request. Waits for processes that work on one. */
void reap_all(int state);
/* Looks at the mounts of a key, whose lock is held, and ends those without consumers, except one with this number. */
void reap_key(int lock, const char *key, unsigned except);
/* Ends a mount that has lost a consumer, if that was the last one. The lock of its key is held. If its number belongs
 * to another mount by now, which is not on this device or has just begun, that one stays. */
void reap_one(const struct instance *instance, dev_t device);
