/* SPDX-License-Identifier: MIT */
/* Opens a file again for a client that may read it and not change it. Whoever has a descriptor can open its file once
 * more, by /proc/self/fd and by the file's mode alone, and can pass it to a process with other rights. */
#pragma once
#include "base/error.h"
#include "serve/clients/credentials.h"

/* Opens the file for reading with these flags, as it is: sealed, or of a mode by which the client cannot open it for
 * writing. what: the file, in the reason. */
must_check int handout_reopen(int fd, int flags, const char *what, int *ret, struct error *err);
/* Opens the file for reading with these flags, through a mount of its own by which no client can write to the file or
 * open the device again. -EPERM: there can be no such mount, and the client could write to the file. A client with more
 * rights than direct_group needs none. */
must_check int handout_open(const struct credentials *peer, int fd, int flags, const char *what, int *ret,
			    struct error *err);
