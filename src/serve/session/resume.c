/* SPDX-License-Identifier: MIT */
/* A job like those of commands, and the first of them. */
#include "serve/session/resume.h"

#include "serve/control/command.h"
#include "serve/control/control.h"
#include "serve/control/listing.h"
#include "serve/control/upgrade.h"
#include "serve/session/renew.h"
#include "serve/successor/crash.h"

static struct {
	struct control_job job; /* must be the first field */
	uint64_t files[RECOVERY_SNAPSHOTS]; /* of earlier servers, from renew_begin() */
	struct keep_answer upgraded; /* what led to this server; a copy, as the session may hear another answer */
} resume;

static bool resume_run(struct serve *serve, struct control_job *job)
{
	(void)job;
	renew_files(serve, resume.files);
	upgrade_finish(serve, &resume.upgraded);
	command_finish(serve);
	listing_answered(serve); /* the kernel may have taken one over for ever */
	/* Servers may die more often than the period; one that crashed in that very work must not do so at once. */
	if (!crash_had_duties(serve->recovery))
		control_look(serve->control);
	return false; /* no worker waits for it */
}

int resume_start(struct serve *serve, struct error *err)
{
	const struct keep_answer *upgraded = keep_upgraded(serve->keep);

	(void)err;
	if (!serve->adopts)
		return 0;
	renew_begin(serve, resume.files);
	if (upgraded)
		resume.upgraded = *upgraded;
	resume.job.run = resume_run;
	control_submit(serve->control, &resume.job);
	return 0;
}
