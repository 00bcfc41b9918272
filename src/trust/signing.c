/* SPDX-License-Identifier: MIT */
/* Runs ssh-keygen with files in memory for its input and its output. */
#include "trust/signing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory_file.h"
#include "base/program/invoke.h"
#include "base/transfer.h"
#include "trust/signatures.h"
#include "trust/sshsig.h"

#define SIGNING_PROGRAM "ssh-keygen"

static int signing_run(const char *key, int in, int out, struct error *err)
{
	const char *argv[] = { SIGNING_PROGRAM, "-Y", "sign", "-q", "-n", SSHSIG_NAMESPACE, "-f", key, NULL };
	struct error why = { 0 };
	int status = invoke_run(argv, (struct invoke_streams){ in, out, -1 }, NULL, &why);

	if (status < 0)
		return error_set(err, status, "%s; it is in openssh-client", why.reason);
	return status ? error_set(err, -EIO, SIGNING_PROGRAM " could not sign with '%s'; it said why above", key) : 0;
}

/* Returns the bytes that were written, at most room, or a negative errno. */
static ssize_t signing_output(int fd, char *to, size_t room, struct error *err)
{
	ssize_t n = transfer_read_at(fd, to, room, 0);

	return n < 0 ? error_errno(err, "the output of " SIGNING_PROGRAM) : n;
}

int signing_join(const struct statement *statement, struct span armour, char **ret, size_t *ret_length,
		 struct error *err)
{
	char *text = malloc(STATEMENT_MAX + armour.size);
	size_t length;

	if (!text)
		return error_no_memory(err);
	length = statement_write(statement, text);
	memcpy(text + length, armour.base, armour.size);
	*ret = text;
	*ret_length = length + armour.size;
	return 0;
}

int signing_make(const char *key, const struct statement *statement, char **ret, size_t *ret_length,
		 struct error *err)
{
	char text[STATEMENT_MAX], armour[SSHSIG_MAX];
	size_t length = statement_write(statement, text);
	auto_close int in = -1, out = -1;
	struct sshsig sshsig;
	ssize_t n;
	int r = memory_file_make("datasetfs-statement", 0, &in, err);

	if (r == 0)
		r = memory_file_make("datasetfs-signature", 0, &out, err);
	if (r == 0 && transfer_write_at(in, text, length, 0) < 0)
		r = error_errno(err, "the statement");
	if (r == 0)
		r = signing_run(key, in, out, err);
	n = r == 0 ? signing_output(out, armour, sizeof(armour), err) : r;
	if (n < 0)
		return (int)n;
	r = sshsig_parse(span_of(armour, (uint64_t)n), &sshsig, err);
	if (r == 0)
		r = sshsig_verify(&sshsig, span_of(text, length), err);
	if (r < 0)
		return error_wrap(err, r, "the signature with '%s'", key);
	return signing_join(statement, span_of(armour, (uint64_t)n), ret, ret_length, err);
}

int signing_add(struct version *version, const uint8_t volume[16], struct span text, struct error *err)
{
	struct signature signature;
	struct statement statement;
	struct span rest = text;
	struct sshsig sshsig;
	int r;

	if (!text.size)
		return error_set(err, -EBADMSG, "there is no signature in it");
	while ((r = signatures_next(&rest, &signature, err)) > 0) {
		r = signatures_verify(&signature, version, volume, &statement, &sshsig, err);
		if (r < 0)
			return r;
	}
	rest = text;
	while (r == 0 && signatures_next(&rest, &signature, err) > 0)
		r = signatures_add(version, &signature, err);
	return r;
}
