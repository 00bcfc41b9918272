/* SPDX-License-Identifier: MIT */
/* Reads the host's identity from the files in /etc/nvme. */
#include "device/nvme/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text/parse.h"
#include "device/nvme/sysfs.h"

#define HOST_UUID_NQN "nqn.2014-08.org.nvmexpress:uuid:"

int host_check(const struct host *host, struct error *err)
{
	uint8_t id[16];

	if (strncmp(host->nqn, "nqn.", 4) != 0)
		return error_set(err, -EINVAL, "host NQN '%s' does not begin with 'nqn.'", host->nqn);
	if (strpbrk(host->nqn, ", \t"))
		return error_set(err, -EINVAL, "host NQN '%s' has a comma or a blank", host->nqn);
	if (parse_uuid(host->id, id, err) < 0)
		return error_wrap(err, -EINVAL, "host id");
	return 0;
}

int host_read(const char *folder, struct host *ret, struct error *err)
{
	struct host host = *ret;
	int r;

	if (!host.nqn[0] && !sysfs_text(folder, "hostnqn", host.nqn, sizeof(host.nqn)))
		return error_set(err, -ENOENT,
				 "this host has no NQN: 'mkdir -p %s; echo " HOST_UUID_NQN
				 "$(cat /proc/sys/kernel/random/uuid) >%s/hostnqn' creates one",
				 folder, folder);
	if (!host.id[0] && !sysfs_text(folder, "hostid", host.id, sizeof(host.id)) &&
	    !strncmp(host.nqn, HOST_UUID_NQN, strlen(HOST_UUID_NQN)))
		snprintf(host.id, sizeof(host.id), "%.36s", host.nqn + strlen(HOST_UUID_NQN));
	if (!host.id[0])
		return error_set(err, -ENOENT,
				 "this host has no host ID, under which targets keep reservations: "
				 "'cat /proc/sys/kernel/random/uuid >%s/hostid' creates one",
				 folder);
	r = host_check(&host, err);
	if (r == 0)
		*ret = host;
	return r;
}
