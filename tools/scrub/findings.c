/* SPDX-License-Identifier: MIT */
/* Prints findings as they come, and adds them up. */
#include "scrub/findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "image/members/address.h"
#include "text.h"
#include "verb.h"

static const char *const findings_states[] = { "damaged", "repaired", "failed", "lost", "unknown" };

static double findings_seconds(const struct findings *findings)
{
	return (double)(clock_now() - findings->start) / 1e9;
}

void findings_begin(struct findings *findings, const char *path, bool repair, bool json)
{
	*findings = (struct findings){ .is_json = json, .is_terminal = isatty(STDERR_FILENO), .json.out = stdout,
				       .lock = PTHREAD_MUTEX_INITIALIZER, .start = clock_now() };
	if (!json)
		return;
	json_begin_object(&findings->json, NULL);
	json_string(&findings->json, "volume", path);
	json_bool(&findings->json, "repair", repair);
	json_begin_array(&findings->json, "structures");
}

static void findings_next_array(struct findings *findings, const char *name)
{
	if (!findings->is_json)
		return;
	json_end_array(&findings->json);
	json_begin_array(&findings->json, name);
}

void findings_begin_places(struct findings *findings, uint64_t total)
{
	findings->total = total;
	findings_next_array(findings, "places");
}

static void findings_clear_line(const struct findings *findings)
{
	if (findings->is_terminal)
		fputs("\r\033[K", stderr);
}

void findings_begin_files(struct findings *findings)
{
	findings_clear_line(findings);
	findings_next_array(findings, "files");
}

static void findings_json(struct findings *findings, const struct finding *finding)
{
	struct json *json = &findings->json;
	char sum[SUM_TEXT_SIZE];

	json_begin_object(json, NULL);
	json_string(json, "what", finding->what);
	json_string(json, "state", findings_states[finding->state]);
	json_number(json, "member", finding->member);
	if (finding->length) {
		json_number(json, "offset", finding->offset);
		json_number(json, "length", finding->length);
	}
	if (finding->sum)
		json_string(json, "sum", sum_text(finding->sum, sum));
	if (finding->version)
		json_string(json, "version", finding->version);
	if (finding->has_from)
		json_number(json, "from", finding->from);
	json_string(json, "reason", finding->reason);
	json_end_object(json);
}

static void findings_text(const struct finding *finding)
{
	text_print("%s %s: %s", findings_states[finding->state], finding->what, finding->reason);
	if (finding->has_from)
		text_print(", %s member %" PRIu32, finding->state == FINDING_REPAIRED ? "taken from" : "right on",
		       finding->from);
	if (finding->length)
		printf(" member=%" PRIu32 " offset=%" PRIu64 " length=%" PRIu64, finding->member, finding->offset,
		       finding->length);
	if (finding->version)
		text_print(" version=%s", finding->version);
	putchar('\n');
}

void findings_add(struct findings *findings, const struct finding *finding)
{
	pthread_mutex_lock(&findings->lock);
	findings->states[finding->state]++;
	if (findings->shown < FINDINGS_SHOWN) {
		findings_clear_line(findings);
		if (findings->is_json)
			findings_json(findings, finding);
		else
			findings_text(finding);
	}
	findings->shown++;
	pthread_mutex_unlock(&findings->lock);
}

void findings_lose(struct findings *findings, uint64_t address)
{
	pthread_mutex_lock(&findings->lock);
	if (findings->lost_count < FINDINGS_LOST)
		findings->lost[findings->lost_count++] = address;
	pthread_mutex_unlock(&findings->lock);
}

void findings_file(struct findings *findings, const char *path, const char *version, uint64_t position,
		   uint64_t address)
{
	struct json *json = &findings->json;

	if (findings->is_json) {
		json_begin_object(json, NULL);
		json_string(json, "path", path);
		json_string(json, "version", version);
		json_number(json, "chunk", position);
		json_number(json, "member", address_member(address));
		json_number(json, "offset", address_offset(address));
		json_end_object(json);
		return;
	}
	fputs("lost '", stdout);
	text_write(stdout, path, strlen(path));
	text_print("': no copy is right chunk=%" PRIu64 " member=%" PRIu32 " offset=%" PRIu64 " version=%s\n", position,
	       address_member(address), address_offset(address), version);
}

static void findings_draw(const struct findings *findings)
{
	double seconds = findings_seconds(findings);
	char done[SIZE_TEXT_SIZE], speed[SIZE_TEXT_SIZE];

	fputs("\r\033[K", stderr);
	shown_print(stderr, "scrub: %.1f %%, %s, %s/s",
		findings->total ? 100.0 * (double)findings->bytes / (double)findings->total : 0.0,
		format_size(findings->bytes, done),
		format_size((uint64_t)((double)findings->bytes / (seconds > 0.001 ? seconds : 0.001)), speed));
}

void findings_advance(struct findings *findings, uint64_t bytes)
{
	pthread_mutex_lock(&findings->lock);
	findings->bytes += bytes;
	pthread_mutex_unlock(&findings->lock);
}

void findings_progress(struct findings *findings)
{
	pthread_mutex_lock(&findings->lock);
	if (findings->is_terminal)
		findings_draw(findings);
	pthread_mutex_unlock(&findings->lock);
}

static int findings_status(const struct findings *findings, const struct findings_summary *summary)
{
	if (findings->states[FINDING_DAMAGED] || findings->states[FINDING_FAILED] || findings->states[FINDING_LOST])
		return VERIFY_DAMAGED;
	return findings->states[FINDING_UNKNOWN] || summary->interrupted || summary->changed ? VERIFY_INCOMPLETE :
											      VERIFY_CLEAN;
}

static const char *findings_verdict(const struct findings *findings, const struct findings_summary *summary)
{
	static const char *const names[] = { [VERIFY_CLEAN] = "clean", [VERIFY_DAMAGED] = "damaged",
					     [VERIFY_INCOMPLETE] = "unknown" };
	int status = findings_status(findings, summary);

	return status == VERIFY_CLEAN && findings->states[FINDING_REPAIRED] ? "repaired" : names[status];
}

static void findings_end_json(struct findings *findings, const struct findings_summary *summary)
{
	struct json *json = &findings->json;
	char next[48];

	json_end_array(json);
	json_number(json, "bytes", findings->bytes);
	json_number(json, "unprotected_bytes", summary->rows->bytes - summary->rows->protected_bytes);
	for (unsigned i = 0; i <= FINDING_UNKNOWN; i++)
		json_number(json, findings_states[i], findings->states[i]);
	json_bool(json, "interrupted", summary->interrupted);
	if (summary->has_next) {
		snprintf(next, sizeof(next), "%" PRIu32 ":%" PRIu64, address_member(summary->next),
			 address_offset(summary->next));
		json_string(json, "next", next);
	}
	json_real(json, "seconds", findings_seconds(findings));
	json_string(json, "state", findings_verdict(findings, summary));
	json_end_object(json);
	putchar('\n');
}

static void findings_unprotected(const struct findings *findings, const struct findings_summary *summary)
{
	char size[SIZE_TEXT_SIZE];
	uint64_t bytes = summary->rows->bytes - summary->rows->protected_bytes;

	if (findings->states[FINDING_LOST])
		printf("no %s copy to repair from. Publish the source again: the new version gets a sound copy\n",
		       summary->members < 2 ? "second" : "sound");
	else if (summary->members > 1 && bytes)
		text_print("%s have no second copy: damage there could not be repaired\n", format_size(bytes, size));
}

static void findings_end_text(const struct findings *findings, const struct findings_summary *summary)
{
	char size[SIZE_TEXT_SIZE];

	if (findings->shown > FINDINGS_SHOWN)
		printf("and %" PRIu64 " more\n", findings->shown - FINDINGS_SHOWN);
	findings_unprotected(findings, summary);
	if (summary->changed)
		puts("the volume was changed meanwhile: the damage may be gone, run this again");
	if (summary->has_next)
		printf("interrupted: go on with --start %" PRIu32 ":%" PRIu64 "\n", address_member(summary->next),
		       address_offset(summary->next));
	text_print("%s: %s of rows read in %.2f s damaged=%" PRIu64 " repaired=%" PRIu64 " failed=%" PRIu64
	       " lost=%" PRIu64 " unknown=%" PRIu64 "\n",
	       findings_verdict(findings, summary), format_size(findings->bytes, size), findings_seconds(findings),
	       findings->states[FINDING_DAMAGED], findings->states[FINDING_REPAIRED],
	       findings->states[FINDING_FAILED], findings->states[FINDING_LOST], findings->states[FINDING_UNKNOWN]);
}

int findings_end(struct findings *findings, const struct findings_summary *summary)
{
	if (findings->is_json)
		findings_end_json(findings, summary);
	else
		findings_end_text(findings, summary);
	pthread_mutex_destroy(&findings->lock);
	return findings_status(findings, summary);
}
