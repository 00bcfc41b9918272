/* SPDX-License-Identifier: MIT */
/* Keeps other hosts from writing to a namespace while this host changes the volume: a Write Exclusive reservation of
 * the whole namespace, even if the volume is a partition of it. The reservation belongs to the host, so the next
 * publisher of the host takes over what a killed one left; between publishers of one host the lock decides (io/file.h).
 * A reservation that was taken away from another host is kept when the publisher ends: the other publisher may only be
 * suspended, and must not write when it wakes up. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A zeroed one is not raised. */
struct fence {
	int fd; /* borrowed */
	uint32_t nsid;
	uint8_t host[16];
	bool raised;
	bool is_partition; /* of the namespace that is reserved */
	bool kept;         /* stays when the fence is lowered, until fence_drop() */
};

/* 0 without a fence when fd is no namespace on a fabric nor a partition of one, or when that has no reservations; then,
 * unless it is a file or a device that belongs to one host, or when there is something else to be said, notice is not
 * empty. -EBUSY: another host has it reserved and is named; with preempt it is
 * taken from that host. */
#define FENCE_NOTICE_SIZE 320
must_check int fence_raise(int fd, bool preempt, struct fence *ret, char notice[FENCE_NOTICE_SIZE], struct error *err);
/* -EBUSY when it is gone: what was read before may be of the past. */
must_check int fence_check(const struct fence *fence, struct error *err);
/* Nothing when it is not raised. */
must_check int fence_lower(struct fence *fence, struct error *err);
/* Gives up what this host has, kept or left; *ret_had: there was something. -EBUSY: another host has it reserved. */
must_check int fence_drop(int fd, bool *ret_had, struct error *err);
