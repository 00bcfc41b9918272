/* SPDX-License-Identifier: MIT */
/* Takes, checks and releases the reservation of a publisher. */
#include "device/nvme/fence.h"

#include <errno.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/text/format.h"
#include "base/text/parse.h"
#include "device/nvme/devnode.h"
#include "device/nvme/mapping.h"
#include "device/nvme/nvme.h"
#include "device/nvme/topology.h"

#define FENCE_OTHER_DEVICE "it is no NVMe namespace on a fabric, which is no matter where no other host can reach it"

/* Derives one of this host's two reservation keys, which every later publisher on it can derive as well. The second
 * key means that the reservation is kept. Keys are never 0 and unlikely to collide with another program's. */
static uint64_t fence_key(const uint8_t host[16], bool kept)
{
	uint64_t halves[2];

	memcpy(halves, host, sizeof(halves));
	return ((halves[0] ^ halves[1] ^ UINT64_C(0x6473667300000000)) & ~UINT64_C(3)) | (kept ? 3 : 1);
}

static uint64_t fence_own_key(const struct fence *fence)
{
	return fence_key(fence->host, fence->kept);
}

/* Finds the namespace of a device and the host that we are to it. NULL: it is not on a fabric. */
static const struct topology_namespace *fence_find(const struct topology *t, dev_t device, struct fence *fence)
{
	dev_t whole = topology_whole(topology_root(), device);
	const struct topology_namespace *namespace = topology_by_device(t, whole);
	const struct topology_controller *controller = namespace ? topology_host_of(t, namespace) : NULL;

	if (!controller || parse_uuid(controller->hostid, fence->host, NULL) < 0)
		return NULL;
	fence->nsid = namespace->nsid;
	fence->is_partition = whole != mapping_below(topology_root(), device);
	return namespace;
}

/* True for a loop device, a RAM disk or a PCIe drive, which no other host can reach. */
static bool fence_is_local(const struct topology *t, dev_t device)
{
	dev_t whole = topology_whole(topology_root(), device);
	const struct topology_namespace *namespace = topology_by_device(t, whole);
	bool local = namespace || major(whole) == LOOP_MAJOR || major(whole) == RAMDISK_MAJOR;

	for (size_t i = 0; namespace && i < t->path_count; i++)
		if (&t->namespaces[t->paths[i].namespace] == namespace)
			local = local && !strcmp(t->controllers[t->paths[i].controller].transport, "pcie");
	return local;
}

static bool fence_is_ours(const struct fence *fence, const struct nvme_holder *holder)
{
	return holder->hold == NVME_HOLD_WRITE_EXCLUSIVE && !memcmp(holder->host, fence->host, sizeof(fence->host));
}

static int fence_refuse(const struct nvme_holder *holder, struct error *err)
{
	char host[UUID_TEXT_SIZE];

	format_uuid(holder->host, host);
	return error_set(err, -EBUSY,
			 "host %s has it reserved; if no publisher runs there any more, 'mkdatasetfs --preempt' takes "
			 "the reservation away", host);
}

/* Explains in notice why there is no fence, which is not a failure. */
static int fence_do_without(char notice[FENCE_NOTICE_SIZE], const char *why)
{
	snprintf(notice, FENCE_NOTICE_SIZE, "nothing keeps other hosts from publishing at the same time: %.240s", why);
	return 0;
}

static void fence_tell(const struct fence *fence, const struct nvme_holder *holder, char notice[FENCE_NOTICE_SIZE])
{
	char host[UUID_TEXT_SIZE];

	format_uuid(holder->host, host);
	if (fence_is_ours(fence, holder) && !fence->kept)
		snprintf(notice, FENCE_NOTICE_SIZE, "took over the reservation that a publisher of this host left");
	else if (holder->hold != NVME_HOLD_NONE && !fence_is_ours(fence, holder))
		snprintf(notice, FENCE_NOTICE_SIZE,
			 "took the reservation away from host %s and keeps it; when no publisher runs there any more, "
			 "'datasetfsctl nvme release' gives it up",
			 host);
	else if (fence->is_partition)
		snprintf(notice, FENCE_NOTICE_SIZE,
			 "meanwhile no other host can write to the other partitions of the namespace either");
}

/* Registers this host's key. A publisher that was killed may have left a registration under either key. */
static int fence_register(const struct fence *fence, struct error *err)
{
	struct error why = { 0 };
	int r = nvme_key_register(fence->fd, fence->nsid, fence_own_key(fence), &why);

	if (r == -EBUSY)
		r = nvme_key_replace(fence->fd, fence->nsid, fence_key(fence->host, !fence->kept), fence_own_key(fence),
				     &why);
	if (r == -EBUSY)
		return error_set(err, r,
				 "another program on this host is registered with a reservation key of its own");
	return r < 0 ? error_pass(err, r, &why) : 0;
}

/* Another host may have reserved the namespace since seen was read. */
static int fence_reserve(const struct fence *fence, const struct nvme_holder *seen, struct error *err)
{
	bool takes = seen->hold != NVME_HOLD_NONE && !fence_is_ours(fence, seen);
	struct nvme_holder holder;
	int r;

	r = nvme_reserve(fence->fd, fence->nsid, fence_own_key(fence), takes ? seen->key : 0, err);
	if (r == 0)
		return 0;
	if (r == -EBUSY && nvme_holder_read(fence->fd, fence->nsid, &holder, NULL) == 0 &&
	    holder.hold != NVME_HOLD_NONE)
		r = fence_refuse(&holder, err);
	(void)!nvme_key_remove(fence->fd, fence->nsid, fence_own_key(fence), NULL);
	return r;
}

static int fence_take(struct fence *fence, bool preempt, char notice[FENCE_NOTICE_SIZE], struct error *err)
{
	struct nvme_holder holder;
	int r;

	r = nvme_holder_read(fence->fd, fence->nsid, &holder, err);
	if (r < 0)
		return r;
	if (holder.hold != NVME_HOLD_NONE && !fence_is_ours(fence, &holder) && !preempt)
		return fence_refuse(&holder, err);
	fence->kept = holder.hold != NVME_HOLD_NONE &&
		      (!fence_is_ours(fence, &holder) || holder.key == fence_key(fence->host, true));
	r = fence_register(fence, err);
	if (r == 0)
		r = fence_reserve(fence, &holder, err);
	if (r < 0)
		return r;
	fence->raised = true;
	fence_tell(fence, &holder, notice);
	return 0;
}

/* Raises a fence that can be. */
static int fence_ask(struct fence *fence, bool preempt, char notice[FENCE_NOTICE_SIZE], struct error *err)
{
	struct nvme_facts facts;
	struct error why = { 0 };

	if (nvme_facts_read(fence->fd, fence->nsid, &facts, &why) < 0)
		return fence_do_without(notice, why.reason);
	if (!facts.can_reserve)
		return fence_do_without(notice, "the target has no reservations");
	return fence_take(fence, preempt, notice, err);
}

int fence_raise(int fd, bool preempt, struct fence *ret, char notice[FENCE_NOTICE_SIZE], struct error *err)
{
	auto_topology struct topology topology = { 0 };
	const struct topology_namespace *namespace;
	struct fence fence = { .fd = fd };
	auto_close int below = -1;
	struct error why = { 0 };
	struct stat st;
	int r;

	notice[0] = 0;
	*ret = (struct fence){ 0 };
	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	r = topology_read(topology_root(), &topology, err);
	if (r < 0 || !S_ISBLK(st.st_mode))
		return r;
	namespace = fence_find(&topology, st.st_rdev, &fence);
	if (!namespace)
		return fence_is_local(&topology, st.st_rdev) ? 0 : fence_do_without(notice, FENCE_OTHER_DEVICE);
	if (devnode_open_below(namespace, st.st_rdev, &below, &why) < 0)
		return fence_do_without(notice, why.reason);
	fence.fd = below < 0 ? fd : below;
	r = fence_ask(&fence, preempt, notice, err);
	if (fence.raised) {
		fence.below = take_fd(&below);
		*ret = fence;
	}
	return r;
}

int fence_check(const struct fence *fence, struct error *err)
{
	struct nvme_holder holder;
	int r;

	if (!fence->raised)
		return 0;
	r = nvme_holder_read(fence->fd, fence->nsid, &holder, err);
	if (r == 0 && !fence_is_ours(fence, &holder))
		r = error_set(err, -EBUSY, "the reservation is gone: another host took it and may have published, or "
			      "the target was restarted");
	return r;
}

static int fence_give_up(const struct fence *fence, struct error *err)
{
	int r = nvme_release(fence->fd, fence->nsid, fence_own_key(fence), err);

	return r < 0 ? r : nvme_key_remove(fence->fd, fence->nsid, fence_own_key(fence), err);
}

int fence_lower(struct fence *fence, struct error *err)
{
	int r;

	if (!fence->raised)
		return 0;
	fence->raised = false;
	r = fence->kept ? 0 : fence_give_up(fence, err);
	close_fd(&fence->below);
	return r;
}

static int fence_release(struct fence *fence, bool *ret_had, struct error *err)
{
	struct nvme_holder holder = { 0 };
	struct nvme_facts facts;
	int r = nvme_facts_read(fence->fd, fence->nsid, &facts, err);

	if (r == 0 && facts.can_reserve)
		r = nvme_holder_read(fence->fd, fence->nsid, &holder, err);
	if (r < 0)
		return r;
	*ret_had = holder.hold != NVME_HOLD_NONE;
	if (!*ret_had)
		return 0;
	if (!fence_is_ours(fence, &holder))
		return fence_refuse(&holder, err);
	fence->kept = holder.key == fence_key(fence->host, true);
	return fence_give_up(fence, err);
}

int fence_drop(int fd, bool *ret_had, struct error *err)
{
	auto_topology struct topology topology = { 0 };
	const struct topology_namespace *namespace = NULL;
	struct fence fence = { .fd = fd };
	auto_close int below = -1;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "fstat");
	r = topology_read(topology_root(), &topology, err);
	if (r == 0)
		namespace = fence_find(&topology, st.st_rdev, &fence);
	if (r == 0 && !namespace)
		r = error_set(err, -ENODEV, "it is not a namespace on a fabric");
	if (r == 0)
		r = devnode_open_below(namespace, st.st_rdev, &below, err);
	fence.fd = below < 0 ? fd : below;
	return r < 0 ? r : fence_release(&fence, ret_had, err);
}
