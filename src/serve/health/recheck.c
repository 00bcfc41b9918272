/* SPDX-License-Identifier: MIT */
/* Checks a few places at a time, so that a long list neither loads the device nor holds up the control thread. */
#include "serve/health/recheck.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "image/codec.h"
#include "serve/damage.h"
#include "serve/health/reopen.h"
#include "serve/health/watchdog.h"

#define RECHECK_PERIOD INT64_C(30000000000) /* ns between two checks */
#define RECHECK_SOON   INT64_C(1000000000)  /* ns after a check that found a place undamaged */
#define RECHECK_PLACES 32u                  /* places in a check */

static int recheck_content(const struct chunk *chunk, const uint8_t *stored, struct error *err)
{
	auto_free uint8_t *content = NULL;
	struct codec *codec;
	int r;

	if (chunk->codec == DSFS_CODEC_RAW)
		return chunk_verify(chunk, &(struct iovec){ (void *)stored, chunk->length }, 1, err);
	content = malloc(chunk->length);
	codec = codec_new();
	r = content && codec ? chunk_decode(chunk, codec, stored, content, err) : -ENOMEM;
	codec_free(codec);
	return r;
}

static int recheck_place(struct serve *serve, const struct damage_place *place, struct error *err)
{
	auto_free uint8_t *stored = malloc(place->chunk.stored);
	int r = stored ? 0 : -ENOMEM;

	if (r == 0)
		r = source_read(&serve->volume.array->source, place->member, place->offset, stored,
				place->chunk.stored, err);
	return r < 0 ? r : recheck_content(&place->chunk, stored, err);
}

/* Returns how many places are undamaged now. Stops at the first one that cannot be read, as a device may take seconds
 * to fail. */
static unsigned recheck_look(struct serve *serve, struct recheck *recheck)
{
	uint64_t count = damage_count(serve->damage);
	struct damage_place place;
	unsigned right = 0, wrong = 0;
	int r = 0;

	for (unsigned i = 0; i < RECHECK_PLACES && i < count && (r == 0 || r == -EBADMSG); i++) {
		if (!damage_get(serve->damage, recheck->at, &place))
			break;
		r = recheck_place(serve, &place, NULL);
		if (r == 0)
			damage_drop(serve->damage, &place);
		right += r == 0;
		wrong += r < 0;
		recheck->at += r < 0;
	}
	if (wrong && serve->volume.route) /* the whole member may be lost */
		reopen_request(serve);
	if (right)
		log_info("%u damaged place%s of '%s' %s right again", right, right == 1 ? "" : "s",
			 serve->options.volume, right == 1 ? "is" : "are");
	return right;
}

int64_t recheck_settle(struct serve *serve, struct recheck *recheck)
{
	int64_t period = RECHECK_PERIOD;

	if (!damage_count(serve->damage))
		return recheck->when = 0;
	if (recheck->when && clock_now() < recheck->when)
		return recheck->when;
	if (recheck->when && !watchdog_stalls(serve->watchdog).since && recheck_look(serve, recheck))
		period = RECHECK_SOON;
	return recheck->when = clock_now() + period;
}
