/* SPDX-License-Identifier: MIT */
/* To lower the score takes CAP_SYS_RESOURCE, to raise it again nothing. */
#include "supervisor/oom.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define OOM_FILE "/proc/self/oom_score_adj"
#define OOM_NEVER "-1000"

static void oom_write(const char *text)
{
	auto_close int fd = open(OOM_FILE, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

struct oom_score oom_exempt(void)
{
	struct oom_score score = { "" };
	auto_close int fd = open(OOM_FILE, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, score.text, sizeof(score.text) - 1) <= 0)
		return (struct oom_score){ "" };
	oom_write(OOM_NEVER);
	return score;
}

void oom_restore(const struct oom_score *score)
{
	if (*score->text)
		oom_write(score->text);
}
