/* SPDX-License-Identifier: MIT */
/* .datasetfs/metrics: what stats.json counts, in the text format of Prometheus (version 0.0.4), in seconds and bytes.
 * https://prometheus.io/docs/instrumenting/exposition_formats/ */
#pragma once
#include <stdio.h>

#include "serve/serve.h"

void metrics_write(struct serve *serve, FILE *out);
