/* SPDX-License-Identifier: MIT */
/* Keeps other hosts from writing to a namespace while this host changes the volume: a Write Exclusive reservation of
 * the whole namespace, even if the volume is only a partition. The host owns the reservation, so its next publisher
 * takes over from one that was killed; the lock of io/file.h decides between publishers of one host. A reservation
 * taken from another host is kept when the publisher ends: the other publisher may only be suspended, and must not
 * write when it wakes up. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The state of a fence. A zeroed one is not raised. */
struct fence {
	int fd;    /* borrowed, or below: takes commands */
	int below; /* the namespace below the mapping that the volume is; -1: it is none. Valid if raised */
	uint32_t nsid;
	uint8_t host[16];
	bool raised;
	bool is_partition; /* the volume is a partition of the namespace that is reserved */
	bool kept;         /* the reservation stays when the fence is lowered, until fence_drop() */
};

/* Reserves the namespace that fd is on, also as a mapping (device/nvme/mapping.h). Returns 0 without a fence if fd is
 * not on a fabric namespace, or on one that cannot be asked or has no reservations; notice then says so, unless fd is a
 * file or a device local to this host. notice also says what else is unusual, and is empty otherwise. -EBUSY: another
 * host, which is named, holds the reservation; with preempt it is taken from that host. */
#define FENCE_NOTICE_SIZE 320
must_check int fence_raise(int fd, bool preempt, struct fence *ret, char notice[FENCE_NOTICE_SIZE], struct error *err);
/* Returns -EBUSY if the reservation is gone: data read earlier may be out of date. */
must_check int fence_check(const struct fence *fence, struct error *err);
/* Releases the reservation unless fence->kept is set. Does nothing if the fence is not raised. */
must_check int fence_lower(struct fence *fence, struct error *err);
/* Releases this host's reservation, kept or left over. *ret_had: there was one. -EBUSY: another host holds it. */
must_check int fence_drop(int fd, bool *ret_had, struct error *err);
