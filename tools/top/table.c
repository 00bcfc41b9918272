/* SPDX-License-Identifier: MIT */
/* Fills each column with a rate, or by a function of its own. */
#include "top/table.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"
#include "status/health.h"

#define TABLE_CELL_SIZE 512

const char *const table_sorts[TABLE_SORTS] = { "files", "data", "latency", "reads", "cpu", "stalls", "mount" };

/* ---- text ---- */

/* Appends the printed form of one character to *text. Returns its columns, and in *ret_bytes the length of the
 * character. A character that this terminal cannot show, or that would control it, becomes a question mark. */
static unsigned table_character(const char *from, char **text, size_t *ret_bytes)
{
	const uint8_t *bytes = (const uint8_t *)from;
	size_t left = strlen(from), n = utf8_shown(bytes, left);
	uint32_t point = 0;
	int columns = n && utf8_decode(bytes, left, &point) ? wcwidth((wchar_t)point) : -1;

	*ret_bytes = n ? n : 1;
	if (columns < 0) {
		*(*text)++ = '?';
		return 1;
	}
	memcpy(*text, from, n);
	*text += n;
	return (unsigned)columns;
}

/* Copies at most this many columns, and bytes for them; returns how many columns it took. */
static unsigned table_copy(const char *words, unsigned width, char **text)
{
	char character[8], *end;
	const char *last = *text + 4 * (size_t)width; /* combining marks take no column */
	unsigned used = 0, columns;
	size_t bytes;

	for (; *words; words += bytes, used += columns) {
		end = character;
		columns = table_character(words, &end, &bytes);
		if (used + columns > width || *text + (end - character) > last)
			break;
		memcpy(*text, character, (size_t)(end - character));
		*text += end - character;
	}
	return used;
}

static unsigned table_columns(const char *words)
{
	char character[8], *end;
	unsigned columns = 0;
	size_t bytes;

	for (; *words; words += bytes) {
		end = character;
		columns += table_character(words, &end, &bytes);
	}
	return columns;
}

void table_cut(const char *words, unsigned width, char text[TABLE_LINE_SIZE])
{
	char *end = text;

	table_copy(words, width < TABLE_WIDTH_MAX ? width : TABLE_WIDTH_MAX, &end);
	*end = 0;
}

/* Keeps the end of a path that is too long, because paths differ at their ends. */
static void table_fit(const char *words, unsigned width, bool is_left, char **text)
{
	unsigned columns = table_columns(words), used = 0;
	const char *from = words;
	char character[8], *end;
	size_t bytes;

	if (columns > width) {
		*(*text)++ = '~';
		for (used = 1; columns > width - 1; from += bytes) {
			end = character;
			columns -= table_character(from, &end, &bytes);
		}
	}
	for (unsigned i = used + columns; !is_left && i < width; i++)
		*(*text)++ = ' ';
	used += table_copy(from, width - used, text);
	for (; is_left && used < width; used++)
		*(*text)++ = ' ';
}

/* ---- values ---- */

/* Formats a number with four significant digits, or fewer if they do not fit. */
static void table_number(double value, unsigned width, char *cell)
{
	static const char units[] = " kMGT";
	unsigned unit = 0;
	int digits = value < 0.9995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0; /* by the rounded value */

	if (isnan(value) || value < 0) {
		snprintf(cell, TABLE_CELL_SIZE, "-");
		return;
	}
	snprintf(cell, TABLE_CELL_SIZE, "%.*f", value == 0 ? 0 : digits, value);
	while (strlen(cell) > width && unit < 4) {
		value /= 1000;
		snprintf(cell, TABLE_CELL_SIZE, "%.*f%c", value < 100, value, units[++unit]);
	}
}

/* Formats a duration: "42s", "17m", "3h", "12d". */
static void table_span(int64_t seconds, char *cell)
{
	int64_t s = seconds < 0 ? 0 : seconds;

	if (s < 60)
		snprintf(cell, TABLE_CELL_SIZE, "%" PRId64 "s", s);
	else if (s < 3600)
		snprintf(cell, TABLE_CELL_SIZE, "%" PRId64 "m", s / 60);
	else if (s < 86400)
		snprintf(cell, TABLE_CELL_SIZE, "%" PRId64 "h", s / 3600);
	else
		snprintf(cell, TABLE_CELL_SIZE, "%" PRId64 "d", s / 86400);
}

const char *table_state(const struct watch_mount *mount, int64_t now)
{
	static const char *const states[] = { "new", "kernel", "ok", "silent", "refused", "gone" };
	struct health_trouble trouble;

	if (mount->state == WATCH_ANSWERS && health_trouble(&mount->stats, mount->mounted.point, now, 0, &trouble))
		return trouble.word;
	return states[mount->state];
}

/* ---- columns ---- */

struct table_cell {
	const struct watch_mount *mount;
	int64_t now;
	unsigned width;
	char *text; /* TABLE_CELL_SIZE bytes */
};

static void table_mount(const struct table_cell *cell)
{
	snprintf(cell->text, TABLE_CELL_SIZE, "%s", cell->mount->mounted.point);
}

static void table_version(const struct table_cell *cell)
{
	const char *label = cell->mount->has_stats ? cell->mount->stats.label : cell->mount->mounted.label;

	snprintf(cell->text, TABLE_CELL_SIZE, "%s", label ? label : "-");
}

static void table_since(const struct table_cell *cell)
{
	const struct watch_mount *mount = cell->mount;

	if (mount->has_stats && mount->stats.serving_since)
		table_span(cell->now - (int64_t)mount->stats.serving_since, cell->text);
	else
		snprintf(cell->text, TABLE_CELL_SIZE, "-");
}

static void table_rate(const struct table_cell *cell, double value)
{
	bool is_known = cell->mount->has_rates && cell->mount->state != WATCH_KERNEL;

	table_number(is_known ? value : NAN, cell->width, cell->text);
}

static void table_local(const struct table_cell *cell)
{
	table_rate(cell, cell->mount->stats.local_size ? cell->mount->rates.local_per_read * 100 : NAN);
}

/* The kernel counts reads of the devices as well. */
static void table_device(const struct table_cell *cell)
{
	double value = cell->mount->rates.device_bytes_per_second / 1e6;

	table_number(cell->mount->has_rates ? value : NAN, cell->width, cell->text);
}

static void table_load(const struct table_cell *cell)
{
	const struct rates *rates = &cell->mount->rates;

	table_rate(cell, rates->seconds > 0 ? rates->cpu / rates->seconds * 100 : NAN);
}

static void table_device_count(const struct table_cell *cell, uint64_t count)
{
	if (cell->mount->has_stats && count < 100000)
		snprintf(cell->text, TABLE_CELL_SIZE, "%" PRIu64, count);
	else
		table_number(cell->mount->has_stats ? (double)count : NAN, cell->width, cell->text);
}

static void table_count(const struct table_cell *cell, uint64_t count)
{
	if (cell->mount->state == WATCH_KERNEL)
		snprintf(cell->text, TABLE_CELL_SIZE, "-");
	else
		table_device_count(cell, count);
}

static void table_stalls(const struct table_cell *cell)
{
	table_count(cell, cell->mount->stats.stalls);
}

static void table_flight(const struct table_cell *cell)
{
	table_device_count(cell, cell->mount->stats.in_flight);
}

static void table_clients(const struct table_cell *cell)
{
	table_count(cell, cell->mount->stats.clients);
}

static void table_word(const struct table_cell *cell)
{
	snprintf(cell->text, TABLE_CELL_SIZE, "%s", table_state(cell->mount, cell->now));
}

#define TABLE_FILL(FUNCTION)    FUNCTION, 0, 0
#define TABLE_RATE(FIELD, EACH) NULL, offsetof(struct rates, FIELD), EACH

/* The columns. MOUNT is 11 columns wide in a terminal of 80; in a wider one it gets the columns that VERSION leaves. In
 * a narrower one columns are left out, and DATA is the last to go. */
static const struct table_column {
	const char *title, *unit;
	unsigned width, from; /* from: the narrowest terminal, in columns, that shows it */
	bool is_left;
	void (*fill)(const struct table_cell *cell); /* NULL: a field of struct rates, in units of so much */
	size_t rate;
	double each;
} table_layout[] = {
	{ "MOUNT", "", 11, 0, true, TABLE_FILL(table_mount) },
	{ "VERSION", "", 7, 0, true, TABLE_FILL(table_version) },
	{ "SINCE", "", 5, 61, false, TABLE_FILL(table_since) },
	{ "FILES", "/s", 6, 0, false, TABLE_RATE(files_per_second, 1) },
	{ "DATA", "MB/s", 6, 42, false, TABLE_RATE(bytes_per_second, 1e6) },
	{ "p50", "ms", 5, 67, false, TABLE_RATE(latency[RATES_P50], 1e-3) },
	{ "p90", "ms", 5, 96, false, TABLE_RATE(latency[RATES_P90], 1e-3) },
	{ "p99", "ms", 5, 48, false, TABLE_RATE(latency[RATES_P99], 1e-3) },
	{ "p99.9", "ms", 5, 96, false, TABLE_RATE(latency[RATES_P999], 1e-3) },
	{ "READS", "/file", 5, 73, false, TABLE_RATE(reads_per_file, 1) },
	{ "CPU us", "/file", 6, 80, false, TABLE_RATE(cpu_per_file, 1e-6) },
	{ "DEVICE", "MB/s", 6, 120, false, TABLE_FILL(table_device) },
	{ "CPU", "%", 5, 120, false, TABLE_FILL(table_load) },
	{ "HELD", "%", 5, 140, false, TABLE_RATE(held_per_read, 1e-2) },
	{ "LOCAL", "%", 5, 146, false, TABLE_FILL(table_local) },
	{ "FLIGHT", "now", 6, 130, false, TABLE_FILL(table_flight) },
	{ "PAST", "now", 5, 130, false, TABLE_FILL(table_clients) },
	{ "STALLS", "", 6, 55, false, TABLE_FILL(table_stalls) },
	{ "STATE", "", 8, 0, true, TABLE_FILL(table_word) },
};
#define TABLE_COLUMNS (sizeof(table_layout) / sizeof(*table_layout))
#define TABLE_VERSION_MOST 24u

static unsigned table_clamp(unsigned width)
{
	return width < TABLE_WIDTH_MIN ? TABLE_WIDTH_MIN : width > TABLE_WIDTH_MAX ? TABLE_WIDTH_MAX : width;
}

/* Chooses the columns that fit, with a blank between each two. */
static void table_widths(unsigned width, unsigned widths[TABLE_COLUMNS])
{
	unsigned used = 0, spare, more;

	for (size_t i = 0; i < TABLE_COLUMNS; i++) {
		widths[i] = table_layout[i].from <= width ? table_layout[i].width : 0;
		used += widths[i] ? widths[i] + 1 : 0;
	}
	spare = width + 1 > used ? width + 1 - used : 0;
	more = spare / 3 < TABLE_VERSION_MOST - widths[1] ? spare / 3 : TABLE_VERSION_MOST - widths[1];
	widths[1] += more;
	widths[0] += spare - more;
}

static void table_join(const char *cell, unsigned width, size_t column, char **end)
{
	if (!width)
		return;
	if (column)
		*(*end)++ = ' ';
	table_fit(cell, width, table_layout[column].is_left, end);
}

static void table_trim(char *text, char *end)
{
	while (end > text && end[-1] == ' ')
		end--;
	*end = 0;
}

void table_head(unsigned width, unsigned line, char text[TABLE_LINE_SIZE])
{
	unsigned widths[TABLE_COLUMNS];
	char *end = text;

	table_widths(table_clamp(width), widths);
	for (size_t i = 0; i < TABLE_COLUMNS; i++)
		table_join(line ? table_layout[i].unit : table_layout[i].title, widths[i], i, &end);
	table_trim(text, end);
}

void table_row(const struct watch_mount *mount, int64_t now, unsigned width, char text[TABLE_LINE_SIZE])
{
	unsigned widths[TABLE_COLUMNS];
	char words[TABLE_CELL_SIZE], *end = text;
	struct table_cell cell = { mount, now, 0, words };

	table_widths(table_clamp(width), widths);
	for (size_t i = 0; i < TABLE_COLUMNS; i++) {
		const struct table_column *column = &table_layout[i];
		const double *rate = (const void *)((const char *)&mount->rates + column->rate);

		cell.width = column->width;
		if (column->fill)
			column->fill(&cell);
		else
			table_rate(&cell, *rate / column->each);
		table_join(words, widths[i], i, &end);
	}
	table_trim(text, end);
}

/* ---- order ---- */

static double table_key(const struct watch_mount *mount, enum table_sort sort)
{
	const struct rates *rates = &mount->rates;
	const double keys[] = {
		[TABLE_FILES] = rates->files_per_second,
		[TABLE_DATA] = rates->bytes_per_second,
		[TABLE_LATENCY] = rates->latency[RATES_P99],
		[TABLE_READS] = rates->reads_per_file,
		[TABLE_CPU] = rates->cpu_per_file,
		[TABLE_STALLS] = (double)mount->stats.stalls,
		[TABLE_MOUNT] = 0,
	};

	if (mount->state > WATCH_ANSWERS)
		return INFINITY;
	return !mount->has_rates || isnan(keys[sort]) ? -1 : keys[sort];
}

int table_compare(const void *a, const void *b, void *sort)
{
	const struct watch_mount *one = *(struct watch_mount *const *)a, *other = *(struct watch_mount *const *)b;
	double first = table_key(one, *(enum table_sort *)sort), second = table_key(other, *(enum table_sort *)sort);

	if (first != second)
		return first > second ? -1 : 1;
	return strcmp(one->mounted.point, other->mounted.point);
}
