/* SPDX-License-Identifier: MIT */
/* Preloaded into datasetfsctl: what libnvme tells of a fabric that is not there. A controller connects, and its discovery
 * log has one subsystem, whose strings a terminal would obey.
 *   FABRICS_CONNECTED  nothing connects: the kernel has a controller of that subsystem and address already
 *   FABRICS_STUCK      nothing disconnects */
#include <endian.h>
#include <errno.h>
#include <libnvme.h>
#include <stdlib.h>
#include <string.h>

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

int nvmf_get_discovery_log(nvme_ctrl_t controller, struct nvmf_discovery_log **ret, int retries)
{
	struct nvmf_discovery_log *log = calloc(1, sizeof(*log) + sizeof(log->entries[0]));
	struct nvmf_disc_log_entry *entry = log->entries;

	(void)controller;
	(void)retries;
	log->numrec = htole64(1);
	entry->trtype = NVMF_TRTYPE_TCP;
	entry->subtype = NVME_NQN_NVME;
	strcpy(entry->traddr, "\033[2J\302\233m");
	strcpy(entry->trsvcid, "\2331m\xc3\xa9");
	strcpy(entry->subnqn, "nqn.\033c");
	*ret = log;
	return 0;
}
