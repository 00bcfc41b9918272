/* SPDX-License-Identifier: MIT */
/* The rule of labels, apart from versions: a program that only takes one from its user needs nothing else of them. */
#include "image/catalogue/version.h"

#include <errno.h>
#include <string.h>

int version_check_label(const char *label, struct error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+@:-";
	size_t length = strlen(label);

	if (length == 0 || length > DSFS_LABEL_MAX)
		return error_set(err, -EINVAL, "label of %zu bytes, expected 1 to %u", length, DSFS_LABEL_MAX);
	if (label[0] == '.' || label[0] == '-' || strspn(label, allowed) != length)
		return error_set(err, -EINVAL,
				 "label '%s': expected letters, digits and ._+@:- and no . or - at the start", label);
	return 0;
}
