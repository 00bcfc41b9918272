/* SPDX-License-Identifier: MIT */
/* Walks CLASS/nvme-subsystem of sysfs:
 *
 *   nvme-subsys0/            a subsystem
 *     nvme0n1/               a namespace, when the kernel has multipath and the namespace is shared
 *     nvme0/ nvme1/          its controllers
 *       nvme0c0n1/           a path to such a namespace: a hidden block device
 *       nvme0n2/             any other namespace, which then has this one path
 *
 * Attributes tell the kind of a directory, not its name: a namespace and a path have nsid and size, a controller has
 * transport. */
#include "device/nvme/topology.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "device/nvme/mapping.h"
#include "device/nvme/sysfs.h"

#define DISCOVERY_NQN "nqn.2014-08.org.nvmexpress.discovery"

const char *topology_root(void)
{
	const char *root = getenv("DATASETFS_SYSFS");

	return root && *root ? root : "/sys";
}

int topology_check_own(struct error *err)
{
	const char *root = topology_root();

	if (strcmp(root, "/sys") != 0)
		return error_set(err, -EPERM, "'%s' is a copy of sysfs, which can only be inspected", root);
	return 0;
}

/* Appends a zeroed element to an array and returns it; NULL if out of memory. */
static void *topology_grow(void *array, size_t *count, size_t size)
{
	void **items = array;
	char *grown = realloc(*items, (*count + 1) * size);

	if (!grown)
		return NULL;
	*items = grown;
	grown += (*count)++ * size;
	return memset(grown, 0, size);
}

/* ---- attributes ---- */

static int64_t topology_number(const char *directory, const char *name)
{
	int64_t n = -1;

	return sysfs_number(directory, name, &n) ? n : -1;
}

/* Reads hexadecimal digits with blanks and dashes between them. False also if all bytes are zero: not set. */
static bool topology_bytes(const char *directory, const char *name, uint8_t *bytes, size_t size)
{
	char text[64], *out = text;
	bool some = false;

	if (!sysfs_text(directory, name, text, sizeof(text)))
		return false;
	for (const char *in = text; *in; in++)
		if (*in != ' ' && *in != '-')
			*out++ = *in;
	*out = 0;
	if (parse_hex(text, bytes, size, NULL) < 0)
		return false;
	for (size_t i = 0; i < size; i++)
		some = some || bytes[i];
	return some;
}

/* Parses "traddr=192.0.2.1,trsvcid=4420,src_addr=…", or the bare address of pcie. */
static void topology_address(const char *directory, struct topology_controller *controller)
{
	char text[256], *save = NULL, *word;

	if (!sysfs_text(directory, "address", text, sizeof(text)))
		return;
	if (!strchr(text, '=')) {
		snprintf(controller->traddr, sizeof(controller->traddr), "%.120s", text);
		return;
	}
	for (word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (!strncmp(word, "traddr=", 7))
			snprintf(controller->traddr, sizeof(controller->traddr), "%.120s", word + 7);
		if (!strncmp(word, "trsvcid=", 8))
			snprintf(controller->trsvcid, sizeof(controller->trsvcid), "%.30s", word + 8);
	}
}

/* If there is no UUID the kernel shows the NGUID as one; its wwid for the namespace tells them apart. */
static void topology_identities(const char *directory, struct topology_namespace *namespace)
{
	char wwid[256];

	sysfs_text(directory, "wwid", wwid, sizeof(wwid));
	namespace->has_uuid = topology_bytes(directory, "uuid", namespace->uuid, sizeof(namespace->uuid));
	namespace->has_nguid = topology_bytes(directory, "nguid", namespace->nguid, sizeof(namespace->nguid));
	namespace->has_eui64 = topology_bytes(directory, "eui", namespace->eui64, sizeof(namespace->eui64));
	if (strncmp(wwid, "uuid.", 5) != 0)
		namespace->has_uuid = false;
}

static bool topology_is_block(const char *directory)
{
	return topology_number(directory, "nsid") > 0 && topology_number(directory, "size") >= 0;
}

/* ---- parts of the topology ---- */

static int topology_add_path(struct topology *t, const char *directory, const char *name, size_t namespace,
			     size_t controller, struct error *err)
{
	struct topology_path *path = topology_grow(&t->paths, &t->path_count, sizeof(*path));

	if (!path)
		return error_no_memory(err);
	path->namespace = namespace;
	path->controller = controller;
	snprintf(path->name, sizeof(path->name), "%.31s", name);
	sysfs_text(directory, "ana_state", path->ana_state, sizeof(path->ana_state));
	/* With digests, pages must stay stable under I/O. This is the only trace of them in sysfs. */
	path->data_digest = !strcmp(t->controllers[controller].transport, "tcp") &&
			    topology_number(directory, "queue/stable_writes") == 1;
	return 0;
}

static int topology_add_namespace(struct topology *t, const char *directory, const char *name, size_t subsystem,
				  struct error *err)
{
	struct topology_namespace *namespace = topology_grow(&t->namespaces, &t->namespace_count, sizeof(*namespace));
	int64_t n;

	if (!namespace)
		return error_no_memory(err);
	namespace->subsystem = subsystem;
	snprintf(namespace->name, sizeof(namespace->name), "%.31s", name);
	namespace->device = sysfs_device(directory);
	namespace->nsid = (uint32_t)topology_number(directory, "nsid");
	namespace->size = (uint64_t)topology_number(directory, "size") * SYSFS_SECTOR;
	n = topology_number(directory, "queue/logical_block_size");
	namespace->lba_size = n > 0 ? (uint32_t)n : 0;
	n = topology_number(directory, "queue/chunk_sectors");
	namespace->boundary = n > 0 ? (uint32_t)n * SYSFS_SECTOR : 0;
	n = topology_number(directory, "queue/read_ahead_kb");
	namespace->read_ahead = n < 0 ? -1 : n * 1024;
	namespace->read_only = topology_number(directory, "ro") == 1;
	topology_identities(directory, namespace);
	return 0;
}

/* Reads the first letters alone, "none" or "DHHC", so that no secret gets into this process. */
static enum topology_answer topology_secret(const char *directory, const char *name, bool *shows)
{
	char path[PATH_MAX], start[5];
	struct stat st;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path) || stat(path, &st) < 0)
		return TOPOLOGY_NO;
	if (!sysfs_text(directory, name, start, sizeof(start)))
		return TOPOLOGY_HIDDEN;
	if (!strcmp(start, "none"))
		return TOPOLOGY_NO;
	*shows = *shows || st.st_mode & 077;
	return TOPOLOGY_YES;
}

static void topology_security(const char *directory, struct topology_controller *controller)
{
	char key[32];

	controller->host_secret = topology_secret(directory, "dhchap_secret", &controller->shows_secret);
	controller->ctrl_secret = topology_secret(directory, "dhchap_ctrl_secret", &controller->shows_secret);
	/* The number of the key, once the two have shaken hands. */
	controller->has_tls = sysfs_text(directory, "tls_key", key, sizeof(key));
}

static int topology_add_controller(struct topology *t, const char *directory, const char *name, size_t subsystem,
				   struct error *err)
{
	struct topology_controller *controller = topology_grow(&t->controllers, &t->controller_count,
							       sizeof(*controller));
	int64_t n;

	if (!controller)
		return error_no_memory(err);
	controller->subsystem = subsystem;
	snprintf(controller->name, sizeof(controller->name), "%.31s", name);
	sysfs_text(directory, "transport", controller->transport, sizeof(controller->transport));
	sysfs_text(directory, "state", controller->state, sizeof(controller->state));
	sysfs_text(directory, "hostnqn", controller->hostnqn, sizeof(controller->hostnqn));
	sysfs_text(directory, "hostid", controller->hostid, sizeof(controller->hostid));
	topology_address(directory, controller);
	controller->cntlid = topology_number(directory, "cntlid");
	controller->numa_node = topology_number(directory, "numa_node");
	n = topology_number(directory, "queue_count"); /* includes the admin queue */
	controller->queues = n > 0 ? n - 1 : -1;
	n = topology_number(directory, "sqsize"); /* zero-based */
	controller->queue_size = n >= 0 ? n + 1 : -1;
	controller->reconnect_delay = topology_number(directory, "reconnect_delay");
	controller->ctrl_loss_tmo = topology_number(directory, "ctrl_loss_tmo");
	controller->fast_io_fail_tmo = topology_number(directory, "fast_io_fail_tmo");
	controller->keep_alive_tmo = topology_number(directory, "kato");
	topology_security(directory, controller);
	return 0;
}

static int topology_add_subsystem(struct topology *t, const char *directory, const char *name, struct error *err)
{
	struct topology_subsystem *subsystem = topology_grow(&t->subsystems, &t->subsystem_count, sizeof(*subsystem));
	char type[32];

	if (!subsystem)
		return error_no_memory(err);
	snprintf(subsystem->name, sizeof(subsystem->name), "%.31s", name);
	sysfs_text(directory, "subsysnqn", subsystem->nqn, sizeof(subsystem->nqn));
	sysfs_text(directory, "model", subsystem->model, sizeof(subsystem->model));
	sysfs_text(directory, "iopolicy", subsystem->iopolicy, sizeof(subsystem->iopolicy));
	sysfs_text(directory, "subsystype", type, sizeof(type));
	subsystem->is_discovery = !strcmp(type, "discovery") || !strcmp(subsystem->nqn, DISCOVERY_NQN);
	return 0;
}

/* ---- the walk ---- */

/* Where a walk is. */
struct topology_step {
	struct topology *t;
	size_t subsystem, controller;
};

static int topology_take_head(void *argument, const char *path, const char *name, struct error *err)
{
	const struct topology_step *step = argument;

	return topology_is_block(path) ? topology_add_namespace(step->t, path, name, step->subsystem, err) : 0;
}

/* Finds the shared namespace that a hidden block device belongs to; namespace_count if there is none. */
static size_t topology_head_of(const struct topology *t, const char *path, size_t subsystem)
{
	int64_t nsid = topology_number(path, "nsid");
	size_t i;

	for (i = 0; i < t->namespace_count; i++)
		if (t->namespaces[i].subsystem == subsystem && t->namespaces[i].nsid == nsid)
			break;
	return i;
}

static int topology_take_child(void *argument, const char *path, const char *name, struct error *err)
{
	const struct topology_step *step = argument;
	struct topology *t = step->t;
	size_t namespace = t->namespace_count;
	int r = 0;

	if (!topology_is_block(path))
		return 0;
	if (topology_number(path, "hidden") == 1)
		namespace = topology_head_of(t, path, step->subsystem);
	else
		r = topology_add_namespace(t, path, name, step->subsystem, err);
	if (r < 0 || namespace == t->namespace_count) /* its namespace is going away */
		return r;
	return topology_add_path(t, path, name, namespace, step->controller, err);
}

static int topology_take_controller(void *argument, const char *path, const char *name, struct error *err)
{
	const struct topology_step *step = argument;
	struct topology_step inner = { step->t, step->subsystem, step->t->controller_count };
	char transport[16];
	int r;

	if (!sysfs_text(path, "transport", transport, sizeof(transport)))
		return 0;
	r = topology_add_controller(step->t, path, name, step->subsystem, err);
	return r < 0 ? r : sysfs_each(path, topology_take_child, &inner, err);
}

static int topology_take_subsystem(void *argument, const char *path, const char *name, struct error *err)
{
	const struct topology_step *step = argument;
	struct topology_step inner = { .t = step->t, .subsystem = step->t->subsystem_count };
	char nqn[256];
	int r;

	if (!sysfs_text(path, "subsysnqn", nqn, sizeof(nqn)))
		return 0;
	r = topology_add_subsystem(step->t, path, name, err);
	if (r == 0)
		r = sysfs_each(path, topology_take_head, &inner, err);
	return r < 0 ? r : sysfs_each(path, topology_take_controller, &inner, err);
}

int topology_read(const char *root, struct topology *ret, struct error *err)
{
	auto_topology struct topology t = { 0 };
	struct topology_step step = { .t = &t };
	char path[PATH_MAX];
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s/class/nvme-subsystem", root) >= sizeof(path))
		return error_set(err, -ENAMETOOLONG, "the name '%s' is too long", root);
	r = sysfs_each(path, topology_take_subsystem, &step, err);
	if (r < 0)
		return r;
	*ret = t;
	t = (struct topology){ 0 };
	return 0;
}

void topology_free(struct topology *topology)
{
	free(topology->subsystems);
	free(topology->controllers);
	free(topology->namespaces);
	free(topology->paths);
	*topology = (struct topology){ 0 };
}

/* ---- lookups ---- */

/* DEV/BLOCK/M:N links to the device's directory. A partition's directory lies in that of its whole device. */
dev_t topology_whole(const char *root, dev_t device)
{
	char path[PATH_MAX];
	dev_t whole = 0;
	size_t length;

	device = mapping_below(root, device);
	length = (size_t)snprintf(path, sizeof(path), "%s/dev/block/%u:%u", root, major(device), minor(device));
	if (length + sizeof("/..") <= sizeof(path) && topology_number(path, "partition") > 0) {
		memcpy(path + length, "/..", sizeof("/.."));
		whole = sysfs_device(path);
	}
	return whole ? whole : device;
}

const struct topology_namespace *topology_by_device(const struct topology *topology, dev_t device)
{
	for (size_t i = 0; i < topology->namespace_count; i++)
		if (topology->namespaces[i].device == device)
			return &topology->namespaces[i];
	return NULL;
}

const struct topology_namespace *topology_below(const struct topology *topology, dev_t device)
{
	return topology_by_device(topology, mapping_below(topology_root(), device));
}

const struct topology_subsystem *topology_by_nqn(const struct topology *topology, const char *nqn)
{
	for (size_t i = 0; i < topology->subsystem_count; i++)
		if (!strcmp(topology->subsystems[i].nqn, nqn))
			return &topology->subsystems[i];
	return NULL;
}

static bool topology_is_path_of(const struct topology *topology, size_t path,
				const struct topology_namespace *namespace)
{
	return &topology->namespaces[topology->paths[path].namespace] == namespace;
}

const struct topology_controller *topology_host_of(const struct topology *topology,
						   const struct topology_namespace *namespace)
{
	for (size_t i = 0; i < topology->path_count; i++) {
		const struct topology_controller *controller = &topology->controllers[topology->paths[i].controller];

		if (topology_is_path_of(topology, i, namespace) && controller->hostid[0])
			return controller;
	}
	return NULL;
}

size_t topology_paths_of(const struct topology *topology, const struct topology_namespace *namespace, size_t *ret_live)
{
	size_t count = 0, live = 0;

	for (size_t i = 0; i < topology->path_count; i++) {
		if (!topology_is_path_of(topology, i, namespace))
			continue;
		count++;
		live += !strcmp(topology->controllers[topology->paths[i].controller].state, "live");
	}
	*ret_live = live;
	return count;
}

void topology_identity(const struct topology_namespace *namespace, char identity[TOPOLOGY_IDENTITY_SIZE])
{
	char text[UUID_TEXT_SIZE];

	identity[0] = 0;
	if (namespace->has_uuid) {
		format_uuid(namespace->uuid, text);
		snprintf(identity, TOPOLOGY_IDENTITY_SIZE, "nvme:uuid:%s", text);
	} else if (namespace->has_nguid) {
		format_hex(namespace->nguid, sizeof(namespace->nguid), text);
		snprintf(identity, TOPOLOGY_IDENTITY_SIZE, "nvme:nguid:%s", text);
	} else if (namespace->has_eui64) {
		format_hex(namespace->eui64, sizeof(namespace->eui64), text);
		snprintf(identity, TOPOLOGY_IDENTITY_SIZE, "nvme:eui64:%s", text);
	}
}
