/* SPDX-License-Identifier: MIT */
/* Looks at the scheme of a URL and cuts its query off; libcurl parses the rest. */
#include "source/remote/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool url_begins(const char *url, const char *scheme)
{
	return !strncasecmp(url, scheme, strlen(scheme));
}

bool url_is_encrypted(const char *url)
{
	return url_begins(url, "https://");
}

bool url_is_fetched(const char *source)
{
	return url_is_encrypted(source) || url_begins(source, "http://");
}

int url_check(const char *url, struct error *err)
{
	const char *host = strchr(url, ':') + strlen("://"), *end = host + strcspn(host, "/?#\\");
	const char *user = memrchr(host, '@', (size_t)(end - host));
	int length = user ? (int)(end - user - 1) : 0;

	if (!user)
		return 0;
	return error_set(err, -EINVAL, "the URL for '%.*s' has a user or a password in front of '@', which other "
			 "users can see: pipe the archive into '-', as in 'curl --netrc URL | mkdatasetfs VOLUME -'",
			 length < 100 ? length : 100, user + 1);
}

const char *url_shown(const char *url, char text[URL_SHOWN])
{
	snprintf(text, URL_SHOWN, "%.*s", (int)strcspn(url, "?#"), url);
	return text;
}

void url_cut(char *url)
{
	char *query = url + strcspn(url, "?#");

	explicit_bzero(query, strlen(query));
}
