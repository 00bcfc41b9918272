/* SPDX-License-Identifier: MIT */
/* Makes the last steps of a publish: names the version, waits for the read-back, and commits the transaction. */
#pragma once
#include "output/target.h"
#include "output/writer.h"

/* Fills label, uuid, sequence and created of the version. */
must_check int publish_name(const struct target *target, const struct pack_options *options, struct version *version,
			    struct error *err);
/* Checks that the label is valid and no version on the volume has it. A label of NULL passes. */
must_check int publish_check_label(const struct target *target, const char *label, struct error *err);
/* Derives the version's UUID from its digest, its number and the volume: the same content gets the same UUID. */
must_check int publish_uuid(const struct target *target, struct version *version, struct error *err);
/* Finishes the writer, to which the whole version was written, and commits. Takes ownership of the version's lists. */
must_check int publish_run(struct target *target, struct writer *writer, struct version *version, bool make_current,
			   struct progress *progress, struct error *err);
