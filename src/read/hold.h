/* SPDX-License-Identifier: MIT */
/* Device reads that wait until the window lets them begin: users take turns, and each of a user's reads waits for those
 * before it. The hold belongs to a reader, and so to one thread; all threads share the window. */
#pragma once
#include "read/op.h"

/* Asks whether a read whose member is chosen may begin, and counts it if so. Reads of a member that is suspect are
 * neither asked for nor counted, or those that hang would fill the window. */
bool hold_lets(struct read_fetch *fetch, int64_t now);
/* Ends a read that began, and learns from it. */
void hold_end(struct read_fetch *fetch, int64_t now);

/* Returns the part of a slow read's time in which its thread was busy or waited for a CPU: all of it where that is a
 * half or more. */
int64_t hold_own(struct reader *reader, int64_t took, int64_t now);

/* Adds a read that must wait, in the order of turns. */
void hold_add(struct read_fetch *fetch, int64_t now);
/* Says how many ns later to look whether a read may begin; 0: none waits. */
int64_t hold_pause(const struct reader *reader, int64_t now);
/* Tells the other threads whether this reader's reads wait. */
void hold_tell(struct reader *reader);

/* Counts the device reads of op as under way no longer, so that it can be made again. */
void hold_drop(struct read_op *op);
/* Counts reads of members that have become suspect as under way no longer. */
void hold_drop_suspects(struct reader *reader, int64_t now);
