/* SPDX-License-Identifier: MIT */
/* Tells sources that are fetched from files, and keeps secrets in URLs out of messages. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

#define URL_SHOWN 200u /* bytes of a URL in a message */

/* Returns whether the source is fetched: https:// or http://. */
bool url_is_fetched(const char *source);
/* Returns whether what is sent to and from the URL is encrypted. */
bool url_is_encrypted(const char *url);
/* Refuses a URL with a user or a password, because other users can see a command line, and a redirect could tell which
 * password to send. */
must_check int url_check(const char *url, struct error *err);
/* Formats the URL for a message, without the query, which may be a signature. Returns text. */
const char *url_shown(const char *url, char text[URL_SHOWN]);
/* Overwrites the query with zeros. */
void url_cut(char *url);
