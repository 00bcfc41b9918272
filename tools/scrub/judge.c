/* SPDX-License-Identifier: MIT */
/* Judges each piece with the window in which it begins. A piece that reaches into the window from before was judged
 * with the window before; bytes after the window that belong to none of its pieces are judged later. */
#include "scrub/judge.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/grow.h"
#include "base/huge.h"
#include "base/round.h"
#include "base/span.h"
#include "image/members/address.h"

#define JUDGE_ROOM   (ROWS_WINDOW + CONTENT_PIECE_MAX + DSFS_BLOCK)
#define JUDGE_BLOCKS (JUDGE_ROOM / DSFS_BLOCK)
#define JUDGE_NOBODY UINT32_MAX
#define JUDGE_PLACES 10u /* most differing blocks of a piece whose combinations are tried */

struct judge_copy {
	uint64_t address;
	uint8_t *bytes;
	bool is_bad[JUDGE_BLOCKS];   /* unreadable; bytes has another copy's block instead */
	bool is_dirty[JUDGE_BLOCKS]; /* must be written */
	int repair_code;             /* negative errno, if writing it or reading it back failed */
};

/* A finding about a part of one copy. */
struct judge_verdict {
	const struct content_piece *piece; /* NULL: bytes that no version uses */
	uint64_t at, length;               /* in the window */
	uint32_t copy, from;               /* JUDGE_NOBODY: no copy is right */
	bool is_unknown;
	bool is_combined;                  /* put together from several copies, in the buffer of the first one */
	char reason[128];
};

struct judge {
	struct judge_setup setup;
	struct codec *codec;
	uint8_t *scratch;  /* JUDGE_ROOM */
	uint8_t *combined; /* CONTENT_PIECE_MAX */
	struct judge_copy copies[DSFS_COPIES_MAX];
	uint32_t count;
	struct rows_window window;
	struct content_pieces pieces;
	uint64_t skip, end;   /* bytes at its start that were judged before; bytes to read */
	bool overlaps;        /* pieces overlap, which no sound volume has */
	struct judge_verdict *verdicts;
	size_t verdict_count, verdict_room;
	bool is_out_of_memory;
};

int judge_new(const struct judge_setup *setup, struct judge **ret, struct error *err)
{
	struct judge *judge = calloc(1, sizeof(*judge));
	bool has_memory = judge;

	if (judge) {
		judge->setup = *setup;
		judge->codec = codec_new();
		judge->scratch = huge_alloc(JUDGE_ROOM);
		judge->combined = huge_alloc(CONTENT_PIECE_MAX);
		has_memory = judge->codec && judge->scratch && judge->combined;
	}
	for (uint32_t i = 0; has_memory && i < DSFS_COPIES_MAX; i++) {
		judge->copies[i].bytes = huge_alloc(JUDGE_ROOM);
		has_memory = judge->copies[i].bytes;
	}
	if (!has_memory) {
		judge_free(judge);
		return error_no_memory(err);
	}
	*ret = judge;
	return 0;
}

void judge_free(struct judge *judge)
{
	if (!judge)
		return;
	for (uint32_t i = 0; i < DSFS_COPIES_MAX; i++)
		free(judge->copies[i].bytes);
	content_map_free_pieces(&judge->pieces);
	codec_free(judge->codec);
	free(judge->scratch);
	free(judge->combined);
	free(judge->verdicts);
	free(judge);
}

static uint64_t judge_at(const struct judge *judge, const struct content_piece *piece)
{
	return piece->address - judge->window.address;
}

static bool judge_owns(const struct judge *judge, const struct content_piece *piece)
{
	return piece->address >= judge->window.address;
}

int judge_ask(struct judge *judge, const struct rows_window *window, struct error *err)
{
	uint64_t covered = 0, end;
	int r = content_map_pieces(judge->setup.map, window->address, window->length, &judge->pieces, err);

	judge->window = *window;
	judge->skip = 0;
	judge->end = window->length;
	judge->overlaps = false;
	for (size_t i = 0; r == 0 && i < judge->pieces.count; i++) {
		const struct content_piece *piece = &judge->pieces.items[i];

		end = piece->address + piece->stored - window->address;
		if (!judge_owns(judge, piece) && end > judge->skip)
			judge->skip = end;
		if (judge_owns(judge, piece) && judge_at(judge, piece) < covered)
			judge->overlaps = true;
		covered = end > covered ? end : covered;
	}
	if (covered > judge->end)
		judge->end = round_up(covered, DSFS_BLOCK);
	return r;
}

/* --- reading --- */

static int judge_read_part(const struct judge *judge, const struct judge_copy *copy, uint64_t at, void *to,
			   uint64_t length)
{
	return source_read(judge->setup.source, address_member(copy->address), address_offset(copy->address) + at, to,
			   length, NULL);
}

static void judge_read_copy(const struct judge *judge, struct judge_copy *copy)
{
	memset(copy->is_bad, 0, sizeof(copy->is_bad));
	memset(copy->is_dirty, 0, sizeof(copy->is_dirty));
	copy->repair_code = 0;
	if (judge_read_part(judge, copy, 0, copy->bytes, judge->end) == 0)
		return;
	for (uint64_t at = 0; at < judge->end; at += DSFS_BLOCK)
		copy->is_bad[at / DSFS_BLOCK] =
			judge_read_part(judge, copy, at, copy->bytes + at,
					judge->end - at < DSFS_BLOCK ? judge->end - at : DSFS_BLOCK) < 0;
}

/* Fills unreadable blocks with another copy's, because repairs write whole blocks. */
static void judge_fill(struct judge *judge, uint64_t block)
{
	uint32_t from = 0;

	while (from < judge->count && judge->copies[from].is_bad[block])
		from++;
	for (uint32_t i = 0; from < judge->count && i < judge->count; i++)
		if (judge->copies[i].is_bad[block])
			memcpy(judge->copies[i].bytes + block * DSFS_BLOCK,
			       judge->copies[from].bytes + block * DSFS_BLOCK, DSFS_BLOCK);
}

static void judge_read(struct judge *judge)
{
	uint64_t copies[DSFS_COPIES_MAX] = { judge->window.address };
	const struct members *members = &judge->setup.catalogue->members;

	judge->verdict_count = 0;
	judge->count = members->count ? members_copies(members, judge->window.address, copies) : 1;
	for (uint32_t i = 0; i < judge->count; i++) {
		judge->copies[i].address = copies[i];
		judge_read_copy(judge, &judge->copies[i]);
	}
	for (uint64_t block = 0; block * DSFS_BLOCK < judge->end; block++)
		judge_fill(judge, block);
}

/* --- deciding --- */

static bool judge_can_read(const struct judge_copy *copy, uint64_t at, uint64_t length)
{
	for (uint64_t block = at / DSFS_BLOCK; block * DSFS_BLOCK < at + length; block++)
		if (copy->is_bad[block])
			return false;
	return true;
}

static bool judge_is_same(const struct judge_copy *a, const struct judge_copy *b, uint64_t at, uint64_t length)
{
	return memcmp(a->bytes + at, b->bytes + at, length) == 0;
}

/* Returns whether all copies can be read and are equal. */
static bool judge_agrees(const struct judge *judge, uint64_t at, uint64_t length)
{
	for (uint32_t i = 0; i < judge->count; i++)
		if (!judge_can_read(&judge->copies[i], at, length) ||
		    !judge_is_same(&judge->copies[0], &judge->copies[i], at, length))
			return false;
	return true;
}

static struct judge_verdict *judge_add(struct judge *judge, const struct judge_verdict *verdict)
{
	if (grow(judge->verdicts, judge->verdict_room, judge->verdict_count + 1, NULL) < 0) {
		judge->is_out_of_memory = true;
		return NULL;
	}
	judge->verdicts[judge->verdict_count] = *verdict;
	return &judge->verdicts[judge->verdict_count++];
}

/* --- pieces --- */

static int judge_check(struct judge *judge, uint32_t copy, const struct content_piece *piece, struct error *err)
{
	uint64_t at = judge_at(judge, piece);

	if (!judge_can_read(&judge->copies[copy], at, piece->stored))
		return error_set(err, -EIO, "it cannot be read");
	return content_map_check(piece, judge->copies[copy].bytes + at, judge->codec, judge->scratch, err);
}

/* Returns the first copy that is right, or JUDGE_NOBODY. why: for each copy that is wrong, the reason. */
static uint32_t judge_choose(struct judge *judge, const struct content_piece *piece, struct error *why)
{
	uint32_t right = JUDGE_NOBODY;

	for (uint32_t i = 0; i < judge->count; i++) {
		why[i].code = 0;
		if (judge_check(judge, i, piece, &why[i]) == 0 && right == JUDGE_NOBODY)
			right = i;
	}
	return right;
}

static struct judge_verdict *judge_blame(struct judge *judge, const struct content_piece *piece, uint32_t copy,
					 uint32_t right, const struct error *why)
{
	struct judge_verdict *verdict = judge_add(judge, &(struct judge_verdict){ .piece = piece,
										  .at = judge_at(judge, piece),
										  .length = piece->stored,
										  .copy = copy,
										  .from = right });

	if (verdict)
		snprintf(verdict->reason, sizeof(verdict->reason), "%.127s",
			 why->code ? why->reason : "other bytes with the same content");
	return verdict;
}

/* A part of a piece, within a block, in which copies differ. */
struct judge_place {
	uint64_t at, length;
	uint32_t copies[DSFS_COPIES_MAX], count, turn;
};

static void judge_look(const struct judge *judge, struct judge_place *place)
{
	for (uint32_t i = 0; i < judge->count; i++) {
		bool is_new = judge_can_read(&judge->copies[i], place->at, place->length);

		for (uint32_t k = 0; is_new && k < place->count; k++)
			is_new = !judge_is_same(&judge->copies[place->copies[k]], &judge->copies[i], place->at,
						place->length);
		if (is_new)
			place->copies[place->count++] = i;
	}
}

/* Returns how many places differ; JUDGE_NOBODY: too many, or no copy of one can be read. */
static uint32_t judge_find_places(const struct judge *judge, uint64_t at, uint64_t end, struct judge_place *places)
{
	uint32_t count = 0;

	for (uint64_t next; at < end; at = next) {
		struct judge_place place = { .at = at };

		next = round_down(at, DSFS_BLOCK) + DSFS_BLOCK;
		next = next < end ? next : end;
		place.length = next - at;
		judge_look(judge, &place);
		if (!place.count || (place.count > 1 && count == JUDGE_PLACES))
			return JUDGE_NOBODY;
		if (place.count > 1)
			places[count++] = place;
	}
	return count;
}

/* Tries the next combination, counting like an odometer with one digit per place. False: all were tried. */
static bool judge_next(struct judge *judge, uint64_t from, struct judge_place *places, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct judge_place *place = &places[i];

		place->turn = (place->turn + 1) % place->count;
		memcpy(judge->combined + place->at - from, judge->copies[place->copies[place->turn]].bytes + place->at,
		       place->length);
		if (place->turn)
			return true;
	}
	return false;
}

/* Combines copies that are damaged in different blocks. If that gives right bytes, copies[0] gets them, in memory. */
static bool judge_combine(struct judge *judge, const struct content_piece *piece)
{
	uint64_t at = judge_at(judge, piece);
	struct judge_place places[JUDGE_PLACES];
	uint32_t count = judge_find_places(judge, at, at + piece->stored, places);
	bool is_right;

	if (count == JUDGE_NOBODY || piece->is_lost)
		return false;
	memcpy(judge->combined, judge->copies[0].bytes + at, piece->stored);
	do
		is_right = content_map_check(piece, judge->combined, judge->codec, judge->scratch, NULL) == 0;
	while (!is_right && judge_next(judge, at, places, count));
	if (is_right)
		memcpy(judge->copies[0].bytes + at, judge->combined, piece->stored);
	return is_right;
}

static void judge_blame_combined(struct judge *judge, const struct content_piece *piece, const struct error *why)
{
	for (uint32_t i = 0; i < judge->count; i++) {
		struct judge_verdict *verdict = judge_blame(judge, piece, i, 0, &why[i]);

		if (verdict)
			verdict->is_combined = true;
	}
}

static void judge_piece(struct judge *judge, const struct content_piece *piece)
{
	uint64_t at = judge_at(judge, piece);
	struct error why[DSFS_COPIES_MAX] = { 0 };
	uint32_t right;

	if (judge_agrees(judge, at, piece->stored)) {
		if (judge_check(judge, 0, piece, &why[0]) < 0)
			judge_blame(judge, piece, 0, JUDGE_NOBODY, &why[0]);
		return;
	}
	right = judge_choose(judge, piece, why);
	if (right == JUDGE_NOBODY && judge_combine(judge, piece)) {
		judge_blame_combined(judge, piece, why);
		return;
	}
	if (right == JUDGE_NOBODY) {
		judge_blame(judge, piece, 0, JUDGE_NOBODY, &why[0]);
		return;
	}
	for (uint32_t i = 0; i < judge->count; i++)
		if (why[i].code || !judge_is_same(&judge->copies[right], &judge->copies[i], at, piece->stored))
			judge_blame(judge, piece, i, right, &why[i]);
}

/* --- bytes that no version uses --- */

/* Chooses two copies that agree; otherwise one that is all zeros, as padding is; otherwise the first that can be read,
 * which is the data column if possible. */
static uint32_t judge_prefer(const struct judge *judge, uint64_t at, uint64_t length, const char **ret_why)
{
	uint32_t first = JUDGE_NOBODY;

	*ret_why = "two are equal";
	for (uint32_t i = 0; i < judge->count; i++)
		for (uint32_t k = i + 1; k < judge->count; k++)
			if (judge_can_read(&judge->copies[i], at, length) &&
			    judge_can_read(&judge->copies[k], at, length) &&
			    judge_is_same(&judge->copies[i], &judge->copies[k], at, length))
				return i;
	*ret_why = "one has zeros, as padding has";
	for (uint32_t i = 0; i < judge->count; i++) {
		if (!judge_can_read(&judge->copies[i], at, length))
			continue;
		if (bytes_are_zero(judge->copies[i].bytes + at, length))
			return i;
		first = first == JUDGE_NOBODY ? i : first;
	}
	*ret_why = "the first that can be read counts";
	return first;
}

static void judge_gap_part(struct judge *judge, uint64_t at, uint64_t length)
{
	const char *why;
	struct judge_verdict verdict = { .at = at, .length = length, .from = judge_prefer(judge, at, length, &why) };

	verdict.is_unknown = !content_map_is_known(judge->setup.map, judge->window.address);
	if (verdict.is_unknown)
		snprintf(verdict.reason, sizeof(verdict.reason),
			 "copies differ, and a version that may use these bytes cannot be read");
	else if (verdict.from == JUDGE_NOBODY)
		snprintf(verdict.reason, sizeof(verdict.reason), "no copy can be read");
	else
		snprintf(verdict.reason, sizeof(verdict.reason), "copies differ (%s)", why);
	for (uint32_t i = 0; i < judge->count; i++) {
		verdict.copy = i;
		if (verdict.from == JUDGE_NOBODY || verdict.is_unknown) {
			judge_add(judge, &verdict);
			return;
		}
		if (!judge_can_read(&judge->copies[i], at, length) ||
		    !judge_is_same(&judge->copies[verdict.from], &judge->copies[i], at, length))
			judge_add(judge, &verdict);
	}
}

/* Judges bytes that no version uses. Adjacent blocks that differ between copies count as one place. */
static void judge_gap(struct judge *judge, uint64_t from, uint64_t end)
{
	uint64_t begin = from, next;

	for (uint64_t at = from; at < end; at = next) {
		next = round_down(at, DSFS_BLOCK) + DSFS_BLOCK;
		next = next < end ? next : end;
		if (!judge_agrees(judge, at, next - at))
			continue;
		if (at > begin)
			judge_gap_part(judge, begin, at - begin);
		begin = next;
	}
	if (end > begin)
		judge_gap_part(judge, begin, end - begin);
}

static void judge_decide(struct judge *judge)
{
	uint64_t covered = judge->skip, end;

	for (size_t i = 0; i < judge->pieces.count; i++) {
		const struct content_piece *piece = &judge->pieces.items[i];

		if (!judge_owns(judge, piece))
			continue;
		if (judge_at(judge, piece) > covered)
			judge_gap(judge, covered, judge_at(judge, piece));
		judge_piece(judge, piece);
		end = judge_at(judge, piece) + piece->stored;
		covered = end > covered ? end : covered;
	}
	if (judge->window.length > covered)
		judge_gap(judge, covered, judge->window.length);
}

/* --- repair --- */

static bool judge_mends(const struct judge_verdict *verdict)
{
	return verdict->from != JUDGE_NOBODY && !verdict->is_unknown;
}

static void judge_patch(struct judge *judge)
{
	for (size_t i = 0; i < judge->verdict_count; i++) {
		const struct judge_verdict *verdict = &judge->verdicts[i];
		struct judge_copy *copy = &judge->copies[verdict->copy];

		if (!judge_mends(verdict))
			continue;
		memmove(copy->bytes + verdict->at, judge->copies[verdict->from].bytes + verdict->at, verdict->length);
		for (uint64_t block = verdict->at / DSFS_BLOCK; block * DSFS_BLOCK < verdict->at + verdict->length;
		     block++)
			copy->is_dirty[block] = true;
	}
}

/* Finds the next run of dirty blocks. False: there are no more. */
static bool judge_next_run(const struct judge *judge, const struct judge_copy *copy, uint64_t *at, uint64_t *length)
{
	uint64_t block = (*at + *length) / DSFS_BLOCK, end = judge->end / DSFS_BLOCK;

	while (block < end && !copy->is_dirty[block])
		block++;
	*at = block * DSFS_BLOCK;
	while (block < end && copy->is_dirty[block])
		block++;
	*length = block * DSFS_BLOCK - *at;
	return *length;
}

/* Writes the dirty blocks of a copy. -EBADE: another host has taken over the member; other failures stay in
 * repair_code. */
static int judge_write_copy(struct judge *judge, struct judge_copy *copy, struct error *err)
{
	uint64_t at = 0, length = 0;

	while (!copy->repair_code && judge_next_run(judge, copy, &at, &length))
		copy->repair_code = source_write(judge->setup.source, address_member(copy->address),
						 address_offset(copy->address) + at, copy->bytes + at, length, err);
	return copy->repair_code == -EBADE ? -EBADE : 0;
}

/* Reads back the blocks that were written, after the flush, so the bytes come from the medium. */
static void judge_read_back(struct judge *judge, struct judge_copy *copy)
{
	uint64_t at = 0, length = 0;

	while (!copy->repair_code && judge_next_run(judge, copy, &at, &length)) {
		copy->repair_code = judge_read_part(judge, copy, at, judge->scratch, length);
		if (!copy->repair_code && memcmp(judge->scratch, copy->bytes + at, length) != 0)
			copy->repair_code = -EIO;
	}
}

static bool judge_is_needed(const struct judge *judge)
{
	for (size_t i = 0; i < judge->verdict_count; i++)
		if (judge_mends(&judge->verdicts[i]))
			return true;
	return false;
}

static int judge_repair(struct judge *judge, struct error *err)
{
	int r = 0, flushed;

	if (!judge->setup.repair || judge->overlaps || !judge_is_needed(judge))
		return 0;
	judge_patch(judge);
	for (uint32_t i = 0; r == 0 && i < judge->count; i++)
		r = judge_write_copy(judge, &judge->copies[i], err);
	if (r < 0)
		return r;
	flushed = source_flush(judge->setup.source, err);
	for (uint32_t i = 0; i < judge->count; i++) {
		judge_read_back(judge, &judge->copies[i]);
		if (flushed < 0)
			judge->copies[i].repair_code = flushed;
	}
	return 0;
}

/* --- reporting --- */

static const char *judge_what(const struct judge_verdict *verdict)
{
	static const char *const names[] = { [CONTENT_CHUNK] = "chunk", [CONTENT_INDEX] = "index section",
					     [CONTENT_SOURCE] = "source section",
					     [CONTENT_HEAD] = "head of block checksums",
					     [CONTENT_PAGE] = "page of block checksums" };

	return verdict->piece ? names[verdict->piece->kind] : "unused bytes";
}

/* Returns whether there is another copy, on a member that is missing. */
static bool judge_lacks_copies(const struct judge *judge)
{
	const struct members *members = &judge->setup.catalogue->members;
	const struct member_group *group = members_group(members, judge->window.address);

	return group && judge->count < 1u + group->redundant;
}

static enum finding_state judge_state(const struct judge *judge, const struct judge_verdict *verdict)
{
	if (verdict->is_unknown)
		return FINDING_UNKNOWN;
	if (verdict->from == JUDGE_NOBODY && verdict->piece)
		return judge_lacks_copies(judge) ? FINDING_UNKNOWN : FINDING_LOST;
	if (verdict->from == JUDGE_NOBODY)
		return FINDING_DAMAGED;
	if (!judge->setup.repair)
		return FINDING_DAMAGED;
	return judge->overlaps || judge->copies[verdict->copy].repair_code ? FINDING_FAILED : FINDING_REPAIRED;
}

static void judge_reason(const struct judge *judge, const struct judge_verdict *verdict, char *reason, size_t size)
{
	if (judge_state(judge, verdict) == FINDING_UNKNOWN && !verdict->is_unknown)
		snprintf(reason, size, "%s, a member that is missing may have it right", verdict->reason);
	else if (judge_state(judge, verdict) != FINDING_FAILED)
		snprintf(reason, size, "%s", verdict->reason);
	else if (judge->overlaps)
		snprintf(reason, size, "%s, and is not repaired where chunks lie one over the other", verdict->reason);
	else
		snprintf(reason, size, "%s, and its repair failed: %s", verdict->reason,
			 strerror(-judge->copies[verdict->copy].repair_code));
}

static void judge_report(const struct judge *judge, const struct judge_verdict *verdict)
{
	char reason[256];
	const struct judge_copy *copy = &judge->copies[verdict->copy];
	const struct content_piece *piece = verdict->piece;
	bool has_from = judge_mends(verdict) && !verdict->is_combined;
	const struct finding finding = {
		.state = judge_state(judge, verdict),
		.what = judge_what(verdict),
		.member = address_member(copy->address),
		.offset = address_offset(copy->address) + verdict->at,
		.length = verdict->length,
		.version = piece ? judge->setup.catalogue->versions[piece->version].label : NULL,
		.sum = piece && piece->kind == CONTENT_CHUNK ? &piece->sum : NULL,
		.has_from = has_from,
		.from = has_from ? address_member(judge->copies[verdict->from].address) : 0,
		.reason = reason,
	};

	judge_reason(judge, verdict, reason, sizeof(reason));
	findings_add(judge->setup.findings, &finding);
	if (finding.state == FINDING_LOST && piece->kind == CONTENT_CHUNK)
		findings_lose(judge->setup.findings, piece->address);
}

/* Judges and repairs under a lock, after a first judgement that may come from a transient error. Repairs write whole
 * blocks, and a window and the next one may share a block: no other thread may repair it between read and write. */
static int judge_again(struct judge *judge, struct error *err)
{
	int r;

	pthread_mutex_lock(judge->setup.lock);
	judge_read(judge);
	judge_decide(judge);
	r = judge->is_out_of_memory ? error_no_memory(err) : judge_repair(judge, err);
	pthread_mutex_unlock(judge->setup.lock);
	return r;
}

int judge_window(struct judge *judge, struct error *err)
{
	int r = 0;

	judge_read(judge);
	judge_decide(judge);
	if (judge->verdict_count || judge->is_out_of_memory)
		r = judge_again(judge, err);
	for (size_t i = 0; r == 0 && i < judge->verdict_count; i++)
		judge_report(judge, &judge->verdicts[i]);
	findings_advance(judge->setup.findings, judge->window.length);
	return r;
}
