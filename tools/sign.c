/* SPDX-License-Identifier: MIT */
/* datasetfsctl sign: adds signatures to a version, or shows the text that a signature of it has to cover. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/json.h"
#include "base/transfer.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "text.h"
#include "trust/signing.h"
#include "trust/sshsig.h"
#include "verb.h"
#include "volume.h"

struct sign_options {
	struct verb_options verb;
	const char *key, *attach;
	bool statement, any_volume;
};

static const struct option_spec sign_table[] = {
	{ "key", 'k', "KEY", OPTION_TEXT(struct sign_options, key, NULL),
	  "sign with this key, as ssh-keygen -f names it" },
	{ "statement", 0, NULL, OPTION_TRUE(struct sign_options, statement), "print the text to sign elsewhere" },
	{ "attach", 0, "FILE", OPTION_TEXT(struct sign_options, attach, NULL), "add a signature made elsewhere" },
	{ "any-volume", 0, NULL, OPTION_TRUE(struct sign_options, any_volume),
	  "sign for every volume, not for this one alone" },
	VERB_OPTION_DEGRADED,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line sign_line = {
	.program = "datasetfsctl sign",
	.usage = "VOLUME LABEL",
	.operands = { 2, 2 },
	.summary = "Add a signature to a version.\n"
		   "Needs one of --key, --statement and --attach. What is to be signed elsewhere is signed\n"
		   "there by 'ssh-keygen -Y sign -n datasetfs -f KEY FILE', which writes FILE.sig.",
	.options = sign_table,
};

/* Checks that the index has the digest that is to be signed: the catalogue's may be forged. */
static int sign_check_index(const struct volume *volume, const struct version *version, struct error *err)
{
	struct index *index;
	int r = index_load(volume_backing(volume), version, &index, err);

	if (r < 0)
		return r;
	r = dump_check_digest(index, version, version->digest, NULL, err);
	index_close(index);
	return r;
}

static int sign_read(const char *path, struct span *ret, struct error *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_free uint8_t *bytes = malloc(DSFS_SIGNATURES_MAX + 1);
	ssize_t n;

	if (!bytes)
		return error_no_memory(err);
	n = fd < 0 ? -1 : transfer_read(fd, bytes, DSFS_SIGNATURES_MAX + 1);
	if (n < 0)
		return error_errno(err, "'%s'", path);
	if (n > (ssize_t)DSFS_SIGNATURES_MAX)
		return error_set(err, -EFBIG, "'%s' has more than %u bytes", path, DSFS_SIGNATURES_MAX);
	*ret = span_of(take_ptr(&bytes), (uint64_t)n);
	return 0;
}

/* Reads a file of ssh-keygen, to which the statement is added, or one of 'export signatures', which has statements. */
static int sign_attached(const char *path, const struct statement *statement, char **ret, size_t *ret_length,
			 struct error *err)
{
	struct span file;
	int r = sign_read(path, &file, err);

	if (r < 0)
		return r;
	if (file.size >= strlen(SSHSIG_BEGIN) && !memcmp(file.base, SSHSIG_BEGIN, strlen(SSHSIG_BEGIN))) {
		r = signing_join(statement, file, ret, ret_length, err);
		free((void *)file.base);
		return r;
	}
	*ret = (char *)file.base;
	*ret_length = file.size;
	return 0;
}

/* Makes or reads the text of signatures. Nothing is locked meanwhile, as ssh-keygen may wait for its user. */
static int sign_get(const struct volume *volume, const struct version *version, const struct sign_options *options,
		    const struct statement *statement, char **ret, size_t *ret_length, struct error *err)
{
	int r = sign_check_index(volume, version, err);

	if (r < 0)
		return r;
	return options->key ? signing_make(options->key, statement, ret, ret_length, err) :
			      sign_attached(options->attach, statement, ret, ret_length, err);
}

static int sign_store(const struct volume *volume, const char *label, const struct sign_options *options,
		      struct span text, struct error *err)
{
	struct version *version = NULL;
	struct transaction transaction;
	int r = volume_transaction(volume, options->verb.degraded, &transaction, err);

	if (r < 0)
		return r;
	r = volume_find(&transaction.catalogue, label, &version, err);
	if (r == 0)
		r = signing_add(version, transaction.catalogue.volume_uuid, text, err);
	if (r == 0)
		r = transaction_commit(&transaction, err);
	transaction_close(&transaction);
	return r;
}

static void sign_tell(const struct volume *volume, const struct version *version, const struct statement *statement,
		      bool as_json)
{
	char text[STATEMENT_MAX], date[STATEMENT_DATE_SIZE];
	struct json json = { .out = stdout };

	if (!as_json) {
		text_print("version '%s' of '%s', dated %s, is signed\n", version->label, volume->path,
			   statement_date(statement->created, date));
		return;
	}
	(void)statement_write(statement, text);
	json_begin_object(&json, NULL);
	json_string(&json, "volume", volume->path);
	json_string(&json, "label", version->label);
	json_string(&json, "statement", text);
	json_end_object(&json);
	putchar('\n');
}

static int sign_version(struct volume *volume, const char *label, const struct sign_options *options,
			struct error *err)
{
	const uint8_t *uuid = options->any_volume ? NULL : volume->super.volume_uuid;
	const struct version *version = NULL;
	auto_free char *text = NULL;
	char line[STATEMENT_MAX];
	struct statement statement;
	size_t length = 0;
	int r = volume_version(volume, label, &version, err);

	if (r == 0)
		r = statement_of(version, uuid, &statement, err);
	if (r < 0)
		return r;
	if (options->statement) {
		r = sign_check_index(volume, version, err);
		(void)statement_write(&statement, line);
		return r < 0 ? r : fputs(line, stdout) < 0 ? error_errno(err, "standard output") : 0;
	}
	r = sign_get(volume, version, options, &statement, &text, &length, err);
	if (r == 0)
		r = sign_store(volume, label, options, span_of(text, length), err);
	if (r == 0)
		sign_tell(volume, version, &statement, options->verb.json);
	return r;
}

int sign_run(int argc, char **argv)
{
	struct sign_options options = { 0 };
	auto_volume struct volume *volume = NULL;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&sign_line, argc, argv, &options, &operands, &status))
		return status;
	if (!!options.key + !!options.attach + options.statement != 1) {
		log_err("expected one of --key, --statement and --attach, see 'datasetfsctl sign --help'");
		return VERB_USAGE;
	}
	r = volume_open_loaded(argv[1], &volume, &err);
	if (r == 0)
		r = sign_version(volume, argv[2], &options, &err);
	if (r < 0) {
		log_error(&err, "cannot sign '%s' of '%s'", argv[2], argv[1]);
		return verb_failed();
	}
	return VERB_DONE;
}
