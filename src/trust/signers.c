/* SPDX-License-Identifier: MIT */
/* Reads each line to its end, as a line that cannot be read may be a mistake that its writer should know of. */
#include "trust/signers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "trust/keyline.h"
#include "trust/sshsig.h"
#include "trust/statement.h"

struct signers_line {
	struct span principals;
	bool is_authority;
	bool has_namespaces, is_ours; /* whether the line names namespaces, and ours among them */
	uint64_t after, before; /* seconds since the epoch; before 0: without an end */
	struct keyline key;
};

/* --- options --- */

static struct span signers_unquote(struct span text)
{
	if (text.size >= 2 && text.base[0] == '"' && text.base[text.size - 1] == '"')
		return span_of(text.base + 1, text.size - 2);
	return text;
}

/* Takes the next part off a list with commas; quotes protect commas. */
static struct span signers_part(struct span *list)
{
	bool quoted = false;
	struct span part;
	uint64_t length;

	for (length = 0; length < list->size && (quoted || list->base[length] != ','); length++)
		quoted ^= list->base[length] == '"';
	part = span_of(list->base, length);
	length += length < list->size;
	*list = span_of(list->base + length, list->size - length);
	return part;
}

/* Whether a pattern with * and ? matches our namespace. */
static bool signers_matches(struct span pattern)
{
	const char *text = SSHSIG_NAMESPACE, *again = NULL;
	uint64_t at = 0, star = UINT64_MAX;

	while (*text) {
		if (at < pattern.size && (pattern.base[at] == '?' || pattern.base[at] == (uint8_t)*text)) {
			at++;
			text++;
		} else if (at < pattern.size && pattern.base[at] == '*') {
			star = at++;
			again = text;
		} else if (star != UINT64_MAX) {
			at = star + 1;
			text = ++again;
		} else {
			return false;
		}
	}
	while (at < pattern.size && pattern.base[at] == '*')
		at++;
	return at == pattern.size;
}

/* A matching pattern behind '!' overrides patterns that allow. */
static bool signers_has_namespace(struct span list)
{
	bool allowed = false;

	while (list.size) {
		struct span pattern = signers_part(&list);
		bool forbids = pattern.size && pattern.base[0] == '!';

		if (forbids)
			pattern = span_of(pattern.base + 1, pattern.size - 1);
		if (!signers_matches(pattern))
			continue;
		if (forbids)
			return false;
		allowed = true;
	}
	return allowed;
}

/* Reads YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, in UTC with a Z behind it, else in the machine's zone. */
static bool signers_time(struct span value, uint64_t *ret)
{
	static const char *const forms[] = { [8] = "%Y%m%d", [12] = "%Y%m%d%H%M", [14] = "%Y%m%d%H%M%S" };
	struct tm tm = { .tm_isdst = -1 };
	char text[16] = "";
	const char *end;
	bool is_utc;
	time_t time;

	if (!value.size || value.size >= sizeof(text))
		return false;
	is_utc = value.base[value.size - 1] == 'Z' || value.base[value.size - 1] == 'z';
	value.size -= is_utc;
	memcpy(text, value.base, value.size);
	if (value.size >= sizeof(forms) / sizeof(*forms) || !forms[value.size] ||
	    strspn(text, "0123456789") != value.size)
		return false;
	end = strptime(text, forms[value.size], &tm);
	time = end && !*end ? is_utc ? timegm(&tm) : mktime(&tm) : -1;
	*ret = (uint64_t)time;
	return time > 0;
}

static bool signers_is(struct span name, const char *text)
{
	return name.size == strlen(text) && !strncasecmp((const char *)name.base, text, name.size);
}

static bool signers_option(struct span option, struct signers_line *line)
{
	const uint8_t *equals = option.size ? memchr(option.base, '=', option.size) : NULL;
	struct span name = span_of(option.base, equals ? (uint64_t)(equals - option.base) : option.size);
	struct span value = span_of(NULL, 0);

	if (!equals) {
		line->is_authority = signers_is(name, "cert-authority");
		return line->is_authority;
	}
	value = signers_unquote(span_of(equals + 1, option.size - name.size - 1));
	if (signers_is(name, "valid-after"))
		return signers_time(value, &line->after);
	if (signers_is(name, "valid-before"))
		return signers_time(value, &line->before);
	if (!signers_is(name, "namespaces"))
		return false;
	line->has_namespaces = true;
	line->is_ours = signers_has_namespace(value);
	return true;
}

static bool signers_options(struct span list, struct signers_line *line)
{
	while (list.size)
		if (!signers_option(signers_part(&list), line))
			return false;
	return true;
}

/* Options have an equals sign, but for one. */
static bool signers_is_options(struct span word)
{
	struct span rest = word;

	return word.size && (memchr(word.base, '=', word.size) || signers_is(signers_part(&rest), "cert-authority"));
}

static bool signers_read(struct signers_line *line)
{
	struct span word;

	line->principals = keyline_word(&line->key);
	word = keyline_word(&line->key);
	if (signers_is_options(word)) {
		if (!signers_options(word, line))
			return false;
		word = keyline_word(&line->key);
	}
	return keyline_key(&line->key, word);
}

/* --- finding --- */

/* Says why the line does not allow a signature of this date, or returns 0. */
static int signers_judge(const struct signers_line *line, uint64_t date, const char *name, struct error *err)
{
	char of[STATEMENT_DATE_SIZE], limit[STATEMENT_DATE_SIZE];

	if (line->has_namespaces && !line->is_ours)
		return error_set(err, -EKEYREJECTED, "the key of '%s' is allowed for other namespaces than '"
				 SSHSIG_NAMESPACE "'", name);
	if (date < line->after)
		return error_set(err, -EKEYREJECTED, "the version is of %s, and the key of '%s' is valid after %s",
				 statement_date(date, of), name, statement_date(line->after, limit));
	if (line->before && date > line->before)
		return error_set(err, -EKEYREJECTED, "the version is of %s, and the key of '%s' was valid before %s",
				 statement_date(date, of), name, statement_date(line->before, limit));
	return 0;
}

static void signers_name(const struct signers_line *line, char name[SIGNERS_NAME_SIZE])
{
	struct span principals = signers_unquote(line->principals);

	snprintf(name, SIGNERS_NAME_SIZE, "%.*s",
		 (int)(principals.size < SIGNERS_NAME_SIZE ? principals.size : SIGNERS_NAME_SIZE - 1),
		 (const char *)principals.base);
}

int signers_find(struct span file, struct span key, uint64_t date, char name[SIGNERS_NAME_SIZE], struct error *err)
{
	char fingerprint[SSHKEY_FINGERPRINT_SIZE], of_line[SIGNERS_NAME_SIZE];
	struct error why = { 0 };
	unsigned number = 0;
	bool is_found = false;
	struct signers_line line;
	int r;

	for (line = (struct signers_line){ 0 }; keyline_next(&file, &number, &line.key);
	     line = (struct signers_line){ 0 }) {
		if (!signers_read(&line))
			return error_set(err, -EINVAL, "line %u is malformed, expected those of ssh-keygen(1), ALLOWED "
					 "SIGNERS", number);
		if (is_found || line.is_authority || !keyline_is(&line.key, key))
			continue;
		signers_name(&line, of_line);
		is_found = signers_judge(&line, date, of_line, &why) == 0;
		if (is_found)
			memcpy(name, of_line, sizeof(of_line));
	}
	if (is_found)
		return 0;
	if (why.reason[0])
		return error_pass(err, why.code, &why);
	r = sshkey_fingerprint(key, fingerprint, err);
	return r < 0 ? r : error_set(err, -EKEYREJECTED, "it is signed by the key %s, which is not allowed",
				     fingerprint);
}
