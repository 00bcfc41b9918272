/* SPDX-License-Identifier: MIT */
/* The last steps of a publish: what the version is called, the end of the read-back, and the transaction that publishes
 * it. */
#pragma once
#include "output/target.h"
#include "output/writer.h"

/* Fills label, uuid, sequence and created of the version. */
must_check int publish_name(const struct target *target, const struct pack_options *options, struct version *version,
			    struct error *err);
/* label NULL, or one that is free. */
must_check int publish_check_label(const struct target *target, const char *label, struct error *err);
/* Identity of a version whose digest is known: the same content under the same number on the same volume. */
must_check int publish_uuid(const struct target *target, struct version *version, struct error *err);
/* Everything of the version is appended to the writer. Takes the version's lists. */
must_check int publish_run(struct target *target, struct writer *writer, struct version *version, bool make_current,
			   struct progress *progress, struct error *err);
