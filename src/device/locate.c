/* SPDX-License-Identifier: MIT */
/* Finds the block device of a volume by its name in the topology. */
#include "device/locate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/text/parse.h"
#include "device/nvme/devnode.h"
#include "device/nvme/mapping.h"

#define LOCATE_PREFIX "nvme:"

/* A parsed identity. */
struct locate_query {
	enum { LOCATE_UUID, LOCATE_NGUID, LOCATE_EUI64, LOCATE_NSID } kind;
	uint8_t bytes[16];
	char nqn[256];
	uint32_t nsid;
};

bool locate_is_identity(const char *volume)
{
	return !strncmp(volume, LOCATE_PREFIX, strlen(LOCATE_PREFIX));
}

/* Parses "NQN/NSID". */
static int locate_parse_nsid(const char *text, struct locate_query *ret, struct error *err)
{
	const char *slash = strrchr(text, '/');
	uint64_t nsid;
	int r;

	if (!slash || slash == text || (size_t)(slash - text) >= sizeof(ret->nqn))
		return error_set(err, -EINVAL, "'%s' is not SUBSYSTEM_NQN/NSID", text);
	r = parse_u64(slash + 1, 1, UINT32_MAX - 1, &nsid, err);
	if (r < 0)
		return r;
	ret->kind = LOCATE_NSID;
	ret->nsid = (uint32_t)nsid;
	snprintf(ret->nqn, sizeof(ret->nqn), "%.*s", (int)(slash - text), text);
	return 0;
}

static int locate_parse(const char *volume, struct locate_query *ret, struct error *err)
{
	const char *text = volume + strlen(LOCATE_PREFIX);

	*ret = (struct locate_query){ 0 };
	if (!strncmp(text, "//", 2))
		return locate_parse_nsid(text + 2, ret, err);
	if (!strncmp(text, "uuid:", 5)) {
		ret->kind = LOCATE_UUID;
		return parse_uuid(text + 5, ret->bytes, err);
	}
	if (!strncmp(text, "nguid:", 6)) {
		ret->kind = LOCATE_NGUID;
		return parse_hex(text + 6, ret->bytes, 16, err);
	}
	if (!strncmp(text, "eui64:", 6)) {
		ret->kind = LOCATE_EUI64;
		return parse_hex(text + 6, ret->bytes, 8, err);
	}
	return error_set(err, -EINVAL, "expected nvme:uuid:…, nvme:nguid:…, nvme:eui64:… or nvme://NQN/NSID");
}

static bool locate_is(const struct topology *t, const struct topology_namespace *namespace,
		      const struct locate_query *query)
{
	switch (query->kind) {
	case LOCATE_UUID:
		return namespace->has_uuid && !memcmp(namespace->uuid, query->bytes, sizeof(namespace->uuid));
	case LOCATE_NGUID:
		return namespace->has_nguid && !memcmp(namespace->nguid, query->bytes, sizeof(namespace->nguid));
	case LOCATE_EUI64:
		return namespace->has_eui64 && !memcmp(namespace->eui64, query->bytes, sizeof(namespace->eui64));
	default:
		return namespace->nsid == query->nsid && !strcmp(t->subsystems[namespace->subsystem].nqn, query->nqn);
	}
}

/* True if both are one namespace: without multipath the kernel has a block device for each controller. */
static bool locate_is_same(const struct topology *t, const struct topology_namespace *a,
			   const struct topology_namespace *b)
{
	char name_a[TOPOLOGY_IDENTITY_SIZE], name_b[TOPOLOGY_IDENTITY_SIZE];

	topology_identity(a, name_a);
	topology_identity(b, name_b);
	return a->nsid == b->nsid && name_a[0] && !strcmp(name_a, name_b) &&
	       !strcmp(t->subsystems[a->subsystem].nqn, t->subsystems[b->subsystem].nqn);
}

/* Returns the first of two devices of one namespace, unless only the second has a live controller. */
static const struct topology_namespace *locate_better(const struct topology *t, const struct topology_namespace *a,
						      const struct topology_namespace *b)
{
	size_t live_a, live_b;

	topology_paths_of(t, a, &live_a);
	topology_paths_of(t, b, &live_b);
	return !live_a && live_b ? b : a;
}

int locate_namespace(const struct topology *topology, const char *volume, const struct topology_namespace **ret,
		     struct error *err)
{
	const struct topology_namespace *found = NULL, *namespace;
	struct locate_query query;
	int r = locate_parse(volume, &query, err);

	if (r < 0)
		return error_wrap(err, r, "'%s'", volume);
	for (size_t i = 0; i < topology->namespace_count; i++) {
		namespace = &topology->namespaces[i];
		if (!locate_is(topology, namespace, &query))
			continue;
		if (found && !locate_is_same(topology, found, namespace))
			return error_set(err, -ENOTUNIQ, "'%s' is claimed by two namespaces, '%s' and '%s'", volume,
					 found->name, namespace->name);
		found = found ? locate_better(topology, found, namespace) : namespace;
	}
	if (!found)
		return error_set(err, -ENOENT,
				 "no namespace '%s' among the %zu that are connected, see 'datasetfsctl nvme list'",
				 volume, topology->namespace_count);
	*ret = found;
	return 0;
}

int locate_node(const struct topology_namespace *namespace, char **ret, struct error *err)
{
	char path[64];

	if (!devnode_find(namespace->name, namespace->device, path, sizeof(path)))
		return error_set(err, -ENODEV, "namespace '%s' has no block device node %u:%u in '/dev'",
				 namespace->name, major(namespace->device), minor(namespace->device));
	*ret = strdup(path);
	return *ret ? 0 : error_no_memory(err);
}

/* Finds the node of the mapping on a namespace, as reads go through it, or of the namespace if there is none. */
static int locate_highest(const struct topology_namespace *namespace, char **ret, struct error *err)
{
	char path[sizeof("/dev/mapper/") + MAPPING_NAME_SIZE];
	struct mapping mapping;
	int r = mapping_above(topology_root(), namespace->device, &mapping, err);

	if (r < 0)
		return error_wrap(err, r, "namespace '%s', name the volume by the path of its own", namespace->name);
	if (!mapping.device)
		return locate_node(namespace, ret, err);
	snprintf(path, sizeof(path), "/dev/mapper/%s", mapping.name);
	if (!devnode_is(path, mapping.device) && !devnode_find(mapping.block, mapping.device, path, sizeof(path)))
		return error_set(err, -ENODEV, "mapping '%s' has no block device node %u:%u in '/dev'", mapping.name,
				 major(mapping.device), minor(mapping.device));
	*ret = strdup(path);
	return *ret ? 0 : error_no_memory(err);
}

int locate_path(const char *volume, char **ret, struct error *err)
{
	auto_topology struct topology topology = { 0 };
	const struct topology_namespace *namespace;
	int r;

	if (!locate_is_identity(volume)) {
		*ret = strdup(volume);
		return *ret ? 0 : error_no_memory(err);
	}
	r = topology_read(topology_root(), &topology, err);
	if (r == 0)
		r = locate_namespace(&topology, volume, &namespace, err);
	return r < 0 ? r : locate_highest(namespace, ret, err);
}

/* Gets the device of fd and reads the topology; *ret_device is 0, and nothing is read, if fd is no block device. */
static int locate_device(int fd, struct topology *topology, dev_t *ret_device, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	*ret_device = S_ISBLK(st.st_mode) ? st.st_rdev : 0;
	return *ret_device ? topology_read(topology_root(), topology, err) : 0;
}

int locate_identity(int fd, char identity[TOPOLOGY_IDENTITY_SIZE], struct error *err)
{
	auto_topology struct topology topology = { 0 };
	const struct topology_namespace *namespace;
	dev_t device = 0;
	int r = locate_device(fd, &topology, &device, err);

	identity[0] = 0;
	if (r < 0)
		return r;
	namespace = topology_below(&topology, device);
	if (namespace)
		topology_identity(namespace, identity);
	return 0;
}

int locate_domain(int fd, char domain[TOPOLOGY_DOMAIN_SIZE], struct error *err)
{
	auto_topology struct topology topology = { 0 };
	const struct topology_namespace *namespace;
	dev_t device = 0;
	int r = locate_device(fd, &topology, &device, err);

	domain[0] = 0;
	if (r < 0)
		return r;
	namespace = topology_by_device(&topology, topology_whole(topology_root(), device));
	if (namespace)
		snprintf(domain, TOPOLOGY_DOMAIN_SIZE, "%.*s", (int)TOPOLOGY_DOMAIN_SIZE - 2,
			 topology.subsystems[namespace->subsystem].nqn);
	return 0;
}

bool locate_is_crypt(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) && mapping_is_crypt(topology_root(), st.st_rdev);
}

bool locate_is_plain(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && major(st.st_dev) && mapping_is_plain(topology_root(), st.st_dev);
}
