/* SPDX-License-Identifier: MIT */
/* Prints the description of a version for people. */
#pragma once
#include "describe/subject/chart.h"
#include "describe/subject/subject.h"
#include "describe/survey/survey.h"

must_check int survey_text(const struct chart *chart, const struct subject *subject, const struct survey *survey,
			   struct error *err);
