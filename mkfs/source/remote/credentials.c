/* SPDX-License-Identifier: MIT */
/* Reads ~/.aws/credentials and ~/.aws/config: sections are profiles, lines are names and values. */
#include "source/remote/credentials.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define CREDENTIALS_BLANKS  " \t\r\n"
#define CREDENTIALS_DEFAULT "default"

/* A profile in one of the files. */
struct credentials_profile {
	const char *name;
	bool is_config; /* sections are called [profile NAME] */
	bool is_found, is_inside;
	struct credentials values;
	char *other;    /* name of a setting by which it gets keys otherwise, or NULL */
};

/* Settings by which the tools of AWS get keys from elsewhere. */
static const char *const credentials_others[] = { "credential_process", "role_arn", "sso_account_id", "sso_session",
						  "source_profile", "web_identity_token_file" };
#define CREDENTIALS_OTHERS (sizeof(credentials_others) / sizeof(*credentials_others))

/* Cuts blanks off both ends. */
static char *credentials_trim(char *text)
{
	size_t length;

	text += strspn(text, CREDENTIALS_BLANKS);
	length = strlen(text);
	while (length && strchr(CREDENTIALS_BLANKS, text[length - 1]))
		length--;
	text[length] = 0;
	return text;
}

static void credentials_section(struct credentials_profile *profile, char *title)
{
	bool is_default = !strcmp(profile->name, CREDENTIALS_DEFAULT);

	title[strcspn(title, "]")] = 0;
	title = credentials_trim(title);
	if (profile->is_config && !strncmp(title, "profile ", 8))
		title = credentials_trim(title + 8);
	else if (profile->is_config && !is_default)
		title += strlen(title);
	profile->is_inside = !strcmp(title, profile->name);
	profile->is_found |= profile->is_inside;
}

static int credentials_copy(char **to, const char *value, struct error *err)
{
	free(*to);
	*to = strdup(value);
	return *to ? 0 : error_no_memory(err);
}

static int credentials_setting(struct credentials_profile *profile, const char *name, const char *value,
			       struct error *err)
{
	struct credentials *values = &profile->values;

	if (!strcmp(name, "aws_access_key_id"))
		return credentials_copy(&values->key, value, err);
	if (!strcmp(name, "aws_secret_access_key"))
		return credentials_copy(&values->secret, value, err);
	if (!strcmp(name, "aws_session_token"))
		return credentials_copy(&values->token, value, err);
	if (!strcmp(name, "region"))
		return credentials_copy(&values->region, value, err);
	for (size_t i = 0; i < CREDENTIALS_OTHERS; i++)
		if (!strcmp(name, credentials_others[i]))
			return credentials_copy(&profile->other, name, err);
	return 0;
}

/* Takes a line; an indented one belongs to the setting above it. */
static int credentials_line(struct credentials_profile *profile, char *line, struct error *err)
{
	char *value = strchr(line, '=');

	if (strchr("#;" CREDENTIALS_BLANKS, *line))
		return 0;
	if (*line == '[')
		credentials_section(profile, line + 1);
	if (*line == '[' || !profile->is_inside || !value)
		return 0;
	*value++ = 0;
	return credentials_setting(profile, credentials_trim(line), credentials_trim(value), err);
}

/* Reads the file that a variable names, or else one in the home directory. One that does not exist has no profiles. */
static int credentials_read(struct credentials_profile *profile, const char *variable, const char *name,
			    struct error *err)
{
	const char *named = getenv(variable), *home = getenv("HOME");
	auto_free char *path = NULL, *line = NULL;
	auto_fclose FILE *file = NULL;
	size_t room = 0;
	int r = 0;

	if (!(named && *named) && !home)
		return 0;
	if (asprintf(&path, "%s%s", named && *named ? named : home, named && *named ? "" : name) < 0)
		return error_no_memory(err);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ENOTDIR ? 0 : error_errno(err, "cannot open '%s'", path);
	while (r == 0 && getline(&line, &room, file) >= 0)
		r = credentials_line(profile, line, err);
	if (line)
		explicit_bzero(line, room);
	return r;
}

/* Reads the profile. The region comes with some errors too. */
static int credentials_of_profile(struct credentials *ret, struct error *err)
{
	const char *wanted = getenv("AWS_PROFILE");
	const char *name = wanted && *wanted ? wanted : CREDENTIALS_DEFAULT;
	struct credentials_profile secrets = { .name = name }, config = { .name = name, .is_config = true };
	const struct credentials *keys;
	int r = credentials_read(&secrets, "AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials", err);

	if (r == 0)
		r = credentials_read(&config, "AWS_CONFIG_FILE", "/.aws/config", err);
	if (r < 0)
		return r;
	keys = secrets.values.key ? &secrets.values : &config.values;
	ret->region = config.values.region ? config.values.region : secrets.values.region;
	if (wanted && *wanted && !secrets.is_found && !config.is_found)
		return error_set(err, -ENOENT, "the files of AWS have no profile '%s', which AWS_PROFILE names", name);
	if (!keys->key && (secrets.other || config.other))
		return error_set(err, -ENOTSUP, "profile '%s' gets its keys by '%s', which is not known here: put "
				 "them into the environment, as by 'eval \"$(aws configure export-credentials "
				 "--format env)\"'", name, secrets.other ? secrets.other : config.other);
	ret->key = keys->key;
	ret->secret = keys->secret;
	ret->token = keys->token;
	return 0;
}

/* Copies the value of a variable, unless it is empty. */
static int credentials_variable(const char *name, char **to, struct error *err)
{
	const char *value = getenv(name);

	return value && *value ? credentials_copy(to, value, err) : 0;
}

int credentials_find(struct credentials *ret, struct error *err)
{
	struct credentials found = { 0 }, own = { 0 };
	struct error ignored = { 0 };
	int r = credentials_variable("AWS_ACCESS_KEY_ID", &own.key, err);

	if (r == 0)
		r = credentials_variable("AWS_SECRET_ACCESS_KEY", &own.secret, err);
	if (r == 0)
		r = credentials_variable("AWS_SESSION_TOKEN", &own.token, err);
	if (r == 0 && !own.key)
		r = credentials_of_profile(&found, err);
	if (r == 0 && own.key) {
		(void)credentials_of_profile(&found, &ignored); /* for its region, if there is one */
		own.region = found.region;
		found = own;
	}
	if (r == 0)
		r = credentials_variable("AWS_DEFAULT_REGION", &found.region, err);
	if (r == 0)
		r = credentials_variable("AWS_REGION", &found.region, err);
	if (r == 0 && !found.key != !found.secret)
		return error_set(err, -EINVAL, "of the access key and the secret key for the object store only one is "
				 "set");
	*ret = found;
	return r;
}

void credentials_forget(void)
{
	static const char *const secret[] = { "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN" };

	for (size_t i = 0; i < sizeof(secret) / sizeof(*secret); i++) {
		char *value = getenv(secret[i]);

		if (value)
			explicit_bzero(value, strlen(value));
		unsetenv(secret[i]);
	}
}
