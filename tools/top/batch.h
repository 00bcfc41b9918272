/* SPDX-License-Identifier: MIT */
/* Prints samples for scripts: one JSON object a line, or the page as text. */
#pragma once
#include <stdint.h>
#include <stdio.h>

#include "mounts/watch.h"
#include "top/page.h"

void batch_json(struct watch *watch, const struct page_query *query, FILE *out);
void batch_text(const struct page *page, FILE *out);
