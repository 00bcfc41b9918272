/* SPDX-License-Identifier: MIT */
/* Connects and disconnects controllers, and asks discovery controllers. */
#include <errno.h>
#include <inttypes.h>
#include <libnvme.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/cleanup.h"
#include "device/nvme/nvme.h"

#define FABRICS_DEVICE    "/dev/nvme-fabrics"
#define DISCOVERY_HEAD    20u   /* used bytes of the log's 1024-byte header: GENCTR, NUMREC, RECFMT, in whole dwords */
#define DISCOVERY_PIECE   4u    /* entries read at a time: one page */
#define DISCOVERY_ENTRIES 4096u /* more than any real target has */
#define DISCOVERY_TRIES   3u

static void nvme_free_root(nvme_root_t *root)
{
	if (*root)
		nvme_free_tree(*root);
}
#define auto_root cleanup(nvme_free_root)

/* Opens libnvme's tree with logging off, so that libnvme prints nothing to standard error. */
static int nvme_open_root(nvme_root_t *ret, struct error *err)
{
	*ret = nvme_create_root(NULL, LOG_EMERG);
	return *ret ? 0 : error_no_memory(err);
}

/* Describes a failed connection. libnvme adds error numbers of its own to errno. */
static int nvme_connect_error(int code, const struct portal *portal, struct error *err)
{
	char text[PORTAL_TEXT_SIZE];

	portal_text(portal, text);
	if (code == ENVME_CONNECT_ALREADY)
		return error_set(err, -EALREADY, "'%s': %s", text, nvme_errno_to_string(code));
	if (access(FABRICS_DEVICE, F_OK) < 0)
		return error_set(err, -ENODEV, "'%s': there is no '" FABRICS_DEVICE "', try 'modprobe nvme-%s'", text,
				 portal->transport);
	if (code == ENVME_CONNECT_WRITE)
		return error_set(err, -EHOSTUNREACH,
				 "'%s': no answer, or the kernel refused it; the kernel log says which", text);
	if (code >= ENVME_CONNECT_RESOLVE)
		return error_set(err, -EIO, "'%s': %s", text, nvme_errno_to_string(code));
	return error_set(err, code ? -code : -EIO, "'%s': %s", text, strerror(code ? code : EIO));
}

static int nvme_add(nvme_root_t root, const struct host *host, const char *nqn, const struct portal *portal,
		    const struct nvme_fabrics_config *config, nvme_ctrl_t *ret, struct error *err)
{
	nvme_host_t h = nvme_lookup_host(root, host->nqn, host->id);
	struct portal where; /* resolved here, because not every libnvme looks up host names */
	nvme_ctrl_t controller;
	int r;

	r = portal_resolve(portal, &where, err);
	if (r < 0)
		return r;
	errno = 0;
	controller = h ? nvme_create_ctrl(root, nqn, where.transport, where.address[0] ? where.address : NULL, NULL,
					  NULL, where.service[0] ? where.service : NULL) :
			 NULL;
	if (!controller)
		return nvme_connect_error(errno ? errno : ENOMEM, portal, err);
	errno = 0;
	if (nvmf_add_ctrl(h, controller, config) < 0) {
		int code = errno;

		nvme_free_ctrl(controller);
		return nvme_connect_error(code, portal, err);
	}
	*ret = controller;
	return 0;
}

int nvme_attach(const struct host *host, const char *nqn, const struct portal *portal,
		const struct nvme_settings *settings, char name[NVME_NAME_SIZE], struct error *err)
{
	bool digests = settings->digests && !strcmp(portal->transport, "tcp");
	struct nvme_fabrics_config config;
	auto_root nvme_root_t root = NULL;
	nvme_ctrl_t controller;
	int r;

	nvmf_default_config(&config);
	config.nr_io_queues = settings->queues;
	config.queue_size = settings->queue_size;
	/* The kernel refuses these options for loop, which has no connection to lose. */
	if (strcmp(portal->transport, "loop") != 0) {
		config.reconnect_delay = settings->reconnect_delay;
		config.ctrl_loss_tmo = settings->ctrl_loss_tmo;
		config.fast_io_fail_tmo = settings->fast_io_fail_tmo;
	}
	config.keep_alive_tmo = settings->keep_alive_tmo;
	config.hdr_digest = config.data_digest = digests;
	r = nvme_open_root(&root, err);
	if (r == 0)
		r = nvme_add(root, host, nqn, portal, &config, &controller, err);
	if (r < 0)
		return r;
	snprintf(name, NVME_NAME_SIZE, "%.31s", nvme_ctrl_get_name(controller));
	return 0;
}

int nvme_detach(const char *name, struct error *err)
{
	auto_root nvme_root_t root = NULL;
	nvme_ctrl_t controller;
	int r = nvme_open_root(&root, err);

	if (r < 0)
		return r;
	errno = 0;
	controller = nvme_scan_ctrl(root, name);
	if (!controller)
		return error_errno(err, "cannot examine controller '%s'", name);
	if (nvme_disconnect_ctrl(controller) < 0)
		return error_errno(err, "cannot disconnect controller '%s'", name);
	return 0;
}

/* Copies a text field of the log, which is padded, not NUL-terminated. */
static void nvme_copy_padded(char *text, size_t size, const char *field, size_t length)
{
	size_t n = strnlen(field, length);

	while (n && field[n - 1] == ' ')
		n--;
	snprintf(text, size, "%.*s", (int)n, field);
}

static void nvme_read_offer(const struct nvmf_disc_log_entry *entry, struct nvme_offer *offer)
{
	nvme_copy_padded(offer->nqn, sizeof(offer->nqn), entry->subnqn, sizeof(entry->subnqn));
	snprintf(offer->transport, sizeof(offer->transport), "%s", nvmf_trtype_str(entry->trtype));
	offer->is_discovery = entry->subtype != NVME_NQN_NVME;
	if (entry->trtype != NVMF_TRTYPE_TCP && entry->trtype != NVMF_TRTYPE_RDMA && entry->trtype != NVMF_TRTYPE_LOOP)
		return;
	snprintf(offer->portal.transport, sizeof(offer->portal.transport), "%.7s", offer->transport);
	if (entry->trtype == NVMF_TRTYPE_LOOP)
		return;
	nvme_copy_padded(offer->portal.address, sizeof(offer->portal.address), entry->traddr, sizeof(entry->traddr));
	nvme_copy_padded(offer->portal.service, sizeof(offer->portal.service), entry->trsvcid, sizeof(entry->trsvcid));
}

/* nvmf_get_discovery_log() is not safe: it trusts the target's entry count and reads past its memory. */
static int nvme_read_piece(nvme_ctrl_t controller, uint64_t offset, void *bytes, size_t length, struct error *err)
{
	struct nvme_get_log_args args = { .lpo = offset,
					  .log = bytes,
					  .args_size = sizeof(args),
					  .fd = nvme_ctrl_get_fd(controller),
					  .timeout = NVME_DEFAULT_IOCTL_TIMEOUT,
					  .lid = NVME_LOG_LID_DISCOVER,
					  .len = (uint32_t)length,
					  .nsid = NVME_NSID_NONE,
					  .csi = NVME_CSI_NVM,
					  .lsi = NVME_LOG_LSI_NONE,
					  .lsp = NVMF_LOG_DISC_LSP_NONE,
					  .uuidx = NVME_UUID_NONE };
	int r = nvme_get_log(&args);

	if (r < 0)
		return error_errno(err, "cannot read the discovery log");
	if (r > 0)
		return error_set(err, -EIO, "cannot read the discovery log: %s", nvme_status_to_string(r, false));
	return 0;
}

/* Reads the log's generation counter and its number of entries. */
static int nvme_read_head(nvme_ctrl_t controller, uint64_t *ret_change, uint64_t *ret_count, struct error *err)
{
	struct nvmf_discovery_log log = { 0 };
	uint64_t count;
	int r = nvme_read_piece(controller, 0, &log, DISCOVERY_HEAD, err);

	if (r < 0)
		return r;
	count = le64toh(log.numrec);
	if (count > DISCOVERY_ENTRIES)
		return error_set(err, -E2BIG, "the discovery log has %" PRIu64 " entries, expected at most %u", count,
				 DISCOVERY_ENTRIES);
	*ret_change = le64toh(log.genctr);
	*ret_count = count;
	return 0;
}

static int nvme_read_entries(nvme_ctrl_t controller, struct nvmf_disc_log_entry *entries, size_t count,
			     struct error *err)
{
	size_t n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i += n) {
		n = count - i < DISCOVERY_PIECE ? count - i : DISCOVERY_PIECE;
		r = nvme_read_piece(controller, sizeof(struct nvmf_discovery_log) + i * sizeof(*entries), &entries[i],
				    n * sizeof(*entries), err);
	}
	return r;
}

/* Reads the whole log. Returns 1 if it did not change between the pieces, 0 if it did. */
static int nvme_try_log(nvme_ctrl_t controller, struct nvme_offer **ret, size_t *ret_count, struct error *err)
{
	auto_free struct nvmf_disc_log_entry *entries = NULL;
	auto_free struct nvme_offer *offers = NULL;
	uint64_t change = 0, later = 0, count = 0, count_later = 0;
	int r = nvme_read_head(controller, &change, &count, err);

	if (r < 0)
		return r;
	entries = calloc(count + 1, sizeof(*entries));
	offers = calloc(count + 1, sizeof(*offers));
	if (!entries || !offers)
		return error_no_memory(err);
	r = nvme_read_entries(controller, entries, count, err);
	if (r == 0)
		r = nvme_read_head(controller, &later, &count_later, err);
	if (r < 0 || change != later || count != count_later)
		return r;
	for (size_t i = 0; i < count; i++)
		nvme_read_offer(&entries[i], &offers[i]);
	*ret = take_ptr(&offers);
	*ret_count = count;
	return 1;
}

static int nvme_read_log(nvme_ctrl_t controller, struct nvme_offer **ret, size_t *ret_count, struct error *err)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < DISCOVERY_TRIES; i++)
		r = nvme_try_log(controller, ret, ret_count, err);
	if (r == 0)
		return error_set(err, -EAGAIN, "the discovery log keeps changing");
	return r < 0 ? r : 0;
}

int nvme_discover(const struct host *host, const struct portal *portal, struct nvme_offer **ret, size_t *ret_count,
		  struct error *err)
{
	auto_free struct nvme_offer *offers = NULL;
	struct nvme_fabrics_config config;
	auto_root nvme_root_t root = NULL;
	nvme_ctrl_t controller;
	size_t count = 0;
	int r;

	nvmf_default_config(&config);
	r = nvme_open_root(&root, err);
	if (r == 0)
		r = nvme_add(root, host, NVME_DISC_SUBSYS_NAME, portal, &config, &controller, err);
	if (r < 0)
		return r;
	r = nvme_read_log(controller, &offers, &count, err);
	if (nvme_disconnect_ctrl(controller) < 0 && r == 0)
		r = error_errno(err, "cannot disconnect the discovery controller");
	if (r < 0)
		return r;
	*ret = take_ptr(&offers);
	*ret_count = count;
	return 0;
}
