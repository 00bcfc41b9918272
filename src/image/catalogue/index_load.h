/* SPDX-License-Identifier: MIT */
/* Loads a version's index section and checks it, so that it can be trusted afterwards. */
#pragma once
#include "image/catalogue/version.h"
#include "image/index.h"
#include "image/members/backing.h"

/* Copies the version's section into a memfd while hashing it, from copies that have the right digest; checks every
 * page, name and attribute, the owners of the chunk records, and the counts in the catalogue; seals it and opens it.
 * -EBADMSG says what is wrong. */
must_check int index_load(struct backing backing, const struct version *version, struct index **ret,
			  struct error *err);
/* The same from a copy of the section, which begins at this offset of another file. backing: where the version lies. */
must_check int index_load_copy(struct source *copy, uint64_t at, struct backing backing, const struct version *version,
			       struct index **ret, struct error *err);
/* Opens a section that another process loaded by index_load() and handed over: its contents are not checked again, so
 * this takes no time whatever its size. -EPROTO if it is not sealed, or its size is not the version's. Takes fd on
 * success. member_size and members are those of index_set_members(), also below. */
must_check int index_load_sealed(int fd, const struct version *version, uint64_t member_size,
				 const struct members *members, struct index **ret, struct error *err);
/* Opens and checks a section in an open file (the packer's own, or a test's); takes fd on success. */
must_check int index_load_fd(int fd, const struct version *version, uint64_t member_size,
			     const struct members *members, struct index **ret, struct error *err);
/* Checks the catalogue's counts of files, directories, symbolic links and bytes, which no digest proves. */
must_check int index_load_count(const struct index *index, const struct version *version, struct error *err);
