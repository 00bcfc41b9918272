/* SPDX-License-Identifier: MIT */
/* The content of a volume, with every byte of it verified, in every copy. */
#pragma once
#include "image/codec.h"
#include "lib/multi_member.h"

/* 'LABEL SEQUENCE,…; CURRENT; SIZE…' with the versions in their order, and the members' sizes. Ends the program when
 * anything is wrong. free() it. */
char *content_describe(struct multi_member *volume, struct codec *codec);
