/* SPDX-License-Identifier: MIT */
/* To lower the score takes CAP_SYS_RESOURCE, to raise it again nothing. */
#include "supervisor/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define OOM_FILE "/proc/self/oom_score_adj"
#define OOM_NEVER "-1000"

/* Async-signal-safe. */
static bool oom_write(const char *text)
{
	auto_close int fd = open(OOM_FILE, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, text, strlen(text)) >= 0;
}

int oom_exempt(struct oom_score *ret_former, struct error *err)
{
	auto_close int fd = open(OOM_FILE, O_RDONLY | O_CLOEXEC);

	*ret_former = (struct oom_score){ "" };
	if (fd < 0 || read(fd, ret_former->text, sizeof(ret_former->text) - 1) <= 0) {
		*ret_former->text = 0;
		return error_errno(err, OOM_FILE);
	}
	if (oom_write(OOM_NEVER))
		return 0;
	if (errno == EACCES)
		return error_set(err, -EACCES, "there is no CAP_SYS_RESOURCE here");
	return error_errno(err, OOM_FILE);
}

void oom_restore(const struct oom_score *score)
{
	if (*score->text)
		(void)oom_write(score->text);
}
