/* SPDX-License-Identifier: MIT */
/* .datasetfs/metrics: the numbers of stats.json in the text format of Prometheus (version 0.0.4), in seconds and bytes.
 * https://prometheus.io/docs/instrumenting/exposition_formats/ */
#pragma once
#include <stdio.h>

#include "serve/serve.h"

/* Writes the content of the file. */
void metrics_write(struct serve *serve, FILE *out);
