/* SPDX-License-Identifier: MIT */
/* Finds the namespaces by the names under which the mount reports its devices. */
#include "status/fabric.h"

#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "device/locate.h"
#include "device/nvme/topology.h"

/* Returns NULL if the name is of no namespace that is connected now. */
static const struct topology_namespace *fabric_namespace(const struct topology *t, const char *name)
{
	const struct topology_namespace *found = NULL;
	struct stat st;

	if (locate_is_identity(name))
		return locate_namespace(t, name, &found, NULL) == 0 ? found : NULL;
	if (stat(name, &st) < 0 || !S_ISBLK(st.st_mode))
		return NULL;
	return topology_by_device(t, topology_whole(topology_root(), st.st_rdev));
}

static void fabric_add(const struct topology *t, const char *name, struct fabric *fabric)
{
	const struct topology_namespace *namespace = fabric_namespace(t, name);
	const struct topology_controller *controller;

	for (size_t i = 0; namespace && i < t->path_count; i++) {
		controller = &t->controllers[t->paths[i].controller];
		if (&t->namespaces[t->paths[i].namespace] != namespace ||
		    (strcmp(controller->transport, "tcp") != 0 && strcmp(controller->transport, "rdma") != 0))
			continue;
		fabric->paths++;
		fabric->authenticated += controller->host_secret == TOPOLOGY_YES;
		fabric->hidden += controller->host_secret == TOPOLOGY_HIDDEN;
		fabric->encrypted += controller->has_tls;
	}
}

int fabric_count(const struct reported *reported, struct fabric *ret, struct error *err)
{
	auto_topology struct topology topology = { 0 };
	struct fabric fabric = { 0 };
	struct reported_member member;
	int r = topology_read(topology_root(), &topology, err);

	if (r < 0)
		return r;
	if (!reported_member(reported, 0, &member))
		fabric_add(&topology, reported_text(reported, DSFS_CONTROL_VOLUME), &fabric);
	for (size_t i = 0; reported_member(reported, i, &member); i++)
		fabric_add(&topology, member.name, &fabric);
	*ret = fabric;
	return 0;
}
