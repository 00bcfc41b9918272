/* SPDX-License-Identifier: MIT */
/* Collects, checks and sorts options; their order makes no difference, as none may come twice but the engine, which is
 * then the same. */
#include "attach/key.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assembly/assembly.h"
#include "assembly/naming.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "image/catalogue/catalogue.h"
#include "image/sums/sha256.h"
#include "options/mount_options.h"
#include "trust/trust.h"

/* Options that consumers may give: they choose the data, and grant no rights. */
static const char *const key_consumer_names[] = { "digest", "engine", "version" };
#define KEY_CONSUMER_FOLLOW "follow=current"
#define KEY_KERNEL          "kernel" /* the mount option, which engine=kernel stands for, too */
#define KEY_MOUNTS          16u
#define KEY_MOUNTS_MAX      65536u

int key_begin(const char *volume, struct key *ret, struct error *err)
{
	*ret = (struct key){ .max_mounts = KEY_MOUNTS };
	for (const char *c = volume; *c; c++)
		if ((unsigned char)*c < ' ')
			return error_set(err, -EINVAL, "the name of the volume holds a control character");
	return naming_absolute(volume, &ret->volume, err);
}

void key_free(struct key *key)
{
	for (size_t i = 0; i < key->count; i++)
		free(key->words[i]);
	free(key->words);
	catalogue_free(&key->catalogue);
	free(key->volume);
	free(key->label);
	*key = (struct key){ 0 };
}

/* ---- what may be said ---- */

static size_t key_length(const char *word)
{
	return strcspn(word, "=");
}

static bool key_is_named(const char *word, const char *name)
{
	return strlen(name) == key_length(word) && !strncmp(word, name, key_length(word));
}

static bool key_is_consumers(const char *word)
{
	for (size_t i = 0; i < sizeof(key_consumer_names) / sizeof(*key_consumer_names); i++)
		if (key_is_named(word, key_consumer_names[i]))
			return true;
	return !strcmp(word, KEY_CONSUMER_FOLLOW);
}

/* Files are opened in the machine's namespace, and the daemon has no working directory. */
static int key_check_file(const char *word, struct error *err)
{
	int length = (int)key_length(word);

	if (word[length] == '=' && word[length + 1] == '/')
		return 0;
	return error_set(err, -EINVAL, "option '%.*s': expected '%.*s=' and an absolute path", length, word, length,
			 word);
}

static int key_check(enum key_who who, const char *word, struct error *err)
{
	int length = (int)key_length(word);

	if (!length)
		return error_set(err, -EINVAL, "an option has no name");
	for (const char *c = word; *c; c++)
		if ((unsigned char)*c < ' ' || *c == ',' || *c == 0x7f)
			return error_set(err, -EINVAL, "an option holds %s",
					 *c == ',' ? "a comma" : "a control character");
	if (who == KEY_CONSUMER && !key_is_consumers(word))
		return error_set(err, -EPERM, "option '%s' is for the administrator of the machine", word);
	return mount_options_names_file(word) ? key_check_file(word, err) : 0;
}

/* ---- saying it ---- */

static int key_compare(const char *a, const char *b)
{
	size_t length = key_length(a), other = key_length(b);
	int order = memcmp(a, b, length < other ? length : other);

	return order ? order : (length > other) - (length < other);
}

/* Puts the word at its place in the order of names. */
static int key_insert(struct key *key, const char *word, struct error *err)
{
	size_t at = 0;
	char *copy;
	int r;

	while (at < key->count && key_compare(key->words[at], word) < 0)
		at++;
	if (at < key->count && key_compare(key->words[at], word) == 0)
		return error_set(err, -EINVAL, "option '%.*s' is given twice", (int)key_length(word), word);
	r = grow_one(key->words, key->count, err);
	if (r < 0)
		return r;
	copy = strdup(word);
	if (!copy)
		return error_no_memory(err);
	memmove(key->words + at + 1, key->words + at, (key->count - at) * sizeof(*key->words));
	key->words[at] = copy;
	key->count++;
	return 0;
}

static int key_say_version(struct key *key, const char *word, struct error *err)
{
	const char *label = word + strlen("version=");
	int r;

	if (!word[key_length(word)])
		return error_set(err, -EINVAL, "option 'version' needs a value");
	if (key->label)
		return error_set(err, -EINVAL, "option 'version' is given twice");
	r = version_check_label(label, err);
	if (r < 0)
		return error_wrap(err, r, "option 'version'");
	key->label = strdup(label);
	return key->label ? 0 : error_no_memory(err);
}

/* Puts the digest into the one form that it has in a key. */
static int key_say_digest(struct key *key, enum key_who who, const char *word, struct error *err)
{
	char said[sizeof("digest=") + DIGEST_TEXT_SIZE] = "digest=";
	size_t length = strlen(said);
	int r = parse_digest(word[key_length(word)] ? word + length : "", key->digest, err);

	if (r < 0)
		return error_wrap(err, r, "option 'digest'");
	key->has_digest = true;
	key->pins = who == KEY_ADMIN;
	format_digest(key->digest, said + length);
	return key_insert(key, said, err);
}

static int key_say_engine(struct key *key, enum key_who who, const char *word, struct error *err)
{
	bool is_kernel = !strcmp(word, KEY_KERNEL) || !strcmp(word, "engine=" KEY_KERNEL);

	if (!is_kernel && strcmp(word, "engine=fuse") != 0)
		return error_set(err, -EINVAL, "option '%s': expected engine=kernel or engine=fuse", word);
	if (key->has_engine && key->is_kernel != is_kernel)
		return error_set(err, -EINVAL, "option '%s': the other engine was chosen before, by '%s'", word,
				 is_kernel ? "engine=fuse" : KEY_KERNEL);
	key->asks_kernel = is_kernel && who == KEY_CONSUMER && (!key->has_engine || key->asks_kernel);
	if (key->has_engine)
		return 0;
	key->has_engine = true;
	key->is_kernel = is_kernel;
	return is_kernel ? key_insert(key, KEY_KERNEL, err) : 0;
}

static int key_say_max_mounts(struct key *key, const char *word, struct error *err)
{
	const char *value = word + key_length(word);
	uint64_t count = 0;
	int r = parse_u64(*value ? value + 1 : "", 1, KEY_MOUNTS_MAX, &count, err);

	if (r < 0)
		return error_wrap(err, r, "option 'max_mounts'");
	key->max_mounts = (unsigned)count;
	return 0;
}

/* Returns what stands behind the name and the equals sign of an option that has both. NULL: it was not said. */
static const char *key_value(const struct key *key, const char *name)
{
	for (size_t i = 0; i < key->count; i++)
		if (key_is_named(key->words[i], name))
			return key->words[i] + strlen(name) + 1;
	return NULL;
}

/* Checks what was said by now: nothing that stands there may be without effect. */
static int key_check_together(const struct key *key, struct error *err)
{
	if (key->follows && (key->label || key->has_digest))
		return error_set(err, -EINVAL, "option 'follow' cannot be combined with '%s', which pins the mount",
				 key->label ? "version" : "digest");
	if (key->follows && key->is_kernel)
		return error_set(err, -EINVAL, "option 'follow' cannot be combined with 'kernel', as what was attached "
				 "keeps its version: without it, the next attach gets what is current then");
	if (key->asks_kernel && (key->pins || key_value(key, "trust")))
		return error_set(err, -EPERM, "option 'engine=kernel' is for the administrator of the machine where "
				 "%s, as the kernel verifies no content",
				 key->pins ? "'digest' pins the version" : "'trust' says who may sign");
	return 0;
}

/* Leaves it to the caller to check what is said together. */
static int key_say_one(struct key *key, enum key_who who, const char *word, struct error *err)
{
	int r = key_check(who, word, err);

	if (r == 0 && key_is_named(word, "version"))
		r = key_say_version(key, word, err);
	else if (r == 0 && key_is_named(word, "digest"))
		r = key_say_digest(key, who, word, err);
	else if (r == 0 && (key_is_named(word, "engine") || key_is_named(word, KEY_KERNEL)))
		r = key_say_engine(key, who, word, err);
	else if (r == 0 && key_is_named(word, "max_mounts"))
		r = key_say_max_mounts(key, word, err);
	else if (r == 0)
		r = key_insert(key, word, err);
	if (r < 0)
		return r;
	key->is_asked = key->is_asked || who == KEY_CONSUMER;
	key->follows = key_value(key, "follow");
	return 0;
}

int key_say(struct key *key, enum key_who who, const char *word, struct error *err)
{
	int r = key_say_one(key, who, word, err);

	return r < 0 ? r : key_check_together(key, err);
}

int key_say_list(struct key *key, enum key_who who, const char *list, struct error *err)
{
	auto_free char *copy = strdup(list);
	char *rest = copy, *word;
	int r = copy ? 0 : error_no_memory(err);

	while (r == 0 && (word = strsep(&rest, ",")))
		if (*word)
			r = key_say_one(key, who, word, err);
	return r < 0 ? r : key_check_together(key, err);
}

/* ---- the version ---- */

/* So that a revoked key counts at once for the next consumer, while others still have the mount. The daemon checks as
 * well, and the digest. */
static int key_check_signed(const struct key *key, const struct catalogue *catalogue, const struct version *version,
			    struct error *err)
{
	const struct trust trust = { key_value(key, "trust"), key_value(key, "revoked") };
	struct trust_signer signer;

	return trust_check(&trust, version, catalogue->volume_uuid, &signer, err);
}

bool key_is_served(const struct key *key, const uint8_t uuid[16], const uint8_t digest[32])
{
	const struct version *version;

	if (!key->follows)
		return !memcmp(uuid, key->uuid, sizeof(key->uuid)) && !memcmp(digest, key->digest, sizeof(key->digest));
	if (!key_value(key, "trust"))
		return true;
	version = catalogue_by_uuid(&key->catalogue, uuid);
	return version && !memcmp(digest, version->digest, sizeof(version->digest)) &&
	       key_check_signed(key, &key->catalogue, version, NULL) == 0;
}

/* The daemon computes the digest itself, too, and does not trust the catalogue. */
static int key_choose(const struct key *key, const struct catalogue *catalogue, const struct version **ret,
		      struct error *err)
{
	int r = 0;

	if (key->label)
		r = catalogue_select(catalogue, key->label, ret, err);
	else if (key->has_digest)
		r = catalogue_select_digest(catalogue, key->digest, key->volume, ret, err);
	else if (!(*ret = catalogue_current(catalogue)))
		r = error_set(err, -ENOENT, "the volume has no current version");
	if (r == 0 && key->has_digest && memcmp(key->digest, (*ret)->digest, sizeof(key->digest)) != 0)
		r = catalogue_refuse_digest(catalogue, (*ret)->label, (*ret)->digest, key->digest, err);
	return r;
}

static int key_take_version(struct key *key, const struct catalogue *catalogue, struct error *err)
{
	const struct version *version = NULL;
	int r = key_choose(key, catalogue, &version, err);

	if (r == 0)
		r = key_check_signed(key, catalogue, version, err);
	if (r < 0)
		return r;
	memcpy(key->uuid, version->uuid, sizeof(key->uuid));
	memcpy(key->digest, version->digest, sizeof(key->digest));
	free(key->label);
	key->label = strdup(version->label);
	return key->label ? 0 : error_no_memory(err);
}

int key_resolve(struct key *key, struct error *err)
{
	struct superblock super;
	struct assembly assembly;
	int r;

	if (key->follows && !key_value(key, "trust"))
		return 0;
	r = assembly_open(key->volume, FILE_PATIENCE, &assembly, err);
	if (r < 0)
		return error_wrap(err, r, "volume '%s'", key->volume);
	r = catalogue_load(&assembly.array->source, assembly.rings, &super, &key->catalogue, err);
	if (r == 0 && !key->follows)
		r = key_take_version(key, &key->catalogue, err);
	assembly_close(&assembly);
	return r < 0 ? error_wrap(err, r, "volume '%s'", key->volume) : 0;
}

/* ---- its name, and its command ---- */

static void key_add(struct sha256 *sha, const char *text)
{
	sha256_add(sha, text, strlen(text) + 1);
}

int key_name(const struct key *key, char ret[KEY_NAME_SIZE], struct error *err)
{
	struct sha256 *sha = sha256_new();
	uint8_t digest[SHA256_SIZE];
	int r;

	if (!sha)
		return error_no_memory(err);
	key_add(sha, key->volume);
	key_add(sha, key->label ? key->label : "");
	sha256_add(sha, key->uuid, sizeof(key->uuid));
	for (size_t i = 0; i < key->count; i++)
		key_add(sha, key->words[i]);
	r = sha256_end(sha, digest, err);
	sha256_free(sha);
	if (r == 0)
		format_hex(digest, (KEY_NAME_SIZE - 1) / 2, ret);
	return r;
}

int key_command(const struct key *key, const char *mountpoint, const char ***ret, char **ret_version,
		struct error *err)
{
	const char **words = calloc(2 * key->count + 10, sizeof(*words)), **word = words;
	char *version = NULL;

	if (!words || (key->label && asprintf(&version, "version=%s", key->label) < 0)) {
		free(words);
		return error_no_memory(err);
	}
	*word++ = "datasetfs";
	for (size_t i = 0; i < key->count; i++) {
		*word++ = "-o";
		*word++ = key->words[i];
	}
	if (version) {
		*word++ = "-o";
		*word++ = version;
	}
	if (!key->is_kernel) { /* whose mounts can always be idmapped */
		*word++ = "-o";
		*word++ = "idmap"; /* a consumer may be a container with a user namespace */
	}
	*word++ = "--";
	*word++ = key->volume;
	*word++ = mountpoint;
	*ret = words;
	*ret_version = version;
	return 0;
}
