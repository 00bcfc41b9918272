/* SPDX-License-Identifier: MIT */
/* Readers wait meanwhile, so pauses after a crash stay short; a server that never serves helps no reader. A server that
 * is killed is followed at once, unless all are killed before they serve: memory may have run out. */
#include "supervisor/pauses.h"

#include <sys/wait.h>

#include "supervisor/ending.h"
#include "supervisor/message.h"

#define PAUSES_MS       INT64_C(1000000)
#define PAUSES_FIRST    (10 * PAUSES_MS)
#define PAUSES_CRASH    (250 * PAUSES_MS)
#define PAUSES_START    (5000 * PAUSES_MS)
#define PAUSES_KILLS     10u                 /* in a row that are followed at once */
#define PAUSES_FORGOTTEN (10000 * PAUSES_MS) /* of service, after which the next crash counts as the first */

static int64_t pauses_grow(int64_t *pause, int64_t most)
{
	*pause = *pause ? 2 * *pause : PAUSES_FIRST;
	if (*pause > most)
		*pause = most;
	return *pause;
}

static int64_t pauses_before_service(struct pauses *pauses, int status)
{
	if (!ending_is_killed_from_outside(status))
		return pauses_grow(&pauses->start, PAUSES_START);
	return ++pauses->kills > PAUSES_KILLS ? pauses_grow(&pauses->kill, PAUSES_CRASH) : 0;
}

int64_t pauses_next(struct pauses *pauses, int status, int64_t served)
{
	if (served < 0)
		return pauses_before_service(pauses, status);
	pauses->start = pauses->kill = pauses->kills = 0;
	if (served >= PAUSES_FORGOTTEN)
		pauses->crash = 0;
	if (ending_is_killed_from_outside(status) ||
	    (ending_is_exit(status) && WEXITSTATUS(status) == SUPERVISOR_AGAIN))
		return 0;
	return pauses_grow(&pauses->crash, PAUSES_CRASH);
}
