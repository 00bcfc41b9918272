/* SPDX-License-Identifier: MIT */
/* Prints the description of a version for programs. */
#pragma once
#include "describe/common/subject.h"
#include "describe/survey/survey.h"

void survey_json(const struct subject *subject, const struct survey *survey);
