/* SPDX-License-Identifier: MIT */
/* The free space of a volume as runs of bytes, and how much of each run is used. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "image/catalogue.h"

struct space_run {
	uint64_t start, at, end; /* bytes start..at are taken by this publish */
};

#define SPACE_GAPS 16u

/* Padding in front of a block. */
struct space_gap {
	uint64_t at;
	uint32_t length; /* 0: none */
};

struct space {
	struct space_run *runs;
	uint32_t count;
	uint32_t current;
	struct space_run reserve[2]; /* for catalogues, before and behind the one in force */
	uint32_t member;  /* whose bytes these are */
	uint64_t segment; /* bytes of one */
	uint8_t *held;    /* a bit for each segment of the volume: holds bytes that the version shares */
	uint64_t held_count;
	uint64_t *columns; /* of one of several members, the bits are those of these segments, in order; else NULL */
	struct space_gap gaps[SPACE_GAPS]; /* the largest ones, to be filled with small pieces */
};

/* The last 64th of a device, within these bounds, is for catalogues. */
#define SPACE_RESERVE_PART 64u
#define SPACE_RESERVE_MIN  (UINT64_C(64) << 10)
#define SPACE_RESERVE_MAX  (UINT64_C(64) << 20)

#define SPACE_ENDLESS (UINT64_C(1) << 55) /* capacity of a file */

/* Bytes at the end of a device that nothing but catalogues may have. */
uint64_t space_reserved(uint64_t capacity);

/* Segments that no version and not the catalogue in force use; first what is left of the one with the tail.
 * catalogue NULL: a new volume. */
must_check int space_open(struct space *space, const struct catalogue *catalogue, const struct superblock *super,
			  uint32_t segment_log, uint64_t capacity, struct error *err);
/* What a publish can use without the volume growing. A file takes catalogues anywhere up to its end. file_size 0: a
 * device. */
must_check int space_open_inside(struct space *space, const struct catalogue *catalogue, const struct superblock *super,
				 uint64_t file_size, struct error *err);
/* Of a member that is taken from in groups of segments: nothing is free yet. Versions hold bytes of its columns. What
 * the table says of its size takes no memory: of a member that is missing nobody has seen it. */
must_check int space_open_empty(struct space *space, uint32_t member, const struct members *members,
				uint32_t segment_log, struct error *err);
/* One more run, which nothing else is in. */
must_check int space_add(struct space *space, uint64_t start, uint64_t end, struct error *err);
void space_close(struct space *space);
uint64_t space_free(const struct space *space);

enum space_align {
	SPACE_BLOCK, /* start on a block */
	SPACE_WHOLE, /* do not straddle a block when shorter than one */
	SPACE_DENSE, /* right behind the last */
};

/* Moves on to a run with room for length bytes, if the current one has not and another one has. */
void space_prefer(struct space *space, uint64_t length);
/* Where the next length bytes go; they become taken. False when no run has room for them in one piece. Bytes that are
 * to be SPACE_WHOLE may come before others that were taken earlier: in their padding. */
bool space_take(struct space *space, uint64_t length, enum space_align align, uint64_t *ret_offset);
/* The padding so far stays: nothing is put there any more. */
void space_forget_gaps(struct space *space);
/* For a catalogue, also where nothing else may go. */
bool space_take_catalogue(struct space *space, uint64_t length, uint64_t *ret_offset);
/* Bytes taken, in whole blocks. */
uint64_t space_taken(const struct space *space);
/* Where the next publish may continue; 0 when the current segment is full. */
uint64_t space_tail(const struct space *space);
/* Bytes of earlier versions that the new one uses as well: their segments become its own. */
void space_hold(struct space *space, uint64_t offset, uint64_t length);
/* Adds the segments touched or held to a list, as whole segments, for a version record. */
must_check int space_segments(const struct space *space, struct extent_list *list, struct error *err);
uint64_t space_end(const struct space *space); /* behind the last byte taken, a multiple of a block */
