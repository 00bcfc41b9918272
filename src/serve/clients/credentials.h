/* SPDX-License-Identifier: MIT */
/* Decides who may have descriptors of the volume and of an index. Their holder can read every byte of every version,
 * even in directories whose modes would deny it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/serve.h"

struct credentials {
	uint32_t pid, uid, gid;
	int fd;         /* of the connection, which keeps it */
	bool is_member; /* entitled only as a member of direct_group */
};

/* Checks that the peer of a connection that was accepted just now is entitled: as root with CAP_SYS_ADMIN in the
 * daemon's user namespace, as the mounting user if that is not root, or as a member of direct_group who is not root.
 * -EPERM if not. */
must_check int credentials_check(const struct serve *serve, int fd, struct credentials *ret, struct error *err);
/* Whether the peer was in this group when it connected. True, too, if its groups cannot be read. */
bool credentials_has_group(const struct credentials *peer, uint32_t group);
