/* SPDX-License-Identifier: MIT */
/* Parses and formats rates. A bandwidth needs its unit, as MB are not MiB and a network counts bits. */
#pragma once
#include "base/error.h"

/* Parses a number from min to max, which may have decimals. */
must_check int rate_parse_number(const char *text, double min, double max, double *ret, struct error *err);
/* Parses a bandwidth such as 25Gbit, 3GB or 3GiB into bytes a second. */
must_check int rate_parse(const char *text, double *ret, struct error *err);
/* Parses "IOPS,BANDWIDTH". */
must_check int rate_parse_device(const char *text, double *ret_iops, double *ret_bandwidth, struct error *err);

#define RATE_TEXT_SIZE 32
/* Formats bytes a second in powers of 1000, such as "3.2 GB/s"; infinitely many: "no limit of bytes". Returns text. */
const char *rate_format(double rate, char text[RATE_TEXT_SIZE]);
/* Formats a number of things without decimals if it has many digits, such as "129200" or "3.5". Returns text. */
const char *rate_format_number(double number, char text[RATE_TEXT_SIZE]);
