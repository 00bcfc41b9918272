/* SPDX-License-Identifier: MIT */
/* The rule of names, apart from the file that has them: who submits a job has no such file. */
#include "attach/named.h"

#include <errno.h>
#include <string.h>

#include "image/catalogue/version.h"

int named_check(const char *name, struct error *err)
{
	if (strchr(name, '@') || version_check_label(name, NULL) < 0)
		return error_set(err, -EINVAL, "the name of a data set is '%.127s', expected 1 to 127 letters, digits "
				 "and ._+:- and no . or - at the start", name);
	return 0;
}
