/* SPDX-License-Identifier: MIT */
/* Who sent a request, whether that process may switch, and whether it still waits. */
#pragma once
#include "fuse/channel.h"
#include "serve/serve.h"

/* Whether the process of a request may switch the mount: root with CAP_SYS_ADMIN in the daemon's namespace of users,
 * the user who mounted unless he is root, members of the control_group. -EPERM when not; -EINTR when the request was
 * answered meanwhile, so that its process number may be another's. Any thread. */
must_check int caller_check(const struct serve *serve, const struct channel_request *request, struct error *err);
/* Whether the process with this number now has CAP_SYS_ADMIN in the daemon's namespace of users. */
bool caller_is_admin(uint32_t pid);

/* Who sent a request, as files are opened for reading. All but the request zeroed; caller_reader_free() after it. */
struct caller_reader {
	const struct channel_request *request;
	char *groups; /* supplementary ones, read when they are first needed */
	bool has_looked;
};

/* By the bits of the file itself: the kernel has looked at the directories only of a caller who came by a path. What
 * was found counts as long as the request is not answered. */
bool caller_may_read(struct caller_reader *reader, uint32_t mode, uint32_t uid, uint32_t gid);
void caller_reader_free(struct caller_reader *reader);

/* Whether the thread was killed. It waits for its reads all the same, for as long as the device hangs. Only a killed
 * one may be answered early: EINTR to a living one would surprise programs that expect none from files, and raise
 * SIGBUS in a mapping. */
bool caller_is_killed(uint32_t pid);
/* Whether nobody waits for the answer any more: it was given already, or the process was killed. Any thread. */
bool caller_is_gone(const struct channel_request *request);
