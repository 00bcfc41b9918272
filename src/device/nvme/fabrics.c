/* SPDX-License-Identifier: MIT */
/* Writes a line of options to /dev/nvme-fabrics, and "1" to the attribute delete_controller. */
#include "device/nvme/fabrics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FABRICS_DEVICE "/dev/nvme-fabrics"
#define FABRICS_CLASS  "/sys/class/nvme"
#define FABRICS_LINE   4096u /* bytes of a line of options: the kernel takes a page */

/* "nqn=…,transport=tcp,…", as the kernel parses it. Wiped with its variable, as it can have secrets in it. */
struct fabrics_line {
	char text[FABRICS_LINE];
	size_t length; /* FABRICS_LINE: it did not fit */
};

static void fabrics_wipe(struct fabrics_line *line)
{
	explicit_bzero(line, sizeof(*line));
}

static void fabrics_add(struct fabrics_line *line, const char *fmt, ...) printf_like(2, 3);
static void fabrics_add(struct fabrics_line *line, const char *fmt, ...)
{
	size_t room = sizeof(line->text) - line->length;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line->text + line->length, room, fmt, ap);
	va_end(ap);
	line->length += (size_t)n < room ? (size_t)n : room;
}

static void fabrics_add_number(struct fabrics_line *line, const char *option, int n)
{
	if (n)
		fabrics_add(line, ",%s=%d", option, n);
}

static void fabrics_add_settings(struct fabrics_line *line, const struct portal *portal,
				 const struct fabrics_settings *settings)
{
	fabrics_add_number(line, "nr_io_queues", settings->queues);
	fabrics_add_number(line, "queue_size", settings->queue_size);
	fabrics_add_number(line, "keep_alive_tmo", settings->keep_alive_tmo);
	/* The kernel refuses these options for loop, which has no connection to lose. */
	if (strcmp(portal->transport, "loop") != 0) {
		fabrics_add_number(line, "reconnect_delay", settings->reconnect_delay);
		fabrics_add_number(line, "ctrl_loss_tmo", settings->ctrl_loss_tmo);
		fabrics_add_number(line, "fast_io_fail_tmo", settings->fast_io_fail_tmo);
	}
	if (settings->digests && !strcmp(portal->transport, "tcp"))
		fabrics_add(line, ",hdr_digest,data_digest");
	fabrics_add_number(line, "keyring", settings->tls_keyring);
	fabrics_add_number(line, "tls_key", settings->tls_key);
	if (settings->tls)
		fabrics_add(line, ",tls");
}

/* Resolves host names, as the kernel knows none. */
static int fabrics_describe(const struct host *host, const char *nqn, const struct portal *portal,
			    const struct fabrics_settings *settings, struct fabrics_line *line, struct error *err)
{
	struct portal where;
	int r = portal_resolve(portal, &where, err);

	if (r < 0)
		return r;
	line->length = 0;
	fabrics_add(line, "nqn=%s,transport=%s", nqn, where.transport);
	if (where.address[0])
		fabrics_add(line, ",traddr=%s", where.address);
	if (where.service[0])
		fabrics_add(line, ",trsvcid=%s", where.service);
	fabrics_add(line, ",hostnqn=%s,hostid=%s", host->nqn, host->id);
	fabrics_add_settings(line, portal, settings);
	return line->length < sizeof(line->text) ? 0 : error_set(err, -E2BIG, "'%s': the options are too long", nqn);
}

/* ---- what fails ---- */

static bool fabrics_has(const char *secret)
{
	return secret && *secret;
}

static int fabrics_no_key(const char *portal, const struct fabrics_settings *settings, struct error *err)
{
	if (!settings->tls)
		return error_set(err, -ENOKEY, "'%s': the target asks this host for its secret: --dhchap-secret-file",
				 portal);
	if (settings->tls_key)
		return error_set(err, -ENOKEY, "'%s': the kernel has no key %d", portal, settings->tls_key);
	return error_set(err, -ENOKEY, "'%s': the keyring '.nvme' has no TLS key for this host and this subsystem, see "
			 "datasetfs-nvme(7)%s", portal,
			 fabrics_has(settings->host_secret) ? "" : ", or the target asks for a secret");
}

/* A key that the target does not have gives ETIMEDOUT, as if the target had not answered. */
static int fabrics_lost(int code, const char *portal, const struct fabrics_settings *settings, struct error *err)
{
	if (settings->tls)
		return error_set(err, -EHOSTUNREACH, "'%s': no answer, no TLS there, or another key; the logs of tlshd "
				 "and of the kernel say which", portal);
	if (code == ECONNRESET)
		return error_set(err, -code, "'%s': the target hung up: it may want TLS", portal);
	return error_set(err, -EHOSTUNREACH, "'%s': no answer, or the kernel refused it; the kernel log says which",
			 portal);
}

/* Describes a failed connection by the kernel's errno. Before Linux 6.10 a wrong secret was ECONNREFUSED. */
static int fabrics_fail(int code, const struct portal *portal, const struct fabrics_settings *settings,
			struct error *err)
{
	char text[PORTAL_TEXT_SIZE];

	portal_text(portal, text);
	switch (code) {
	case EALREADY:
		return error_set(err, -code, "'%s': already connected", text);
	case ENOKEY:
		return fabrics_no_key(text, settings, err);
	case EKEYREJECTED:
		return error_set(err, -code, "'%s': authentication failed: the secret of this host%s is not the one "
				 "that the target has", text,
				 fabrics_has(settings->ctrl_secret) ? " or that of the target" : "");
	case ECONNREFUSED:
		return error_set(err, -code, "'%s': connection refused%s", text,
				 fabrics_has(settings->host_secret) ? ", or the secret is wrong" : "");
	case ESRCH:
		return error_set(err, -code, "'%s': the kernel found no TLS handshake service: is tlshd running "
				 "(package ktls-utils)?", text);
	case EPERM:
	case EACCES:
	case EKEYEXPIRED:
	case EKEYREVOKED:
		return error_set(err, -code, "'%s': %s", text, strerror(code));
	case EINVAL:
	case EOPNOTSUPP:
		return error_set(err, -code, "'%s': the kernel refused the options; the kernel log says why", text);
	default:
		return fabrics_lost(code, text, settings, err);
	}
}

/* ---- what the kernel can ---- */

static int fabrics_open(const struct portal *portal, int *ret, struct error *err)
{
	char text[PORTAL_TEXT_SIZE];

	*ret = open(FABRICS_DEVICE, O_RDWR | O_CLOEXEC);
	if (*ret >= 0)
		return 0;
	if (errno == ENOENT)
		return error_set(err, -ENODEV, "'%s': there is no '" FABRICS_DEVICE "', try 'modprobe nvme-%s'",
				 portal_text(portal, text), portal->transport);
	return error_errno(err, "'%s': cannot open '" FABRICS_DEVICE "'", portal_text(portal, text));
}

/* Whether the kernel lists the option, as ",tls" or ",tls_key=%d". */
static bool fabrics_lists(const char *options, const char *option)
{
	size_t length = strlen(option);

	for (const char *at = options; (at = strchr(at, ',')); at++)
		if (!strncmp(at + 1, option, length) && strchr(",=\n", at[1 + length]))
			return true;
	return false;
}

static int fabrics_check(const struct portal *portal, const char *options, const struct fabrics_settings *settings,
			 struct error *err)
{
	char text[PORTAL_TEXT_SIZE];

	portal_text(portal, text);
	if (fabrics_has(settings->host_secret) && !fabrics_lists(options, "dhchap_secret"))
		return error_set(err, -EOPNOTSUPP, "'%s': this kernel has no authentication of hosts "
				 "(CONFIG_NVME_HOST_AUTH)", text);
	if ((settings->tls && !fabrics_lists(options, "tls")) ||
	    (settings->tls_key && !fabrics_lists(options, "tls_key")) ||
	    (settings->tls_keyring && !fabrics_lists(options, "keyring")))
		return error_set(err, -EOPNOTSUPP, "'%s': this kernel has no TLS for NVMe/TCP (CONFIG_NVME_TCP_TLS, "
				 "Linux 6.7)", text);
	return 0;
}

/* Asks for the options that the kernel has, because it writes one that it has not into its log, with the secret. */
static int fabrics_check_kernel(const struct portal *portal, const struct fabrics_settings *settings, struct error *err)
{
	char options[FABRICS_LINE];
	auto_close int fd = -1;
	ssize_t n;
	int r;

	if (!fabrics_has(settings->host_secret) && !settings->tls)
		return 0;
	r = fabrics_open(portal, &fd, err);
	if (r < 0)
		return r;
	n = read(fd, options, sizeof(options) - 1);
	options[n > 0 ? n : 0] = 0; /* kernels before 5.17 list none */
	return fabrics_check(portal, options, settings, err);
}

/* ---- connecting ---- */

/* The answer is "instance=7,cntlid=1". */
static int fabrics_take_name(int fd, char name[FABRICS_NAME_SIZE], struct error *err)
{
	char text[128];
	ssize_t n = read(fd, text, sizeof(text) - 1);
	int number;

	if (n < 0)
		return error_errno(err, "cannot read '" FABRICS_DEVICE "'");
	text[n] = 0;
	if (sscanf(text, "instance=%d", &number) != 1 || number < 0)
		return error_set(err, -EIO, "the kernel does not say which controller is connected");
	snprintf(name, FABRICS_NAME_SIZE, "nvme%d", number);
	return 0;
}

/* Returns the kernel's error without describing it in *ret_code. */
static int fabrics_write(const struct portal *portal, const struct fabrics_line *line, char name[FABRICS_NAME_SIZE],
			 int *ret_code, struct error *err)
{
	auto_close int fd = -1;
	int r = fabrics_open(portal, &fd, err);

	*ret_code = 0;
	if (r < 0)
		return r;
	if (write(fd, line->text, line->length) == (ssize_t)line->length)
		return fabrics_take_name(fd, name, err);
	*ret_code = errno;
	return -*ret_code;
}

/* Tries to connect without the secrets. *ret_unasked: that is possible. Only an error that can mean that the target
 * asks for them is no failure: ENOKEY, or one of NVMe, which older kernels turn into EIO. */
static int fabrics_try_without(const struct portal *portal, const struct fabrics_line *line,
			       const struct fabrics_settings *settings, bool *ret_unasked, struct error *err)
{
	struct fabrics_settings without = *settings;
	char name[FABRICS_NAME_SIZE], text[PORTAL_TEXT_SIZE];
	int code, r = fabrics_write(portal, line, name, &code, err);

	*ret_unasked = r == 0;
	without.host_secret = without.ctrl_secret = NULL;
	if (code == ENOKEY || code == EIO)
		return 0;
	if (code)
		return fabrics_fail(code, portal, &without, err);
	if (r == 0)
		r = fabrics_disconnect(name, err);
	if (r == 0 && fabrics_has(settings->ctrl_secret))
		return error_set(err, -EPROTO, "'%s': the target does not ask for authentication, so it may be another "
				 "one: set the secrets there", portal_text(portal, text));
	return r;
}

/* Sysfs shows secrets to all users of the machine. Where it has none, the kernel ignored them. */
static int fabrics_hide(const struct portal *portal, const char *name, struct error *err)
{
	static const char *const attributes[] = { "dhchap_secret", "dhchap_ctrl_secret" };
	char path[PATH_MAX], text[PORTAL_TEXT_SIZE];

	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		snprintf(path, sizeof(path), FABRICS_CLASS "/%s/%s", name, attributes[i]);
		if (chmod(path, 0600) == 0)
			continue;
		if (errno != ENOENT)
			return error_errno(err, "'%s' shows the secret to every user", path);
		return error_set(err, -EOPNOTSUPP, "'%s': this kernel has no authentication of hosts "
				 "(CONFIG_NVME_HOST_AUTH)", portal_text(portal, text));
	}
	return 0;
}

/* Connects with the secrets, or not at all. */
static int fabrics_connect_secretly(const struct portal *portal, struct fabrics_line *line,
				    const struct fabrics_settings *settings, struct fabrics_controller *ret,
				    struct error *err)
{
	int code, r = fabrics_try_without(portal, line, settings, &ret->is_unasked, err);

	if (r < 0)
		return r;
	fabrics_add(line, ",dhchap_secret=%s", settings->host_secret);
	if (fabrics_has(settings->ctrl_secret))
		fabrics_add(line, ",dhchap_ctrl_secret=%s", settings->ctrl_secret);
	if (line->length == sizeof(line->text))
		return error_set(err, -E2BIG, "the options are too long");
	r = fabrics_write(portal, line, ret->name, &code, err);
	if (code)
		return fabrics_fail(code, portal, settings, err);
	if (r == 0)
		r = fabrics_hide(portal, ret->name, err);
	if (r < 0 && ret->name[0])
		(void)!fabrics_disconnect(ret->name, NULL);
	return r;
}

int fabrics_connect(const struct host *host, const char *nqn, const struct portal *portal,
		    const struct fabrics_settings *settings, struct fabrics_controller *ret, struct error *err)
{
	cleanup(fabrics_wipe) struct fabrics_line line;
	struct fabrics_controller controller = { 0 };
	int code = 0, r = fabrics_describe(host, nqn, portal, settings, &line, err);

	if (r == 0)
		r = fabrics_check_kernel(portal, settings, err);
	if (r < 0)
		return r;
	if (fabrics_has(settings->host_secret))
		r = fabrics_connect_secretly(portal, &line, settings, &controller, err);
	else
		r = fabrics_write(portal, &line, controller.name, &code, err);
	if (code)
		return fabrics_fail(code, portal, settings, err);
	if (r == 0)
		*ret = controller;
	return r;
}

int fabrics_disconnect(const char *name, struct error *err)
{
	char path[PATH_MAX];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), FABRICS_CLASS "/%.31s/delete_controller", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		return error_errno(err, "cannot disconnect controller '%s'", name);
	return 0;
}
