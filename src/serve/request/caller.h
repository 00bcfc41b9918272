/* SPDX-License-Identifier: MIT */
/* Checks of the process that sent a request: its rights, and whether it still waits for the answer. */
#pragma once
#include "fuse/channel.h"
#include "serve/serve.h"

/* Finds the sender of a request on a mount with the option idmap, for which the kernel names none: sets user and group
 * to those of the process, as far as they are known. Call it before anything that depends on them. */
void caller_identify(const struct serve *serve, struct channel_request *request);
/* Returns the quota key of a request: the uid, one number for all subordinate uids of a user, or if the uid is unknown
 * a number for the process, which few machines have for a user. */
uint32_t caller_share(const struct serve *serve, const struct channel_request *request);

/* Checks that the process of a request may switch the mount, as root with CAP_SYS_ADMIN in the daemon's user namespace,
 * as the mounting user if that is not root, or as a member of control_group. -EPERM if not; -EINTR if the request was
 * answered meanwhile, so that its pid may belong to another process. Any thread may call this. */
must_check int caller_check(const struct serve *serve, const struct channel_request *request, struct error *err);
/* The same for the mount's program: members of control_group may not replace it. */
must_check int caller_check_owner(const struct serve *serve, const struct channel_request *request, struct error *err);
/* Whether the process that has this pid now has CAP_SYS_ADMIN in the daemon's user namespace. */
bool caller_is_admin(uint32_t pid);

/* The sender of a request, for checks of file permissions. Set `request` and zero the rest, and call
 * caller_reader_free() in the end. */
struct caller_reader {
	const struct channel_request *request;
	char *groups; /* supplementary groups, read when first needed; NULL: not read, or unknown */
	bool has_looked;
};

/* Whether the sender may read a file with this mode and owner. Directories above it are not checked: the kernel does
 * that only for an open by path. The result is valid only if the request is still unanswered afterwards. */
bool caller_may_read(struct caller_reader *reader, uint32_t mode, uint32_t uid, uint32_t gid);
void caller_reader_free(struct caller_reader *reader);

/* Whether the thread was killed. A killed thread still waits for its reads, as long as the device hangs, so it may be
 * answered early with EINTR. A living one may not: programs do not expect EINTR from files, and in a mapping it raises
 * SIGBUS. */
bool caller_is_killed(uint32_t pid);
/* Whether the answer is no longer needed: it was given already, or the process was killed. Any thread may call this. */
bool caller_is_gone(const struct channel_request *request);
