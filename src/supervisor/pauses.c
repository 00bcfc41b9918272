/* SPDX-License-Identifier: MIT */
/* Readers wait meanwhile, so pauses after a crash stay short; a server that never serves helps nobody. */
#include "supervisor/pauses.h"

#include <sys/wait.h>

#include "supervisor/ending.h"
#include "supervisor/message.h"

#define PAUSES_MS       INT64_C(1000000)
#define PAUSES_FIRST    (10 * PAUSES_MS)
#define PAUSES_CRASH    (250 * PAUSES_MS)
#define PAUSES_START    (5000 * PAUSES_MS)
#define PAUSES_FORGOTTEN (10000 * PAUSES_MS) /* of service, after which the next crash counts as the first */

static int64_t pauses_grow(int64_t *pause, int64_t most)
{
	*pause = *pause ? 2 * *pause : PAUSES_FIRST;
	if (*pause > most)
		*pause = most;
	return *pause;
}

int64_t pauses_next(struct pauses *pauses, int status, int64_t served)
{
	if (served < 0)
		return pauses_grow(&pauses->start, PAUSES_START);
	pauses->start = 0;
	if (served >= PAUSES_FORGOTTEN)
		pauses->crash = 0;
	if (ending_is_killed_from_outside(status) ||
	    (ending_is_exit(status) && WEXITSTATUS(status) == SUPERVISOR_AGAIN))
		return 0;
	return pauses_grow(&pauses->crash, PAUSES_CRASH);
}
