/* SPDX-License-Identifier: MIT */
/* A snapshot of the NVMe subsystems that the kernel is connected to, as sysfs shows them: controllers, namespaces,
 * and the paths between them. It needs no privileges and no library. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct topology_subsystem {
	char name[32];     /* nvme-subsys0 */
	char nqn[256];
	char model[64];
	char iopolicy[32]; /* path policy; empty if the kernel has no multipath */
	bool is_discovery;
};

/* An answer of sysfs, or none for this user. */
enum topology_answer { TOPOLOGY_NO, TOPOLOGY_YES, TOPOLOGY_HIDDEN };

struct topology_controller {
	size_t subsystem;
	char name[32]; /* nvme0 */
	char transport[16];
	char traddr[128], trsvcid[32]; /* empty where the transport has none; for pcie, traddr is the PCI address */
	char state[32];                /* live, connecting, … */
	char hostnqn[256], hostid[64]; /* the identity we connected with; empty on PCIe */
	int64_t cntlid, numa_node;     /* -1: not known, or no node */
	int64_t queues, queue_size;    /* I/O queues, and entries of each; -1: not known */
	int64_t reconnect_delay, ctrl_loss_tmo, fast_io_fail_tmo, keep_alive_tmo; /* seconds; -1: off or not known */
	/* Whether there is a secret of DH-HMAC-CHAP by which this host proves who it is, and one for the target. */
	enum topology_answer host_secret, ctrl_secret;
	bool shows_secret; /* every user of this machine can read one of them in sysfs */
	bool has_tls;
};

struct topology_namespace {
	size_t subsystem;
	char name[32]; /* of the block device: nvme0n1 */
	dev_t device;
	uint32_t nsid;
	bool has_uuid, has_nguid, has_eui64;
	uint8_t uuid[16], nguid[16], eui64[8];
	uint64_t size;      /* bytes */
	uint32_t lba_size;  /* bytes of a logical block */
	uint32_t boundary;  /* bytes; a request that crosses a multiple is split (NOIOB). 0: none */
	int64_t read_ahead; /* bytes, -1 if not known */
	bool read_only;     /* write-protected, or set read-only on this host */
};

/* A path from a controller to a namespace. */
struct topology_path {
	size_t namespace, controller;
	char name[32];      /* nvme0c1n1, hidden below the namespace; the namespace's own name without multipath */
	char ana_state[32]; /* optimized, …; empty where the target has no ANA */
	bool data_digest;   /* the transport sums the data of a request (TCP's DDGST) */
};

struct topology {
	struct topology_subsystem *subsystems;
	struct topology_controller *controllers;
	struct topology_namespace *namespaces;
	struct topology_path *paths;
	size_t subsystem_count, controller_count, namespace_count, path_count;
};

/* Returns the root of sysfs: $DATASETFS_SYSFS, for inspecting a copy from another machine, or /sys. */
const char *topology_root(void);
/* Returns -EPERM if sysfs is a copy: its devices must not be changed here. */
must_check int topology_check_own(struct error *err);
/* Reads the snapshot. A machine without NVMe gives an empty topology. */
must_check int topology_read(const char *root, struct topology *ret, struct error *err);
void topology_free(struct topology *topology); /* frees the contents only */

/* Returns the whole device that device, or what lies below a mapping, is a partition of; else that device itself. */
dev_t topology_whole(const char *root, dev_t device);
/* The functions below look up by device number or NQN; NULL: there is none. */
const struct topology_namespace *topology_by_device(const struct topology *topology, dev_t device);
/* Returns the namespace that device is, or that lies below the mapping that it is (device/nvme/mapping.h). */
const struct topology_namespace *topology_below(const struct topology *topology, dev_t device);
const struct topology_subsystem *topology_by_nqn(const struct topology *topology, const char *nqn);
/* Returns the controller of the first path that has a host id; NULL if none has. */
const struct topology_controller *topology_host_of(const struct topology *topology,
						   const struct topology_namespace *namespace);
/* Returns the number of paths of a namespace, and in *ret_live how many have a live controller. */
size_t topology_paths_of(const struct topology *topology, const struct topology_namespace *namespace, size_t *ret_live);

#define TOPOLOGY_IDENTITY_SIZE 128u
#define TOPOLOGY_DOMAIN_SIZE   225u /* an NQN has 223 bytes at most */
/* Formats the strongest identity that the namespace has: "nvme:uuid:…", "nvme:nguid:…" or "nvme:eui64:…"; "" if
 * none. */
void topology_identity(const struct topology_namespace *namespace, char identity[TOPOLOGY_IDENTITY_SIZE]);

static inline void topology_free_ptr(struct topology *topology)
{
	topology_free(topology);
}
#define auto_topology cleanup(topology_free_ptr)
