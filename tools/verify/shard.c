/* SPDX-License-Identifier: MIT */
/* Parses "N/T". */
#include "verify/shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/parse.h"

int shard_parse(const char *argument, uint32_t *ret_shard, uint32_t *ret_count, struct error *err)
{
	auto_free char *number = strdup(argument);
	char *slash = number ? strchr(number, '/') : NULL;
	uint64_t shard, count;

	if (!number)
		return error_no_memory(err);
	if (slash)
		*slash = 0;
	if (!slash || parse_u64(slash + 1, 1, UINT32_MAX, &count, NULL) < 0 ||
	    parse_u64(number, 1, count, &shard, NULL) < 0)
		return error_set(err, -EINVAL, "'%s', expected N/T with 1 <= N <= T", argument);
	*ret_shard = (uint32_t)(shard - 1);
	*ret_count = (uint32_t)count;
	return 0;
}
