/* SPDX-License-Identifier: MIT */
/* datasetfs-csi: its command line, its two sockets, and its loop. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/named.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/notify.h"
#include "base/program/options.h"
#include "base/program/output.h"
#include "base/program/signal.h"
#include "csi/conf.h"
#include "csi/identity.h"
#include "csi/loop.h"
#include "csi/node.h"
#include "csi/registration.h"
#include "csi/server.h"

enum { CSI_FAILED = 1, CSI_USAGE = 2 };

#define CSI_PATH_SIZE (PATH_MAX + 64)

struct csi_options {
	const char *config, *kubelet, *node;
};

static const struct option_spec csi_table[] = {
	{ "config", 'c', "FILE", OPTION_TEXT(struct csi_options, config, NULL),
	  "default /etc/datasetfs/csi.conf: what pods may do" },
	{ "kubelet", 'k', "DIR", OPTION_TEXT(struct csi_options, kubelet, NULL),
	  "the kubelet's root (default /var/lib/kubelet)" },
	{ "node", 'n', "NAME", OPTION_TEXT(struct csi_options, node, NULL),
	  "of the machine in the cluster (default: its own)" },
	{ 0 },
};

static const struct command_line csi_line = {
	.program = "datasetfs-csi",
	.usage = "[--config FILE] [--kubelet DIR] [--node NAME]",
	.summary = "Show data sets to the pods of this machine: a CSI node plugin, for the kubelet.",
	.options = csi_table,
};

struct csi {
	int loop;
	struct loop_watch signals;
	bool is_ended;
	struct node node;
	char socket[CSI_PATH_SIZE];
	struct server *server, *registration;
};

static const struct server_method csi_methods[] = {
	{ "/csi.v1.Identity/GetPluginInfo", identity_info },
	{ "/csi.v1.Identity/GetPluginCapabilities", identity_capabilities },
	{ "/csi.v1.Identity/Probe", identity_probe },
	{ "/csi.v1.Node/NodeGetInfo", node_info },
	{ "/csi.v1.Node/NodeGetCapabilities", node_capabilities },
	{ "/csi.v1.Node/NodePublishVolume", node_publish },
	{ "/csi.v1.Node/NodeUnpublishVolume", node_unpublish },
	{ "/csi.v1.Node/NodeGetVolumeStats", node_stats },
	{ 0 },
};

static const struct server_method csi_registration_methods[] = {
	{ "/pluginregistration.Registration/GetInfo", registration_info },
	{ "/pluginregistration.Registration/NotifyRegistrationStatus", registration_status },
	{ 0 },
};

/* ---- the loop ---- */

static void csi_on_signal(void *argument, uint32_t events)
{
	struct signalfd_siginfo info;
	struct csi *csi = argument;

	(void)events;
	while (read(csi->signals.fd, &info, sizeof(info)) == sizeof(info))
		csi->is_ended |= info.ssi_signo != SIGCHLD;
}

static int csi_loop(struct csi *csi, struct error *err)
{
	int r = 0;

	while (r == 0 && !csi->is_ended) {
		r = loop_step(csi->loop, job_wait(csi->node.jobs), err);
		job_step(csi->node.jobs);
	}
	return r;
}

/* ---- beginning and end ---- */

static int csi_take_signals(struct csi *csi, struct error *err)
{
	int r = signal_take(&csi->signals.fd, err);

	return r < 0 ? r : loop_add(csi->loop, &csi->signals, EPOLLIN, err);
}

/* Makes a folder of the kubelet's, which may begin later than we do. */
static int csi_make_folder(const char *root, const char *name, mode_t mode, struct error *err)
{
	char path[CSI_PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return error_errno(err, "cannot make '%s'", path);
	return 0;
}

static int csi_make_folders(const char *root, struct error *err)
{
	int r = csi_make_folder(root, "plugins", 0750, err);

	if (r == 0)
		r = csi_make_folder(root, "plugins/" IDENTITY_NAME, 0700, err);
	return r < 0 ? r : csi_make_folder(root, "plugins_registry", 0750, err);
}

/* The kubelet calls as soon as it sees the socket of registration, so that comes last. */
static int csi_listen(struct csi *csi, struct error *err)
{
	const char *root = csi->node.root.given;
	char path[CSI_PATH_SIZE];
	int r = csi_make_folders(root, err);

	snprintf(csi->socket, sizeof(csi->socket), "%s/plugins/" IDENTITY_NAME "/csi.sock", root);
	snprintf(path, sizeof(path), "%s/plugins_registry/" IDENTITY_NAME "-reg.sock", root);
	if (r == 0)
		r = server_open(csi->loop, csi->socket, csi_methods, &csi->node, &csi->server, err);
	if (r == 0)
		r = server_open(csi->loop, path, csi_registration_methods, csi->socket, &csi->registration, err);
	return r;
}

/* A mistake in a file is the administrator's to see now, not when a pod begins. */
static int csi_check_config(const char *path, struct error *err)
{
	auto_named struct named_list list = { 0 };
	auto_conf struct conf conf = { 0 };
	int r = conf_read(path, &conf, err);

	if (r == 0)
		r = named_read(NAMED_FILE, &list, err);
	if (r == 0 && !list.count)
		log_warn("'" NAMED_FILE "' names no data set: only PersistentVolumes can be published");
	return r;
}

static int csi_start(struct csi *csi, const struct csi_options *options, struct error *err)
{
	int r = getuid() ? error_set(err, -EPERM, "only root can do that") : 0;

	if (r == 0)
		r = target_find(options->kubelet, &csi->node.root, err);
	if (r == 0)
		r = csi_check_config(options->config, err);
	if (r == 0)
		r = node_open(&csi->node, err);
	if (r == 0)
		r = loop_open(&csi->loop, err);
	if (r == 0)
		r = csi_take_signals(csi, err);
	if (r == 0)
		r = csi_listen(csi, err);
	if (r < 0)
		return r;
	log_info("'%s' is there for the kubelet", csi->socket);
	notify_send("READY=1\nSTATUS=waits for the kubelet at %s", csi->socket);
	return 0;
}

static int csi_run(const struct csi_options *options)
{
	static struct csi csi = { .loop = -1 };
	struct error err = { 0 };
	int r;

	csi.signals = (struct loop_watch){ -1, csi_on_signal, &csi };
	csi.node.name = options->node;
	csi.node.conf = options->config;
	r = csi_start(&csi, options, &err);
	if (r == 0)
		r = csi_loop(&csi, &err);
	notify_send("STOPPING=1");
	server_close(csi.registration);
	node_close(&csi.node);
	server_close(csi.server);
	loop_remove(csi.loop, &csi.signals);
	close_fd(&csi.loop);
	if (r < 0)
		log_err("%s", err.reason);
	return r < 0 ? CSI_FAILED : 0;
}

int main(int argc, char **argv)
{
	struct csi_options options = { .config = "/etc/datasetfs/csi.conf", .kubelet = "/var/lib/kubelet" };
	struct error err = { 0 };
	char host[256];
	int operands;
	bool done;

	descriptors_reserve();
	log_set_program(csi_line.program);
	if (gethostname(host, sizeof(host)) == 0)
		options.node = host;
	host[sizeof(host) - 1] = 0;
	operands = options_parse(&csi_line, argc, argv, &options, &done, &err);
	if (operands > 0)
		error_set(&err, -EINVAL, "unexpected operand '%s', see 'datasetfs-csi --help'", argv[1]);
	if (err.code == 0 && done && output_flush(&err) == 0)
		return 0;
	if (err.code < 0) {
		log_err("%s", err.reason);
		return done ? CSI_FAILED : CSI_USAGE;
	}
	return csi_run(&options);
}
