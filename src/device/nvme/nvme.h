/* SPDX-License-Identifier: MIT */
/* NVMe commands through libnvme. Without it (meson option nvme) every call fails with -EOPNOTSUPP. A
 * namespace is an open block device and its number. Commands need CAP_SYS_ADMIN. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "device/nvme/fabrics.h"
#include "device/nvme/host.h"
#include "device/nvme/portal.h"

/* Facts from Identify about a namespace and its controller. Sizes in bytes, 0: not reported. */
struct nvme_facts {
	bool is_shared;      /* several controllers can reach it */
	bool can_reserve;    /* Write Exclusive reservations */
	bool can_protect;    /* write protection */
	bool is_protected;
	uint32_t boundary;   /* NOIOB: a request that crosses a multiple of it is slower */
	uint32_t granule;    /* NPWG: writes in multiples of it are not read-modify-write */
	uint32_t alignment;  /* NPWA: where such writes should begin */
};
must_check int nvme_facts_read(int fd, uint32_t nsid, struct nvme_facts *ret, struct error *err);

enum nvme_hold { NVME_HOLD_NONE, NVME_HOLD_WRITE_EXCLUSIVE, NVME_HOLD_OTHER };

/* The reservation of a namespace and its holder. */
struct nvme_holder {
	enum nvme_hold hold;
	uint8_t host[16]; /* host id; an 8-byte one is padded with zeros */
	uint64_t key;
	unsigned registrants;
};
must_check int nvme_holder_read(int fd, uint32_t nsid, struct nvme_holder *ret, struct error *err);

/* Registers this host with a key. Registering the same key again succeeds; another key gives -EBUSY. */
must_check int nvme_key_register(int fd, uint32_t nsid, uint64_t key, struct error *err);
must_check int nvme_key_replace(int fd, uint32_t nsid, uint64_t key, uint64_t new, struct error *err);
must_check int nvme_key_remove(int fd, uint32_t nsid, uint64_t key, struct error *err);
/* Takes a Write Exclusive reservation for the registered host. -EBUSY: another host has one. If victim is that
 * host's key, the reservation is taken away and the victim's registration removed. */
must_check int nvme_reserve(int fd, uint32_t nsid, uint64_t key, uint64_t victim, struct error *err);
must_check int nvme_release(int fd, uint32_t nsid, uint64_t key, struct error *err);
must_check int nvme_protect(int fd, uint32_t nsid, bool on, struct error *err);

/* One entry of a discovery log. */
struct nvme_offer {
	char nqn[256];
	struct portal portal; /* address is empty if the transport is not supported here */
	char transport[24];
	bool is_discovery;    /* a referral to another discovery controller, or the entry of the one that was asked */
};
/* Connects to the discovery controller, reads its log, and disconnects. free() *ret. */
must_check int nvme_discover(const struct host *host, const struct portal *portal,
			     const struct fabrics_settings *settings, struct nvme_offer **ret, size_t *ret_count,
			     struct error *err);
