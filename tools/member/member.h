/* SPDX-License-Identifier: MIT */
/* Declares the verbs of 'datasetfsctl member', each in the file of its name, and the functions that they share. */
#pragma once
#include "verb.h"
#include "volume.h"

extern const struct command_line member_add_line, member_grow_line, member_list_line, member_rebalance_line,
	member_replace_line;

int member_add_run(int argc, char **argv);
int member_grow_run(int argc, char **argv);
int member_list_run(int argc, char **argv);
int member_rebalance_run(int argc, char **argv);
int member_replace_run(int argc, char **argv);

/* Opens and loads a volume of several members; -EINVAL: it has one. */
must_check int member_open(const char *name, struct volume **ret, struct error *err);
/* Finds a member by its number, its UUID, its identity, or its path. */
must_check int member_find(const struct volume *volume, const char *called, uint32_t *ret, struct error *err);
/* Finds the member that lies at this path or identity. False: none does. */
bool member_find_at(const struct volume *volume, const char *called, uint32_t *ret);
/* Returns the bytes in use in the columns of a member. *ret_groups: the number of its columns. */
uint64_t member_used(const struct members *members, uint32_t number, uint32_t *ret_groups);
