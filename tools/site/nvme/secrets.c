/* SPDX-License-Identifier: MIT */
/* The options by which a host and a target prove who they are and encrypt: the same for all verbs that talk to one. */
#include <errno.h>
#include <string.h>

#include "nvme/nvme.h"

int nvme_secrets_check(const struct nvme_options *options, struct error *err)
{
	const struct nvme_secret *host = &options->host_secret, *ctrl = &options->ctrl_secret;

	if ((host->file && host->key) || (ctrl->file && ctrl->key))
		return error_set(err, -EINVAL, "a secret is in a file or in a key, not in both");
	if ((ctrl->file || ctrl->key) && !host->file && !host->key)
		return error_set(err, -EINVAL, "a target proves who it is only to a host that does: "
				 "--dhchap-secret-file is missing");
	if ((options->settings.tls_key || options->settings.tls_keyring) && !options->settings.tls)
		return error_set(err, -EINVAL, "options '--tls-key' and '--tls-keyring' need '--tls'");
	return 0;
}

int nvme_secrets_check_portal(const struct nvme_options *options, const char *word, struct portal *ret,
			      struct error *err)
{
	int r = portal_parse(word, ret, err);

	if (r == 0 && options->settings.tls && strcmp(ret->transport, "tcp") != 0)
		return error_set(err, -EINVAL, "'%s': only tcp has TLS", word);
	return r;
}

static int nvme_secrets_read_one(struct nvme_secret *from, struct error *err)
{
	if (from->file)
		return secret_read_file(from->file, &from->secret, err);
	return from->key ? secret_read_key(from->key, &from->secret, err) : 0;
}

int nvme_secrets_read(struct nvme_options *options, struct error *err)
{
	int r = nvme_secrets_read_one(&options->host_secret, err);

	if (r == 0)
		r = nvme_secrets_read_one(&options->ctrl_secret, err);
	options->settings.host_secret = options->host_secret.secret.text;
	options->settings.ctrl_secret = options->ctrl_secret.secret.text;
	return r;
}

void nvme_secrets_wipe(struct nvme_options *options)
{
	secret_wipe(&options->host_secret.secret);
	secret_wipe(&options->ctrl_secret.secret);
}
