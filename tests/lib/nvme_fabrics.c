/* SPDX-License-Identifier: MIT */
/* Preloaded into datasetfsctl: what libnvme tells of a fabric that is not there. A controller connects, and its
 * discovery log has entries whose strings a terminal would obey.
 *   FABRICS_CONNECTED  nothing connects: the kernel has a controller of that subsystem and address already
 *   FABRICS_STUCK      nothing disconnects
 *   FABRICS_COUNT      so many entries has the log, it says; there are 9
 *   FABRICS_CHANGING   the log is another one whenever its head is read */
#include <endian.h>
#include <errno.h>
#include <libnvme.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 9

int nvmf_add_ctrl(nvme_host_t host, nvme_ctrl_t controller, const struct nvme_fabrics_config *config)
{
	(void)host;
	(void)controller;
	(void)config;
	errno = ENVME_CONNECT_ALREADY;
	return getenv("FABRICS_CONNECTED") ? -1 : 0;
}

int nvme_disconnect_ctrl(nvme_ctrl_t controller)
{
	(void)controller;
	errno = EBUSY;
	return getenv("FABRICS_STUCK") ? -1 : 0;
}

int nvme_ctrl_get_fd(nvme_ctrl_t controller)
{
	(void)controller;
	return 0;
}

static void fill(struct nvmf_disc_log_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->trtype = NVMF_TRTYPE_TCP;
	entry->subtype = NVME_NQN_NVME;
	strcpy(entry->traddr, "\033[2J\302\233m");
	strcpy(entry->trsvcid, "\2331m\xc3\xa9");
	strcpy(entry->subnqn, "nqn.\033c");
}

/* A piece of the discovery log: its head, or whole entries. */
int nvme_get_log(struct nvme_get_log_args *args)
{
	static unsigned heads;
	const char *count = getenv("FABRICS_COUNT");
	struct nvmf_discovery_log head = { 0 };
	uint64_t first;

	if (args->lpo == 0) {
		head.numrec = htole64(count ? strtoull(count, NULL, 10) : 1);
		head.genctr = htole64(getenv("FABRICS_CHANGING") ? ++heads : 7);
		memcpy(args->log, &head, args->len < sizeof(head) ? args->len : sizeof(head));
		return 0;
	}
	first = (args->lpo - sizeof(head)) / sizeof(head.entries[0]);
	for (uint64_t i = 0; i < args->len / sizeof(head.entries[0]); i++) {
		if (first + i >= ENTRIES)
			return NVME_SC_INVALID_FIELD;
		fill((struct nvmf_disc_log_entry *)args->log + i);
	}
	return 0;
}
