/* SPDX-License-Identifier: MIT */
/* The key of a mount; requests with equal keys share one. It has the volume, the version or that it follows the current
 * one, and every option. The origin of a request decides which options it may set: consumers, such as pods and jobs,
 * say which version they want and whether the kernel is to serve it, in one spelling for each; all that concerns
 * rights, memory and trust is for the administrator. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/catalogue.h"

enum key_who { KEY_CONSUMER, KEY_ADMIN };

#define KEY_NAME_SIZE 33u /* hexadecimal digits, with the NUL */

struct key {
	char *volume;     /* absolute; its name in the machine's namespace */
	char *label;      /* of the version; NULL: the current one, until key_resolve() */
	uint8_t uuid[16]; /* of the version, from key_resolve(); zero if the mount follows */
	bool follows, has_digest;
	bool pins;        /* the administrator said the digest */
	bool has_engine, is_kernel; /* somebody said who serves; the kernel does, no daemon */
	bool asks_kernel;           /* a consumer said so, and no administrator */
	bool is_asked;       /* a consumer said something */
	unsigned max_mounts; /* of the volume on the machine, if is_asked: see attach/limit.h */
	uint8_t digest[32]; /* that the version must have, if has_digest; its own, from key_resolve() */
	struct catalogue catalogue; /* of the volume, from key_resolve(); empty if nothing needs it */
	char **words;     /* the other options, "NAME" or "NAME=VALUE", sorted by name */
	size_t count;
};

/* Begins a key. volume: any name of a volume (members/naming.h). */
must_check int key_begin(const char *volume, struct key *ret, struct error *err);
void key_free(struct key *key); /* frees its contents only */
/* Adds an option. -EPERM: it is the administrator's; -EINVAL: it cannot be given here, it was given before, or it holds
 * a comma or a control character. */
must_check int key_say(struct key *key, enum key_who who, const char *word, struct error *err);
/* Adds the options of a list as -o takes it, which may be in any order. */
must_check int key_say_list(struct key *key, enum key_who who, const char *list, struct error *err);
/* Reads the volume, unless the key follows the current version and has no trust=: finds the version, and its UUID, so
 * that a version published anew under the label of a removed one is another key. Sets key->label. -EBADMSG: it has
 * another digest; -EKEYREJECTED: the key has trust=, and nobody who counts has signed it. */
must_check int key_resolve(struct key *key, struct error *err);
/* Whether a mount that serves this version serves what a resolved key asks for: its version or, with follow=, any that
 * the files of trust= and revoked= allow now, whatever they said when the mount opened it. */
bool key_is_served(const struct key *key, const uint8_t uuid[16], const uint8_t digest[32]);
/* Writes the name of a resolved key. */
must_check int key_name(const struct key *key, char ret[KEY_NAME_SIZE], struct error *err);
/* Writes the daemon's command line for a mount on mountpoint: each option is an argument of its own. The array is
 * NULL-terminated; its strings are the key's and the caller's, but for the array itself and *ret_version, which the
 * caller frees. */
must_check int key_command(const struct key *key, const char *mountpoint, const char ***ret, char **ret_version,
			   struct error *err);

#define auto_key cleanup(key_free)
