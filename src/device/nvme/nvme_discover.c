/* SPDX-License-Identifier: MIT */
/* Reads the logs of discovery controllers. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libnvme.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "device/nvme/fabrics.h"
#include "device/nvme/nvme.h"

#define DISCOVERY_HEAD    20u   /* used bytes of the log's 1024-byte header: GENCTR, NUMREC, RECFMT, in whole dwords */
#define DISCOVERY_PIECE   4u    /* entries read at a time: one page */
#define DISCOVERY_ENTRIES 4096u /* more than any real target has */
#define DISCOVERY_TRIES   3u

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
static int nvme_read_piece(int fd, uint64_t offset, void *bytes, size_t length, struct error *err)
{
	struct nvme_get_log_args args = { .lpo = offset,
					  .log = bytes,
					  .args_size = sizeof(args),
					  .fd = fd,
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
static int nvme_read_head(int fd, uint64_t *ret_change, uint64_t *ret_count, struct error *err)
{
	struct nvmf_discovery_log log = { 0 };
	uint64_t count;
	int r = nvme_read_piece(fd, 0, &log, DISCOVERY_HEAD, err);

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

static int nvme_read_entries(int fd, struct nvmf_disc_log_entry *entries, size_t count,
			     struct error *err)
{
	size_t n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i += n) {
		n = count - i < DISCOVERY_PIECE ? count - i : DISCOVERY_PIECE;
		r = nvme_read_piece(fd, sizeof(struct nvmf_discovery_log) + i * sizeof(*entries), &entries[i],
				    n * sizeof(*entries), err);
	}
	return r;
}

/* Reads the whole log. Returns 1 if it did not change between the pieces, 0 if it did. */
static int nvme_try_log(int fd, struct nvme_offer **ret, size_t *ret_count, struct error *err)
{
	auto_free struct nvmf_disc_log_entry *entries = NULL;
	auto_free struct nvme_offer *offers = NULL;
	uint64_t change = 0, later = 0, count = 0, count_later = 0;
	int r = nvme_read_head(fd, &change, &count, err);

	if (r < 0)
		return r;
	entries = calloc(count + 1, sizeof(*entries));
	offers = calloc(count + 1, sizeof(*offers));
	if (!entries || !offers)
		return error_no_memory(err);
	r = nvme_read_entries(fd, entries, count, err);
	if (r == 0)
		r = nvme_read_head(fd, &later, &count_later, err);
	if (r < 0 || change != later || count != count_later)
		return r;
	for (size_t i = 0; i < count; i++)
		nvme_read_offer(&entries[i], &offers[i]);
	*ret = take_ptr(&offers);
	*ret_count = count;
	return 1;
}

static int nvme_read_log(int fd, struct nvme_offer **ret, size_t *ret_count, struct error *err)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < DISCOVERY_TRIES; i++)
		r = nvme_try_log(fd, ret, ret_count, err);
	if (r == 0)
		return error_set(err, -EAGAIN, "the discovery log keeps changing");
	return r < 0 ? r : 0;
}

static int nvme_ask(const char *name, struct nvme_offer **ret, size_t *ret_count, struct error *err)
{
	char path[sizeof("/dev/") + FABRICS_NAME_SIZE];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/dev/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? error_errno(err, "cannot open '%s'", path) : nvme_read_log(fd, ret, ret_count, err);
}

int nvme_discover(const struct host *host, const struct portal *portal, const struct fabrics_settings *settings,
		  struct nvme_offer **ret, size_t *ret_count, struct error *err)
{
	auto_free struct nvme_offer *offers = NULL;
	struct fabrics_controller controller;
	struct error why = { 0 };
	size_t count = 0;
	int r = fabrics_connect(host, NVME_DISC_SUBSYS_NAME, portal, settings, &controller, err);

	if (r < 0)
		return r;
	r = nvme_ask(controller.name, &offers, &count, err);
	if (fabrics_disconnect(controller.name, &why) < 0 && r == 0)
		r = error_pass(err, why.code, &why);
	if (r < 0)
		return r;
	*ret = take_ptr(&offers);
	*ret_count = count;
	return 0;
}
