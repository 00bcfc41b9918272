/* SPDX-License-Identifier: MIT */
/* Replaces nvme.c and nvme_discover.c in builds without libnvme. */
#include <errno.h>

#include "device/nvme/nvme.h"

static int nvme_missing(struct error *err)
{
	return error_set(err, -EOPNOTSUPP, "this datasetfs was built without libnvme");
}

int nvme_facts_read(int fd, uint32_t nsid, struct nvme_facts *ret, struct error *err)
{
	(void)fd, (void)nsid, (void)ret;
	return nvme_missing(err);
}

int nvme_holder_read(int fd, uint32_t nsid, struct nvme_holder *ret, struct error *err)
{
	(void)fd, (void)nsid, (void)ret;
	return nvme_missing(err);
}

int nvme_key_register(int fd, uint32_t nsid, uint64_t key, struct error *err)
{
	(void)fd, (void)nsid, (void)key;
	return nvme_missing(err);
}

int nvme_key_replace(int fd, uint32_t nsid, uint64_t key, uint64_t new, struct error *err)
{
	(void)fd, (void)nsid, (void)key, (void)new;
	return nvme_missing(err);
}

int nvme_key_remove(int fd, uint32_t nsid, uint64_t key, struct error *err)
{
	(void)fd, (void)nsid, (void)key;
	return nvme_missing(err);
}

int nvme_reserve(int fd, uint32_t nsid, uint64_t key, uint64_t victim, struct error *err)
{
	(void)fd, (void)nsid, (void)key, (void)victim;
	return nvme_missing(err);
}

int nvme_release(int fd, uint32_t nsid, uint64_t key, struct error *err)
{
	(void)fd, (void)nsid, (void)key;
	return nvme_missing(err);
}

int nvme_protect(int fd, uint32_t nsid, bool on, struct error *err)
{
	(void)fd, (void)nsid, (void)on;
	return nvme_missing(err);
}

int nvme_discover(const struct host *host, const struct portal *portal, const struct fabrics_settings *settings,
		  struct nvme_offer **ret, size_t *ret_count, struct error *err)
{
	(void)host, (void)portal, (void)settings, (void)ret, (void)ret_count;
	return nvme_missing(err);
}
