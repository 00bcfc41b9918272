/* SPDX-License-Identifier: MIT */
/* The chunks of a mount's volume that this machine keeps, in the folder of the option cache=. */
#pragma once
#include "cache/store.h"
#include "serve/serve.h"

/* Opens them and sets serve->cached, if the mount has a folder. If it cannot, a line says why, and the cache is left to
 * other mounts. Call it when the volume and a version are open, and before there are engines. */
void cached_chunks_open(struct serve *serve);
/* Returns the store, which stays for the life of the mount; NULL: it has none. */
const struct store *cached_chunks_store(const struct serve *serve);
/* Notes that a client with access to the volume read this slot, whatever its number. Any thread may call it. */
void cached_chunks_hit(const struct serve *serve, uint64_t slot);
/* Any thread may call it; zeros if the mount keeps none. */
struct store_state cached_chunks_state(const struct serve *serve);
/* Whether another mount on this machine fills them. Any thread may call it. */
bool cached_chunks_follows(const struct serve *serve);
/* Starts the thread that fills them. */
must_check int cached_chunks_start(struct serve *serve, struct error *err);
/* Writes the rest, and ends the thread. False: the drive does not complete a write; the thread was left running and may
 * use its memory until the process ends. */
must_check bool cached_chunks_stop(const struct serve *serve);
/* Frees all, when no read can come any more. */
void cached_chunks_free(struct serve *serve);
