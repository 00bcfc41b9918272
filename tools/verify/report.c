/* SPDX-License-Identifier: MIT */
/* Prints findings as text or JSON, progress on a terminal, and derives the exit status. */
#include "verify/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "text.h"
#include "verb.h"

#define PATH_SIZE 8192

static double report_seconds(int64_t start)
{
	return (double)(clock_now() - start) / 1e9;
}

void report_begin(struct report *report, const char *path, bool json)
{
	*report =
		(struct report){ .is_json = json, .is_terminal = isatty(STDERR_FILENO), .json.out = stdout };
	report->start = clock_now();
	if (!json)
		return;
	json_begin_object(&report->json, NULL);
	json_string(&report->json, "volume", path);
	json_begin_array(&report->json, "structures");
}

/* Returns the reason without the name of the structure, which the line has already. */
static const char *report_reason(const char *what, const struct error *err)
{
	size_t word = strcspn(what, " "), all = strlen(what);

	if (!err || !err->code)
		return NULL;
	if (!strncmp(err->reason, what, all) && !strncmp(err->reason + all, ": ", 2))
		return err->reason + all + 2;
	if (!strncmp(err->reason, what, word) && !strncmp(err->reason + word, ": ", 2))
		return err->reason + word + 2;
	return err->reason;
}

void report_part(struct report *report, const char *what, enum report_state state, const struct error *err)
{
	static const char *const names[] = { "sound", "empty", "damaged", "unknown", "removed" };
	const char *reason = report_reason(what, err);

	report->damaged += state == REPORT_DAMAGED;
	if (state == REPORT_UNKNOWN)
		report->is_incomplete = report->version_is_incomplete = true;
	if (state == REPORT_REMOVED)
		report->version_is_gone = true;
	if (report->is_json) {
		json_begin_object(&report->json, NULL);
		json_string(&report->json, "what", what);
		json_string(&report->json, "state", names[state]);
		if (reason)
			json_string(&report->json, "reason", reason);
		json_end_object(&report->json);
	} else if (state == REPORT_DAMAGED || state == REPORT_UNKNOWN) {
		text_print("%s %s%s%s%s%s\n", names[state], what, reason ? ": " : "", reason ? reason : "",
		       report->label ? " version=" : "", report->label ? report->label : "");
	}
}

void report_begin_versions(struct report *report, const struct selection_share *share)
{
	if (!report->is_json)
		return;
	json_end_array(&report->json);
	json_real(&report->json, "sample", share->sample);
	json_number(&report->json, "seed", share->seed);
	json_number(&report->json, "shard", share->shard + 1);
	json_number(&report->json, "shards", share->shard_count);
	json_begin_array(&report->json, "versions");
}

void report_begin_version(struct report *report, const struct version *version)
{
	report->label = version->label;
	report->version_start = clock_now();
	report->version_damaged = report->damaged;
	report->version_is_incomplete = report->version_is_gone = false;
	report->selected = 0;
	if (!report->is_json)
		return;
	json_begin_object(&report->json, NULL);
	json_string(&report->json, "label", version->label);
	json_number(&report->json, "sequence", version->sequence);
	json_number(&report->json, "index_bytes", version->index.length);
	json_begin_array(&report->json, "structures");
}

static void report_damage_json(struct report *report, const struct damage *damage, const char *path)
{
	const struct chunk *chunk = &damage->item.chunk;

	json_begin_object(&report->json, NULL);
	json_string(&report->json, "path", path);
	json_number(&report->json, "ordinal", damage->item.ordinal);
	json_number(&report->json, "chunk", damage->item.position);
	json_number(&report->json, "member", address_member(chunk->address));
	json_number(&report->json, "offset", address_offset(chunk->address));
	json_number(&report->json, "stored", chunk->stored);
	json_number(&report->json, "shared", damage->item.shared);
	json_string(&report->json, "reason", damage->reason);
	json_end_object(&report->json);
}

static void report_damage_text(struct report *report, const struct damage *damage, const char *path)
{
	const struct chunk *chunk = &damage->item.chunk;

	printf("damaged '");
	text_write(stdout, path, strlen(path));
	text_print("': %s chunk=%" PRIu64, damage->reason, damage->item.position);
	if (chunk->stored && chunk_is_inline(chunk))
		printf(" in=index");
	else if (chunk->stored)
		text_print(" member=%" PRIu32 " offset=%" PRIu64 " stored=%" PRIu32,
		       address_member(chunk->address), address_offset(chunk->address), chunk->stored);
	text_print(" shared=%" PRIu64 " version=%s\n", damage->item.shared, report->label);
}

static void report_damages(struct report *report, const struct index *index,
			   const struct damage_list *damage)
{
	char absolute[PATH_SIZE];
	const char *path;

	if (report->is_json)
		json_begin_array(&report->json, "damage");
	for (unsigned i = 0; i < damage->shown_count; i++) {
		inode_path(index, damage->shown[i].item.ordinal, absolute, sizeof(absolute));
		path = absolute + (absolute[0] == '/'); /* as it was in the source */
		if (report->is_json)
			report_damage_json(report, &damage->shown[i], path);
		else
			report_damage_text(report, &damage->shown[i], path);
	}
	if (report->is_json)
		json_end_array(&report->json);
	else if (damage->count > damage->shown_count)
		text_print("and %" PRIu64 " more damaged chunks version=%s\n",
		       damage->count - damage->shown_count, report->label);
}

static void report_counts_json(struct report *report, const struct check_counts *counts)
{
	json_number(&report->json, "chunks", counts->chunks);
	json_number(&report->json, "references", counts->references);
	json_number(&report->json, "bytes", counts->bytes);
	json_number(&report->json, "unsteady", counts->transient);
}

static const char *report_verdict(bool damaged, bool incomplete)
{
	return damaged ? "damaged" : incomplete ? "unknown" : "clean";
}

static const char *report_version_verdict(const struct report *report)
{
	if (report->version_is_gone && report->damaged == report->version_damaged)
		return "removed";
	return report_verdict(report->damaged > report->version_damaged, report->version_is_incomplete);
}

static void report_version_text(struct report *report, const struct check_counts *counts,
				const struct selection_counts *selection)
{
	double seconds = report_seconds(report->version_start);
	char size[SIZE_TEXT_SIZE], speed[SIZE_TEXT_SIZE];

	text_print("version '%s': %s: %" PRIu64 " files, %" PRIu64 " chunks, %s in %.2f s (%s/s)", report->label,
	       report_version_verdict(report), selection->files, counts->chunks, format_size(counts->bytes, size),
	       seconds,
	       format_size((uint64_t)((double)counts->bytes / (seconds > 0.001 ? seconds : 0.001)), speed));
	printf(" damaged=%" PRIu64 " holes=%" PRIu64 " references=%" PRIu64 "\n",
	       report->damaged - report->version_damaged, selection->holes, counts->references);
	if (counts->transient)
		log_warn("chunks were wrong when read once and right when read again, ignoring version=%s "
			 "chunks=%" PRIu64,
			 report->label, counts->transient);
}

void report_end_version(struct report *report, const struct index *index,
			const struct damage_list *damage, const struct check_counts *counts,
			const struct selection_counts *selection)
{
	if (report->is_terminal)
		fputs("\r\033[K", stderr);
	if (report->is_json)
		json_end_array(&report->json);
	if (index) {
		report->damaged += damage->count;
		report_damages(report, index, damage);
		report->counts.chunks += counts->chunks;
		report->counts.references += counts->references;
		report->counts.bytes += counts->bytes;
		report->counts.transient += counts->transient;
	}
	if (report->is_json && counts) {
		report_counts_json(report, counts);
		json_number(&report->json, "files", selection->files);
		json_number(&report->json, "holes", selection->holes);
	}
	if (report->is_json) {
		json_real(&report->json, "seconds", report_seconds(report->version_start));
		json_number(&report->json, "damaged", report->damaged - report->version_damaged);
		json_string(&report->json, "state", report_version_verdict(report));
		json_end_object(&report->json);
	} else if (counts) {
		report_version_text(report, counts, selection);
	} else {
		text_print("version '%s': %s: its chunks were not checked\n", report->label,
		       report_version_verdict(report));
	}
	report->label = NULL;
}

int report_end(struct report *report)
{
	const char *state = report_verdict(report->damaged, report->is_incomplete);
	char size[SIZE_TEXT_SIZE];

	if (report->is_json) {
		json_end_array(&report->json);
		report_counts_json(report, &report->counts);
		json_real(&report->json, "seconds", report_seconds(report->start));
		json_number(&report->json, "damaged", report->damaged);
		json_string(&report->json, "state", state);
		json_end_object(&report->json);
		putchar('\n');
	} else {
		text_print("%s: %" PRIu64 " chunks, %s checked in %.2f s damaged=%" PRIu64 "\n", state,
		       report->counts.chunks, format_size(report->counts.bytes, size),
		       report_seconds(report->start), report->damaged);
	}
	if (report->damaged)
		return VERIFY_DAMAGED;
	return report->is_incomplete ? VERIFY_INCOMPLETE : VERIFY_CLEAN;
}

void report_progress(void *argument, const struct check_counts *counts)
{
	struct report *report = argument;
	double seconds = report_seconds(report->version_start);
	char size[SIZE_TEXT_SIZE], speed[SIZE_TEXT_SIZE];

	if (!report->is_terminal || seconds <= 0)
		return;
	fputs("\r\033[K", stderr);
	shown_print(stderr, "verify '%s': %.1f %%, %s, %s/s", report->label,
		report->selected ? 100.0 * (double)counts->references / (double)report->selected : 0.0,
		format_size(counts->bytes, size),
		format_size((uint64_t)((double)counts->bytes / seconds), speed));
}
