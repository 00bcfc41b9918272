/* SPDX-License-Identifier: MIT */
/* The thread that writes into the folder: copies of opened indexes, and which mount this is. It never reads the volume,
 * and no reader waits for it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cache/copy.h"
#include "image/catalogue/catalogue.h"
#include "serve/version/generation.h"

struct copier;

/* folder: that of cache/folder.h, at path; both stay the caller's. */
must_check int copier_new(int folder, const char *path, struct copier **ret, struct error *err);
/* Has the thread make the folder like the catalogue: without copies of other versions, and with those of this version,
 * which stays in use meanwhile. Any thread may call this, also before copier_start(). Does nothing if much waits
 * already: the next mount makes up for it. */
void copier_post(struct copier *copier, const struct catalogue *catalogue, struct generation *generation);
/* Has the thread remove a copy of this volume that is wrong. The caller does not wait for the drive, which may hang. */
void copier_reject(struct copier *copier, const uint8_t volume[16], const struct copy *copy);
/* Has the thread tell other mounts of the volume where this one's socket is, from its beginning to its end. All three
 * must stay. */
void copier_announce(struct copier *copier, const uint8_t volume[16], const char *name, const char *path);
must_check int copier_start(struct copier *copier, struct error *err);
/* Ends the thread. False: the drive holds it back; it was left running and may use the struct. */
must_check bool copier_stop(struct copier *copier);
void copier_free(struct copier *copier);
