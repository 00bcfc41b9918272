/* SPDX-License-Identifier: MIT */
/* Images that wait for a switch: loop devices that nobody has open, with a record of the mount that each is for. One
 * whose mount has gone is freed by the next command. */
#pragma once
#include "image/catalogue/version.h"
#include "kernelmount/built.h"

/* Makes the folders of records, and clears away what mounts that are gone have left there. */
must_check int prepared_begin(struct error *err);

/* Makes the image that was built stay for the mount with this id, in place of a former one. list: its options. */
must_check int prepared_keep(uint64_t id, const struct built *built, const char *list, struct error *err);
/* Finds the image of this version; nobody else finds it then, and it goes when *ret is closed, unless it is mounted.
 * False: there is none. */
bool prepared_take(uint64_t id, const struct version *version, struct loop *ret);
/* Lets the image of one mount wait for the one that took its place. */
void prepared_move(uint64_t from, uint64_t to);
