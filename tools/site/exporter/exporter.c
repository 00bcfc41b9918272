/* SPDX-License-Identifier: MIT */
/* datasetfs-exporter: its command line, and the loop that connects HTTP clients with the mounts. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/notify.h"
#include "base/program/options.h"
#include "base/program/output.h"
#include "base/program/signal.h"
#include "exporter/collector.h"
#include "exporter/listener.h"
#include "exporter/server.h"

enum { EXPORTER_FAILED = 1, EXPORTER_USAGE = 2 };

#define EXPORTER_LISTEN  "127.0.0.1:9570"
#define EXPORTER_TIMEOUT 3u /* less than the 10 s that Prometheus waits for a scrape by default */

struct exporter_options {
	const char *listen;
	unsigned timeout;
};

static const struct option_spec exporter_table[] = {
	{ "listen", 'l', "ADDRESS:PORT", OPTION_TEXT(struct exporter_options, listen, listener_check),
	  "where to answer (default " EXPORTER_LISTEN ")" },
	{ "timeout", 't', "SECONDS", OPTION_NUMBER(struct exporter_options, timeout, 1, 60),
	  "how long a mount may take (default 3)" },
	{ 0 },
};

static const struct command_line exporter_line = {
	.program = "datasetfs-exporter",
	.usage = "[--listen ADDRESS:PORT] [--timeout SECONDS]",
	.summary = "Serve the metrics of all datasetfs mounts of this machine to Prometheus.",
	.options = exporter_table,
};

struct exporter {
	int signals;
	struct server *server;
	struct collector *collector;
};

/* ---- the loop ---- */

static int exporter_least(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void exporter_answer(struct exporter *exporter)
{
	struct exposition *exposition = NULL;
	struct error err = { 0 };

	if (collector_finish(exporter->collector, &exposition, &err) < 0)
		log_error(&err, "cannot answer");
	server_answer(exporter->server, exposition, &err);
	exposition_free(exposition);
}

/* Asks the mounts if a client waits and they are not being asked already. */
static void exporter_ask(struct exporter *exporter)
{
	struct error err = { 0 };

	if (server_is_asked(exporter->server) && collector_begin(exporter->collector, &err) < 0) {
		log_error(&err, "cannot ask the mounts");
		server_answer(exporter->server, NULL, &err);
	}
}

static int exporter_step(struct exporter *exporter, struct error *err)
{
	int r = server_step(exporter->server, err);

	if (r < 0)
		return r;
	exporter_ask(exporter);
	if (collector_step(exporter->collector)) {
		exporter_answer(exporter);
		r = server_step(exporter->server, err);
	}
	return r;
}

/* Returns whether SIGTERM or SIGINT came; reaps children on SIGCHLD. */
static bool exporter_is_ended(const struct exporter *exporter)
{
	struct signalfd_siginfo info;

	while (read(exporter->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			return true;
		collector_reap(exporter->collector);
	}
	return false;
}

/* Serves clients until SIGTERM or SIGINT. */
static int exporter_loop(struct exporter *exporter, struct error *err)
{
	struct pollfd polled[] = {
		{ .fd = exporter->signals, .events = POLLIN },
		{ .fd = server_fd(exporter->server), .events = POLLIN },
		{ .fd = collector_fd(exporter->collector), .events = POLLIN },
	};
	int wait, r = 0;

	while (r == 0) {
		wait = exporter_least(server_wait(exporter->server), collector_wait(exporter->collector));
		if (poll(polled, 3, wait) < 0 && errno != EINTR)
			return error_errno(err, "cannot wait");
		if (exporter_is_ended(exporter))
			return 0;
		r = exporter_step(exporter, err);
	}
	return r;
}

/* ---- beginning and end ---- */

static int exporter_start(struct exporter *exporter, const struct exporter_options *options, struct error *err)
{
	char name[LISTENER_NAME_SIZE];
	int listener = -1, r;

	r = signal_take(&exporter->signals, err);
	if (r == 0)
		r = collector_new(options->timeout, &exporter->collector, err);
	if (r == 0)
		r = listener_open(options->listen, &listener, name, err);
	if (r == 0)
		r = server_open(listener, &exporter->server, err);
	if (r < 0)
		return r;
	log_info("metrics are at http://%s/metrics", name);
	notify_send("READY=1\nSTATUS=metrics are at http://%s/metrics", name);
	return 0;
}

static int exporter_run(const struct exporter_options *options)
{
	struct exporter exporter = { .signals = -1 };
	struct error err = { 0 };
	int r = exporter_start(&exporter, options, &err);

	if (r == 0)
		r = exporter_loop(&exporter, &err);
	notify_send("STOPPING=1");
	server_close(exporter.server);
	collector_free(exporter.collector);
	if (exporter.signals >= 0)
		close(exporter.signals);
	if (r < 0) {
		log_err("%s", err.reason);
		return EXPORTER_FAILED;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct exporter_options options = { .listen = EXPORTER_LISTEN, .timeout = EXPORTER_TIMEOUT };
	struct error err = { 0 };
	int operands;
	bool done;

	descriptors_reserve();
	descriptors_raise_limit(); /* there is a socket for each mount */
	log_set_program(exporter_line.program);
	operands = options_parse(&exporter_line, argc, argv, &options, &done, &err);
	if (operands > 0)
		error_set(&err, -EINVAL, "unexpected operand '%s', see 'datasetfs-exporter --help'", argv[1]);
	if (err.code == 0 && done && output_flush(&err) == 0)
		return 0;
	if (err.code < 0) {
		log_err("%s", err.reason);
		return done ? EXPORTER_FAILED : EXPORTER_USAGE;
	}
	return exporter_run(&options);
}
