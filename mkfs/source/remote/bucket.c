/* SPDX-License-Identifier: MIT */
/* Encodes keys as the signature of a request wants them, and knows where buckets are. */
#include "source/remote/bucket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text/memstream.h"
#include "source/remote/url.h"

#define BUCKET_SCHEME "s3://"
#define BUCKET_MARK   "{bucket}" /* in an endpoint */
#define BUCKET_MAX    255u
#define BUCKET_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"
#define BUCKET_CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define BUCKET_IN_QUERY "-_.~"
#define BUCKET_IN_PATH  BUCKET_IN_QUERY "/"

bool bucket_is_named(const char *source)
{
	return !strncasecmp(source, BUCKET_SCHEME, strlen(BUCKET_SCHEME));
}

/* Returns the bucket, *length bytes long. */
static const char *bucket_name(const char *source, size_t *length)
{
	const char *name = source + strlen(BUCKET_SCHEME);

	*length = strcspn(name, "/");
	return name;
}

const char *bucket_key(const char *source)
{
	size_t length;
	const char *name = bucket_name(source, &length);

	return name[length] ? name + length + 1 : "";
}

int bucket_check(const char *source, struct error *err)
{
	size_t length;
	const char *name = bucket_name(source, &length);

	if (!length || length > BUCKET_MAX || strspn(name, BUCKET_LETTERS BUCKET_CAPITALS ".-_") < length)
		return error_set(err, -EINVAL, "'%.200s': '%.*s' is no name of a bucket", source,
				 length < 100 ? (int)length : 100, name);
	if (!name[length])
		return error_set(err, -EINVAL, "'%.200s' names no object: s3://BUCKET/a.tar is an archive, "
				 "s3://BUCKET/ and s3://BUCKET/PREFIX/ are all objects below", source);
	return 0;
}

bool bucket_is_prefix(const char *source)
{
	return source[strlen(source) - 1] == '/';
}

int bucket_check_endpoint(const char *endpoint, struct error *err)
{
	if (!url_is_fetched(endpoint))
		return error_set(err, -EINVAL, "endpoint '%s' begins neither with https:// nor with http://", endpoint);
	return url_check(endpoint, err);
}

int bucket_check_region(const char *region, struct error *err)
{
	if (*region && !region[strspn(region, BUCKET_LETTERS "-")])
		return 0;
	return error_set(err, -EINVAL, "'%.100s' is no name of a region, such as eu-central-1", region);
}

/* Writes text as RFC 3986 has it. plain: what else than letters is written as it is. */
static void bucket_encode(FILE *out, const char *text, const char *plain)
{
	for (; *text; text++)
		if (strchr(BUCKET_LETTERS BUCKET_CAPITALS, *text) || strchr(plain, *text))
			putc(*text, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*text);
}

/* Writes the URL of the bucket at AWS: as a part of the host's name, if it can be one that certificates hold for. */
static void bucket_at_aws(FILE *out, const char *region, const char *name, int length)
{
	const char *china = strncmp(region, "cn-", 3) ? "" : ".cn";

	if (strspn(name, BUCKET_LETTERS "-") >= (size_t)length)
		fprintf(out, "https://%.*s.s3.%s.amazonaws.com%s", length, name, region, china);
	else
		fprintf(out, "https://s3.%s.amazonaws.com%s/%.*s", region, china, length, name);
}

static void bucket_at(FILE *out, const char *endpoint, const char *name, int length)
{
	const char *mark = strstr(endpoint, BUCKET_MARK);
	size_t end = strlen(endpoint);

	while (end && endpoint[end - 1] == '/')
		end--;
	if (mark)
		fprintf(out, "%.*s%.*s%.*s", (int)(mark - endpoint), endpoint, length, name,
			(int)(endpoint + end - mark - strlen(BUCKET_MARK)), mark + strlen(BUCKET_MARK));
	else
		fprintf(out, "%.*s/%.*s", (int)end, endpoint, length, name);
}

/* Writes the URL of the bucket, with a slash behind it. */
static void bucket_base(FILE *out, const struct bucket_setup *setup, const char *source)
{
	size_t length;
	const char *name = bucket_name(source, &length);

	if (setup->endpoint)
		bucket_at(out, setup->endpoint, name, (int)length);
	else
		bucket_at_aws(out, setup->region, name, (int)length);
	putc('/', out);
}

int bucket_url(const struct bucket_setup *setup, const char *source, char **ret, struct error *err)
{
	size_t size;
	FILE *out = memstream_open(ret, &size);

	if (!out)
		return error_no_memory(err);
	bucket_base(out, setup, source);
	bucket_encode(out, bucket_key(source), BUCKET_IN_PATH);
	return memstream_close(out, ret, err);
}

/* Writes parameters in the order of their names and fully encoded, as the signature wants them: libcurl 7.88 signs a
 * query as it is. */
int bucket_list_url(const struct bucket_setup *setup, const char *source, const char *token, char **ret,
		    struct error *err)
{
	size_t size;
	FILE *out = memstream_open(ret, &size);

	if (!out)
		return error_no_memory(err);
	bucket_base(out, setup, source);
	fputs(token ? "?continuation-token=" : "?", out);
	bucket_encode(out, token ? token : "", BUCKET_IN_QUERY);
	fputs(token ? "&encoding-type=url&list-type=2&prefix=" : "encoding-type=url&list-type=2&prefix=", out);
	bucket_encode(out, bucket_key(source), BUCKET_IN_QUERY);
	return memstream_close(out, ret, err);
}
