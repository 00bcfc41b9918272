/* SPDX-License-Identifier: MIT */
/* Prints the description of a version for people. */
#pragma once
#include "describe/common/chart.h"
#include "describe/common/subject.h"
#include "describe/survey/survey.h"

must_check int survey_text(const struct chart *chart, const struct subject *subject, const struct survey *survey,
			   struct error *err);
