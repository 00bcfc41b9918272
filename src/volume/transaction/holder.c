/* SPDX-License-Identifier: MIT */
/* Fills in the host, the process and the time. */
#include "volume/transaction/holder.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "image/members/publisher.h"

int holder_write(struct source *source, uint32_t member, struct error *err)
{
	char host[257] = "";

	gethostname(host, sizeof(host) - 1);
	return publisher_write(source, member, host, (uint64_t)getpid(), (uint64_t)time(NULL), err);
}

int holder_clear(struct source *source, uint32_t member, struct error *err)
{
	int r = publisher_write(source, member, NULL, 0, 0, err);

	return r < 0 ? r : source_flush(source, err);
}

/* Replaces unprintable characters: the host is untrusted text from the volume. */
void holder_read(struct source *source, uint32_t member, char text[HOLDER_TEXT_SIZE])
{
	char host[257], date[32] = "an unknown time";
	uint64_t process, since;
	struct tm tm;
	time_t when;

	text[0] = 0;
	if (!publisher_read(source, member, host, &process, &since))
		return;
	for (char *c = host; *c; c++)
		if (*c <= ' ' || *c > '~')
			*c = '?';
	when = (time_t)since;
	if (since < UINT64_C(1) << 40 && gmtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(text, HOLDER_TEXT_SIZE, "process %" PRIu64 " on %s since %s", process, host, date);
}
