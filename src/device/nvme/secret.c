/* SPDX-License-Identifier: MIT */
/* Repeats the kernel's checks, because the kernel logs text that it does not understand, even a secret. */
#include "device/nvme/secret.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc.h"
#include "base/descent.h"
#include "base/span.h"
#include "base/text/base64.h"

#define SECRET_BEGIN "DHHC-1:"
#define SECRET_HEAD  10u /* bytes of "DHHC-1:HH:" */
#define SECRET_KEY   64u /* bytes of the longest key; its CRC follows it */
#define SECRET_CRC   4u

/* A decoded key is wiped with its variable. */
struct secret_key {
	uint8_t bytes[SECRET_KEY + SECRET_CRC];
	size_t length;
};

static void secret_wipe_key(struct secret_key *key)
{
	explicit_bzero(key, sizeof(*key));
}

static bool secret_has_crc(const struct secret_key *key)
{
	const uint8_t *found = key->bytes + key->length - SECRET_CRC;
	uint32_t sum = ~crc_sum(CRC_32, key->bytes, key->length - SECRET_CRC);

	return found[0] == (sum & 255) && found[1] == (sum >> 8 & 255) && found[2] == (sum >> 16 & 255) &&
	       found[3] == sum >> 24;
}

/* Decodes "DHHC-1:HH:BASE64:" with a key of 32, 48 or 64 bytes. */
static bool secret_decode(const char *text, struct secret_key *ret)
{
	size_t length = strlen(text);

	return length > SECRET_HEAD && !strncmp(text, SECRET_BEGIN, strlen(SECRET_BEGIN)) && text[7] == '0' &&
	       text[8] >= '0' && text[8] <= '3' && text[9] == ':' && text[length - 1] == ':' &&
	       base64_decode(span_of((const uint8_t *)text + SECRET_HEAD, length - SECRET_HEAD - 1), ret->bytes,
			     sizeof(ret->bytes), &ret->length) &&
	       (ret->length == 32 + SECRET_CRC || ret->length == 48 + SECRET_CRC || ret->length == 64 + SECRET_CRC);
}

/* Cuts the end of the line, and checks the rest. what: where it comes from. */
static int secret_check(const char *what, struct secret *secret, struct error *err)
{
	cleanup(secret_wipe_key) struct secret_key key = { 0 };
	size_t end = strcspn(secret->text, "\r\n");
	bool is_line = secret->text[end + strspn(secret->text + end, "\r\n")] == 0;

	secret->text[end] = 0;
	if (!is_line || !secret_decode(secret->text, &key))
		return error_set(err, -EINVAL,
				 "%s has no secret: expected one line 'DHHC-1:HH:BASE64:', as 'nvme gen-dhchap-key' "
				 "prints it", what);
	if (!secret_has_crc(&key))
		return error_set(err, -EINVAL, "%s has a secret that was changed: its check sum does not fit, copy it "
				 "again", what);
	return 0;
}

/* Copies what was read, if it fits. */
static int secret_take(const char *what, const char *bytes, ssize_t n, struct secret *ret, struct error *err)
{
	auto_secret struct secret secret = { 0 };
	int r;

	if ((size_t)n < sizeof(secret.text))
		memcpy(secret.text, bytes, (size_t)n);
	r = secret_check(what, &secret, err);
	if (r == 0)
		*ret = secret;
	return r;
}

int secret_read_file(const char *path, struct secret *ret, struct error *err)
{
	auto_secret struct secret raw = { 0 };
	auto_close int fd = -1;
	char what[160];
	struct stat st;
	ssize_t n;
	int r = descent_open_file(path, geteuid(), &fd, &st, err);

	if (r < 0)
		return r;
	if (st.st_mode & 077)
		return error_set(err, -EPERM, "'%s' has the mode %04o, so others may know the secret: chmod 600, and "
				 "make a new one if they may have read it", path, (unsigned)st.st_mode & 07777);
	n = read(fd, raw.text, sizeof(raw.text));
	if (n < 0)
		return error_errno(err, "'%s'", path);
	snprintf(what, sizeof(what), "'%.150s'", path);
	return secret_take(what, raw.text, n, ret, err);
}

/* A service has a session keyring of its own, in which the keyring of its user is not; what this links ends with the
 * process. */
static long secret_find_key(const char *description)
{
	(void)!syscall(SYS_keyctl, KEYCTL_LINK, KEY_SPEC_USER_KEYRING, KEY_SPEC_PROCESS_KEYRING);
	return syscall(SYS_request_key, "user", description, NULL, 0);
}

int secret_read_key(const char *description, struct secret *ret, struct error *err)
{
	auto_secret struct secret raw = { 0 };
	long key = secret_find_key(description), n;
	char what[160];

	if (key < 0 && errno == ENOKEY)
		return error_set(err, -ENOKEY,
				 "there is no key '%s' of the type 'user': 'keyctl padd user %s @u <FILE' adds one",
				 description, description);
	n = key < 0 ? -1 : syscall(SYS_keyctl, KEYCTL_READ, key, raw.text, sizeof(raw.text));
	if (n < 0)
		return error_errno(err, "cannot read the key '%s'", description);
	snprintf(what, sizeof(what), "the key '%.140s'", description);
	return secret_take(what, raw.text, n, ret, err);
}
