/* SPDX-License-Identifier: MIT */
/* Connections to NVMe targets, which the kernel makes and ends through files of its own; libnvme is not asked. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "device/nvme/host.h"
#include "device/nvme/portal.h"

/* Options of a connection; 0: the kernel's default. Times are in seconds; ctrl_loss_tmo and fast_io_fail_tmo may be -1:
 * never. */
struct fabrics_settings {
	int queues, queue_size;
	int reconnect_delay, ctrl_loss_tmo, fast_io_fail_tmo, keep_alive_tmo;
	bool digests;                          /* TCP's header and data digests */
	bool tls;                              /* of TCP */
	int tls_key, tls_keyring;              /* numbers of the kernel's keys; 0: by names, in the keyring .nvme */
	const char *host_secret, *ctrl_secret; /* of DH-HMAC-CHAP; NULL or "": none. The second needs the first */
};

#define FABRICS_NAME_SIZE 32
struct fabrics_controller {
	char name[FABRICS_NAME_SIZE];
	bool is_unasked; /* the target connects this host without the secret that was given */
};

/* Connects a controller. -EALREADY: the portal is connected already. With a secret for the target, one that does not
 * ask for authentication is refused: it proves nothing. Users of this machine cannot read the secrets in sysfs once
 * this has returned. */
must_check int fabrics_connect(const struct host *host, const char *nqn, const struct portal *portal,
			       const struct fabrics_settings *settings, struct fabrics_controller *ret,
			       struct error *err);
/* Disconnects the controller called name, and returns when it is gone. */
must_check int fabrics_disconnect(const char *name, struct error *err);
