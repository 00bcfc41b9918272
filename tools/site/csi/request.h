/* SPDX-License-Identifier: MIT */
/* Requests of the kubelet, out of the messages of csi.proto and of its registration of plugins: the fields that we use,
 * each checked for its size. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "csi/wire.h"

#define REQUEST_TEXT_MOST 4096u /* bytes of a path, a name or a value */
#define REQUEST_PAIRS     64u   /* attributes of a volume, and mount options */

struct request_pair {
	char *key, *value;
};

/* Texts that a message lacks are NULL. */
struct request {
	char *volume, *target;
	struct request_pair *attributes; /* volume_context: each key once */
	size_t attribute_count;
	char **flags;                    /* mountOptions of a persistent volume */
	size_t flag_count;
	bool has_capability, is_block;
};

/* -EBADMSG: the message is damaged, or too large. */
must_check int request_publish(struct span message, struct request *ret, struct error *err);
/* Reads NodeUnpublishVolumeRequest, or NodeGetVolumeStatsRequest, which begins with the same fields. */
must_check int request_target(struct span message, struct request *ret, struct error *err);
void request_free(struct request *request); /* its contents only */

/* Reads RegistrationStatus: *ret_reason is why the kubelet did not register the plugin, NULL if it did. */
must_check int request_status(struct span message, char **ret_reason, struct error *err);

#define auto_request cleanup(request_free)
