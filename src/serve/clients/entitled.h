/* SPDX-License-Identifier: MIT */
/* Who may have descriptors of the volume and of an index. They show every byte of every version, also what lies in
 * folders that modes close. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/serve.h"

struct entitled_peer {
	uint32_t pid, uid;
	bool is_member; /* may have them as a member of the direct_group alone */
};

/* Of a connection that was accepted just now: root with CAP_SYS_ADMIN in the daemon's namespace of users, the user who
 * mounted unless he is root, members of the direct_group. -EPERM when it is nobody of these. */
must_check int entitled_check(const struct serve *serve, int fd, struct entitled_peer *ret, struct error *err);
