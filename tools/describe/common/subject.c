/* SPDX-License-Identifier: MIT */
/* Opens a version's index, and says which version it is. */
#include "describe/common/subject.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "image/sums/sum.h"
#include "text.h"
#include "walk.h"

/* Checks that the directory exists before anything is printed. */
static int subject_find(const struct subject *subject, struct error *err)
{
	struct walk *walk = NULL;
	int r = walk_open(subject->index, subject->below, &walk, err);

	walk_close(walk);
	return r < 0 ? error_wrap(err, r, "version '%s'", subject->version->label) : 0;
}

int subject_open(const struct volume *volume, const char *label, const struct demands *demands, struct subject *ret,
		 struct error *err)
{
	struct subject subject = { .volume = volume };
	int r = demands_open(demands, volume, label, &subject.version, &subject.index, err);

	if (r == 0)
		r = meta_load(subject.index, &subject.meta, err);
	if (r < 0)
		subject_close(&subject);
	else
		*ret = subject;
	return r;
}

int subject_limit(struct subject *subject, const char *below, size_t limit, struct error *err)
{
	subject->below = below;
	subject->limit = limit;
	return below ? subject_find(subject, err) : 0;
}

void subject_close(struct subject *subject)
{
	index_close(subject->index);
	meta_free(&subject->meta);
	*subject = (struct subject){ 0 };
}

void subject_json(const struct subject *subject, struct json *json, const char *key)
{
	char digest[DIGEST_TEXT_SIZE];

	format_digest(subject->version->digest, digest);
	json_begin_object(json, key);
	json_string(json, "label", subject->version->label);
	json_number(json, "sequence", subject->version->sequence);
	json_string(json, "digest", digest);
	json_string(json, "sums", sum_name(subject->version->shape.chunk_sum));
	meta_json(&subject->meta, json, "meta");
	json_end_object(json);
}

void subject_text(const struct subject *subject, const char *title)
{
	char digest[DIGEST_TEXT_SIZE];

	format_digest(subject->version->digest, digest);
	text_print("%-13s%s (sequence %" PRIu64 ", sums %s)\n", title, subject->version->label,
		   subject->version->sequence, sum_name(subject->version->shape.chunk_sum));
	text_print("%-13s%s\n", "digest", digest);
}

void subject_meta_text(const struct subject *subject)
{
	const struct meta_entry *entry = subject->meta.list;

	for (size_t i = 0; i < subject->meta.count; i++, entry++) {
		printf("%-13s", "metadata");
		shown_write(stdout, entry->key, strlen(entry->key), "=");
		putchar('=');
		shown_write(stdout, entry->value.base, entry->value.size, "");
		putchar('\n');
	}
}
