/* SPDX-License-Identifier: MIT */
/* Parses and writes the text format: https://prometheus.io/docs/instrumenting/exposition_formats/ */
#include "exporter/exposition.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/label.h"
#include "base/text/memstream.h"
#include "base/utf8.h"

#define EXPOSITION_FAMILIES 512u
#define EXPOSITION_OWN      16u /* of these, reserved for the exporter itself */
#define EXPOSITION_MOST     (64u << 20) /* bytes of all mounts, about */
#define EXPOSITION_LABELS   16u /* most labels of a series */
#define EXPOSITION_PREFIX   "datasetfs_"

struct exposition_family {
	char *name, *type, *help;
	char *series; /* lines of all mounts */
	size_t length;
	FILE *out;    /* writes series */
};

struct exposition {
	struct exposition_family families[EXPOSITION_FAMILIES];
	size_t count;
	size_t bytes; /* of all mounts, about */
};

/* State while the text of one mount is parsed. */
struct exposition_input {
	struct exposition *exposition;
	const char *mountpoint;
	const char *name, *help; /* of the current family */
	const char *type;        /* NULL: its TYPE is still to come */
	struct exposition *seen; /* while the text is only checked: its families so far; then NULL, */
	struct exposition_family *family; /* and series are added to this */
};

int exposition_new(struct exposition **ret, struct error *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : error_no_memory(err);
}

void exposition_free(struct exposition *exposition)
{
	struct exposition_family *family;

	for (size_t i = 0; exposition && i < exposition->count; i++) {
		family = &exposition->families[i];
		if (family->out)
			fclose(family->out);
		free(family->series);
		free(family->name);
		free(family->type);
		free(family->help);
	}
	free(exposition);
}

static struct exposition_family *exposition_find(const struct exposition *exposition, const char *name)
{
	for (size_t i = 0; i < exposition->count; i++)
		if (!strcmp(exposition->families[i].name, name))
			return (struct exposition_family *)&exposition->families[i];
	return NULL;
}

int exposition_family(struct exposition *exposition, const char *name, const char *type, const char *help,
		      struct error *err)
{
	struct exposition_family *family = &exposition->families[exposition->count];

	if (exposition->count == EXPOSITION_FAMILIES)
		return error_set(err, -EBADMSG, "more than %u families", EXPOSITION_FAMILIES);
	exposition->count++;
	family->name = strdup(name);
	family->type = strdup(type);
	family->help = strdup(help);
	family->out = memstream_open(&family->series, &family->length);
	if (!family->name || !family->type || !family->help || !family->out)
		return error_no_memory(err);
	return 0;
}

int exposition_series(struct exposition *exposition, const char *name, const char *mountpoint, double value,
		      struct error *err)
{
	struct exposition_family *family = exposition_find(exposition, name);

	fputs(name, family->out);
	if (mountpoint) {
		fputc('{', family->out);
		label_write(family->out, "mountpoint", mountpoint);
		fputc('}', family->out);
	}
	fprintf(family->out, " %.15g\n", value);
	return fflush(family->out) == 0 ? 0 : error_no_memory(err);
}

/* ---- names ---- */

static bool exposition_ends(const char *name, const char *suffix)
{
	size_t length = strlen(name), tail = strlen(suffix);

	return length > tail && !strcmp(name + length - tail, suffix);
}

/* ---- lines of a mount ---- */

static size_t exposition_span_name(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *text >= '0' && *text <= '9' ? 0 : strspn(text, allowed);
}

/* Returns whether a mount may use the name: some are reserved for the exporter itself. */
static bool exposition_is_name(const char *name)
{
	return exposition_span_name(name) == strlen(name) &&
	       !strncmp(name, EXPOSITION_PREFIX, strlen(EXPOSITION_PREFIX)) && strcmp(name, "datasetfs_up") != 0 &&
	       strncmp(name, "datasetfs_exporter_", 19) != 0;
}

static bool exposition_is_plain(const char *help)
{
	for (; *help; help++)
		if (*help < ' ' || *help > '~' || *help == '\\' || *help == '"')
			return false;
	return true;
}

static int exposition_help(struct exposition_input *input, char *line, struct error *err)
{
	char *name = line + strlen("# HELP "), *help = strchr(name, ' ');

	if (help)
		*help++ = 0;
	if (!help || !exposition_is_name(name) || !exposition_is_plain(help) ||
	    (input->name && !input->type))
		return error_set(err, -EBADMSG, "an unexpected HELP of '%.64s'", name);
	input->name = name;
	input->help = help;
	input->type = NULL;
	return 0;
}

/* Returns whether it is one of our types and the name fits it. */
static bool exposition_is_type(const char *name, const char *type)
{
	if (!strcmp(type, "counter"))
		return exposition_ends(name, "_total");
	return !exposition_ends(name, "_total") && (!strcmp(type, "gauge") || !strcmp(type, "histogram"));
}

/* Parses "# TYPE NAME TYPE", which follows the HELP of the same family. */
static int exposition_type(struct exposition_input *input, char *line, struct error *err)
{
	char *name = line + strlen("# TYPE "), *type = strchr(name, ' ');
	struct exposition_family *known;
	int r = 0;

	if (type)
		*type++ = 0;
	if (!type || !input->name || input->type || strcmp(name, input->name) != 0 || !exposition_is_type(name, type))
		return error_set(err, -EBADMSG, "an unexpected TYPE of '%.64s'", name);
	known = exposition_find(input->exposition, name);
	if (known && strcmp(known->type, type) != 0)
		return error_set(err, -EBADMSG, "'%.64s' is a %.16s, and a %.16s of another mount", name, type,
				 known->type);
	if (input->seen && exposition_find(input->seen, name))
		return error_set(err, -EBADMSG, "'%.64s' comes twice", name);
	input->type = type;
	if (input->seen)
		return exposition_family(input->seen, name, type, "", err);
	if (!known)
		r = exposition_family(input->exposition, name, type, input->help, err);
	input->family = exposition_find(input->exposition, name);
	return r;
}

/* Returns whether name, of length bytes, is a series of the current family. */
static bool exposition_is_series_of(const struct exposition_input *input, const char *name, size_t length)
{
	size_t own = strlen(input->name);
	const char *suffix = name + own;

	if (length < own || strncmp(name, input->name, own) != 0)
		return false;
	length -= own;
	if (strcmp(input->type, "histogram") != 0)
		return length == 0;
	return (length == 7 && !strncmp(suffix, "_bucket", 7)) || (length == 4 && !strncmp(suffix, "_sum", 4)) ||
	       (length == 6 && !strncmp(suffix, "_count", 6));
}

/* Skips NAME="VALUE" and returns the text after it; NULL: it is malformed, or its name is reserved. */
static const char *exposition_skip_label(const char *at)
{
	size_t length = exposition_span_name(at);

	if (!length || at[length] != '=' || at[length + 1] != '"')
		return NULL;
	if (!strncmp(at, "__", 2) || (length == 10 && !strncmp(at, "mountpoint", 10)))
		return NULL;
	for (at += length + 2; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1] != '\\' && at[1] != '"' && at[1] != 'n')
			return NULL;
		at += *at == '\\';
	}
	return *at ? at + 1 : NULL;
}

/* Skips the labels between { and }, whose names must differ, and returns the }; NULL: they are malformed. */
static const char *exposition_skip_labels(const char *at)
{
	const char *names[EXPOSITION_LABELS];
	size_t count = 0, length;

	do {
		names[count] = at;
		length = strcspn(at, "=") + 1;
		for (size_t i = 0; i < count; i++)
			if (!strncmp(names[i], at, length))
				return NULL;
		at = exposition_skip_label(at);
	} while (at && *at == ',' && *++at && ++count < EXPOSITION_LABELS);
	return at && *at == '}' ? at : NULL;
}

static bool exposition_is_value(const char *text)
{
	double value;
	char *end;

	if (strspn(text, "0123456789.eE+-") != strlen(text))
		return false;
	value = strtod(text, &end);
	return end != text && !*end && isfinite(value);
}

static void exposition_take(const struct exposition_input *input, const char *line, size_t name, const char *labels,
			    const char *end, const char *value)
{
	FILE *out = input->family->out;

	fwrite(line, 1, name, out);
	fputc('{', out);
	label_write(out, "mountpoint", input->mountpoint);
	if (labels) {
		fputc(',', out);
		fwrite(labels, 1, (size_t)(end - labels), out);
	}
	fprintf(out, "} %s\n", value);
}

static int exposition_sample(struct exposition_input *input, const char *line, struct error *err)
{
	const char *at, *labels = NULL, *end = NULL;
	size_t name = exposition_span_name(line);

	if (!input->type || !exposition_is_series_of(input, line, name))
		return error_set(err, -EBADMSG, "a series outside of its family: '%.64s'", line);
	at = line + name;
	if (*at == '{') {
		labels = at + 1;
		end = exposition_skip_labels(labels);
		at = end ? end + 1 : "";
	}
	if (*at != ' ' || !exposition_is_value(at + 1))
		return error_set(err, -EBADMSG, "not a series: '%.64s'", line);
	if (!input->seen)
		exposition_take(input, line, name, labels, end, at + 1);
	return 0;
}

static int exposition_line(struct exposition_input *input, char *line, struct error *err)
{
	if (!strncmp(line, "# HELP ", 7))
		return exposition_help(input, line, err);
	if (!strncmp(line, "# TYPE ", 7))
		return exposition_type(input, line, err);
	return exposition_sample(input, line, err);
}

/* Parses text, whose lines each end with NUL. */
static int exposition_lines(struct exposition_input *input, char *text, size_t length, struct error *err)
{
	int r = 0;

	for (char *line = text, *next; r == 0 && line < text + length; line = next) {
		next = line + strlen(line) + 1;
		r = exposition_line(input, line, err);
	}
	if (r == 0 && input->name && !input->type)
		return error_set(err, -EBADMSG, "the text ends within '%.64s'", input->name);
	return r;
}

/* Checks that the text is UTF-8 and ends with a newline. Replaces newlines by NUL. */
static int exposition_split(char *text, size_t length, struct error *err)
{
	uint32_t point;
	size_t n;

	if (!length || text[length - 1] != '\n')
		return error_set(err, -EBADMSG, "the last line does not end");
	for (size_t at = 0; at < length; at += n) {
		n = utf8_decode((uint8_t *)text + at, length - at, &point);
		if (!n || !point || point == '\r')
			return error_set(err, -EBADMSG, "not text at offset %zu", at);
		if (point == '\n')
			text[at] = 0;
	}
	return 0;
}

static int exposition_check_room(const struct exposition *exposition, const struct exposition *seen, size_t bytes,
				 struct error *err)
{
	size_t count = exposition->count;

	for (size_t i = 0; i < seen->count; i++)
		count += !exposition_find(exposition, seen->families[i].name);
	if (count > EXPOSITION_FAMILIES - EXPOSITION_OWN)
		return error_set(err, -EBADMSG, "more than %u families with those of other mounts",
				 EXPOSITION_FAMILIES - EXPOSITION_OWN);
	if (bytes > EXPOSITION_MOST - exposition->bytes)
		return error_set(err, -EBADMSG, "more than %u MiB with what other mounts say", EXPOSITION_MOST >> 20);
	return 0;
}

/* Returns the size of the text once each line has its label. */
static size_t exposition_bytes(const char *mountpoint, const char *text, size_t length)
{
	size_t bytes = length;

	for (size_t at = 0; at < length; at++)
		bytes += text[at] ? 0 : strlen(mountpoint);
	return bytes;
}

/* Checks the text on a copy, because parsing cuts lines into pieces. */
static int exposition_check(struct exposition *exposition, const char *text, size_t length, size_t bytes,
			    struct error *err)
{
	struct exposition_input input = { .exposition = exposition };
	auto_free char *copy = malloc(length);
	int r = exposition_new(&input.seen, err);

	if (r == 0 && !copy)
		r = error_no_memory(err);
	if (r == 0) {
		memcpy(copy, text, length);
		r = exposition_lines(&input, copy, length, err);
	}
	if (r == 0)
		r = exposition_check_room(exposition, input.seen, bytes, err);
	exposition_free(input.seen);
	return r;
}

int exposition_add(struct exposition *exposition, const char *mountpoint, char *text, size_t length,
		   struct error *err)
{
	struct exposition_input input = { .exposition = exposition, .mountpoint = mountpoint };
	size_t bytes = 0;
	int r = exposition_split(text, length, err);

	if (r == 0) {
		bytes = exposition_bytes(mountpoint, text, length);
		r = exposition_check(exposition, text, length, bytes, err);
	}
	if (r < 0)
		return r;
	exposition->bytes += bytes;
	return exposition_lines(&input, text, length, err);
}

/* ---- out ---- */

static void exposition_head(const struct exposition_family *family, FILE *out)
{
	fprintf(out, "# HELP %s %s\n", family->name, family->help);
	fprintf(out, "# TYPE %s %s\n", family->name, family->type);
}

void exposition_write(const struct exposition *exposition, FILE *out)
{
	const struct exposition_family *family;

	for (size_t i = 0; i < exposition->count; i++) {
		family = &exposition->families[i];
		fflush(family->out);
		exposition_head(family, out);
		fwrite(family->series, 1, family->length, out);
	}
}
