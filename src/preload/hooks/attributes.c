/* SPDX-License-Identifier: MIT */
/* Hooks fstat(2) and its old names: the kernel would show the attributes of the placeholder. */
#include "lib/direct/attributes.h"

#include <string.h>

#include "preload/hooks/hook.h"
#include "preload/hooks/serving.h"
#include "preload/mounts/datasets.h"
#include "preload/process/next.h"

static bool attributes_serve(int fd, struct stat *ret)
{
	struct serving serving;
	struct stat st;
	bool is_served;

	if (!ret || !serving_begin(&serving, fd))
		return false;
	is_served = !serving.file->is_real &&
		    attributes_stat(serving.file->opened, serving.file->id, &st, NULL) == 0;
	if (is_served) {
		st.st_dev = serving.file->dataset->device;
		memcpy(ret, &st, sizeof(st));
	}
	serving_end(&serving, is_served || serving.file->is_real ? NULL : "fstat");
	return is_served;
}

HOOK(fstat);
int hook_fstat(int fd, struct stat *ret)
{
	return attributes_serve(fd, ret) ? 0 : next()->fstat(fd, ret);
}

HOOK(__fxstat);
int hook___fxstat(int version, int fd, struct stat *ret)
{
	bool is_known = version >= 0 && version < FXSTAT_VERSIONS;

	return is_known && attributes_serve(fd, ret) ? 0 : next()->__fxstat(version, fd, ret);
}

int fstat64(int fd, struct stat64 *ret) HOOK_EXPORTED __attribute__((alias("fstat")));
int __fxstat64(int version, int fd, struct stat64 *ret) HOOK_EXPORTED __attribute__((alias("__fxstat")));
