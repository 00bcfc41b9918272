/* SPDX-License-Identifier: MIT */
/* A plan with its inputs, and its output as text for people and as JSON. */
#pragma once
#include "describe/common/subject.h"
#include "plan/assume.h"
#include "plan/formulas.h"
#include "served.h"

struct sheet {
	const struct subject *subject;
	struct formulas_data data;
	struct formulas_inputs inputs;
	struct assumptions assumptions;
	struct formulas_plan plan;
	unsigned copies;  /* of each byte */
	bool is_measured; /* the speed of the members, which disturbed these mounts */
	struct served served;
};

/* Returns a part or a way of reading in one word. */
const char *sheet_part(enum formulas_part part);
const char *sheet_how(enum formulas_reads how);
must_check int sheet_text(const struct sheet *sheet, struct error *err);
void sheet_json(const struct sheet *sheet);
