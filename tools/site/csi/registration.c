/* SPDX-License-Identifier: MIT */
/* Numbers of fields are those of k8s.io/kubelet/pkg/apis/pluginregistration/v1. */
#include "csi/registration.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "csi/identity.h"
#include "csi/request.h"

void registration_info(void *argument, struct call *call, struct span message)
{
	auto_wire struct wire_message answer = { 0 };

	(void)message;
	wire_put_text(&answer, 1, "CSIPlugin");
	wire_put_text(&answer, 2, IDENTITY_NAME);
	wire_put_text(&answer, 3, argument);
	wire_put_text(&answer, 4, "1.0.0");
	server_answer(call, &answer);
}

/* The kubelet tries again by itself, for instance when its API server is back. */
void registration_status(void *argument, struct call *call, struct span message)
{
	const struct wire_message answer = { 0 };
	auto_free char *reason = NULL;
	struct error err = { 0 };

	(void)argument;
	if (request_status(message, &reason, &err) < 0) {
		server_refuse(call, SERVER_INVALID_ARGUMENT, err.reason);
		return;
	}
	if (reason)
		log_warn("the kubelet does not register the plugin: %s", reason);
	else
		log_info("the kubelet has registered the plugin");
	server_answer(call, &answer);
}
