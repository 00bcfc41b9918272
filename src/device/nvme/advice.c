/* SPDX-License-Identifier: MIT */
/* Has one function for each warning or note. */
#include "device/nvme/advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/format.h"

#define ADVICE_BLOCK   4096u        /* alignment of files */
#define ADVICE_CHUNK   (128u << 10) /* usual chunk size */
#define ADVICE_WRITE   (4u << 20)   /* size of a publish's writes */
#define ADVICE_WAIT    300          /* seconds that readers can be expected to wait for a path */

struct advice_list {
	const struct advice_setup *setup;
	struct advice *items;
	size_t count;
};

static void advice_add(struct advice_list *list, bool is_warning, const char *kind, const char *fmt, ...)
	printf_like(4, 5);

static void advice_add(struct advice_list *list, bool is_warning, const char *kind, const char *fmt, ...)
{
	struct advice *item = &list->items[list->count];
	va_list ap;

	if (list->count == ADVICE_MAX)
		return;
	list->count++;
	item->is_warning = is_warning;
	item->kind = kind;
	va_start(ap, fmt);
	vsnprintf(item->text, sizeof(item->text), fmt, ap);
	va_end(ap);
}

/* Returns the namespace's next path at or after *i and advances *i past it; NULL at the end. */
static const struct topology_path *advice_path(const struct advice_setup *setup, size_t *i)
{
	const struct topology *t = setup->topology;

	for (; *i < t->path_count; (*i)++)
		if (&t->namespaces[t->paths[*i].namespace] == setup->namespace)
			return &t->paths[(*i)++];
	return NULL;
}

static const struct topology_controller *advice_controller(const struct advice_setup *setup,
							   const struct topology_path *path)
{
	return &setup->topology->controllers[path->controller];
}

static bool advice_is_fabric(const struct advice_setup *setup)
{
	size_t i = 0;
	const struct topology_path *path = advice_path(setup, &i);

	return path && strcmp(advice_controller(setup, path)->transport, "pcie") != 0;
}

static void advice_protection(struct advice_list *list)
{
	const struct advice_setup *setup = list->setup;
	bool is_shared = setup->facts ? setup->facts->is_shared : advice_is_fabric(setup);

	if (setup->namespace->read_only || (setup->facts && setup->facts->is_protected)) {
		advice_add(list, false, "protected", "write-protected against changes by accident");
		return;
	}
	if (setup->holder && setup->holder->hold != NVME_HOLD_NONE) {
		advice_add(list, false, "reserved", "reserved: only the host that holds the reservation can write");
		return;
	}
	if (is_shared)
		advice_add(list, true, "writable",
			   "shared, writable%s: any connected host can overwrite it; "
			   "'mkdatasetfs --write-protect' protects it between publishes",
			   setup->holder ? " and not reserved" : "");
	if (is_shared && setup->facts && !setup->facts->can_reserve)
		advice_add(list, true, "no-reservations",
			   "the target has no reservations: nothing keeps two hosts from publishing at once");
}

static void advice_paths(struct advice_list *list)
{
	size_t live, count = topology_paths_of(list->setup->topology, list->setup->namespace, &live);

	if (!advice_is_fabric(list->setup))
		return;
	if (live < count)
		advice_add(list, true, "paths", "%zu of %zu paths live", live, count);
	if (count == 1)
		advice_add(list, true, "one-path", "only one path: readers wait while it is down");
}

static void advice_digests(struct advice_list *list)
{
	const struct topology_path *path;
	size_t without = 0;

	for (size_t i = 0; (path = advice_path(list->setup, &i));)
		without += !strcmp(advice_controller(list->setup, path)->transport, "tcp") && !path->data_digest;
	if (without)
		advice_add(list, true, "digests",
			   "%zu TCP %s without data digest: a chunk that is damaged on the way fails its checksum "
			   "and is read again, instead of being sent again",
			   without, without == 1 ? "path" : "paths");
}

static void advice_secrets(struct advice_list *list)
{
	const struct topology_controller *controller;
	const struct topology_path *path;

	for (size_t i = 0; (path = advice_path(list->setup, &i));) {
		controller = advice_controller(list->setup, path);
		if (controller->shows_secret)
			advice_add(list, true, "secret",
				   "every user of this host can read the secret of '%s': "
				   "'chmod 600 /sys/class/nvme/%s/dhchap_*secret'",
				   controller->name, controller->name);
	}
}

static void advice_clear_text(struct advice_list *list)
{
	const struct topology_controller *controller;
	const struct topology_path *path;
	size_t clear = 0;

	for (size_t i = 0; (path = advice_path(list->setup, &i));) {
		controller = advice_controller(list->setup, path);
		clear += !controller->has_tls &&
			 (!strcmp(controller->transport, "tcp") || !strcmp(controller->transport, "rdma"));
	}
	if (clear)
		advice_add(list, false, "clear-text",
			   "%zu %s without TLS: whoever is on the network between can read and change what %s", clear,
			   clear == 1 ? "path" : "paths", clear == 1 ? "it carries" : "they carry");
}

/* Counts the live paths whose NUMA node this process may run on, and the others. */
static void advice_numa(struct advice_list *list)
{
	const struct topology_controller *controller;
	const struct topology_path *path;
	size_t near = 0, far = 0;

	for (size_t i = 0; (path = advice_path(list->setup, &i));) {
		controller = advice_controller(list->setup, path);
		if (strcmp(controller->state, "live") != 0 || controller->numa_node < 0 ||
		    controller->numa_node >= (int64_t)ADVICE_NODES)
			continue;
		if (list->setup->nodes >> controller->numa_node & 1)
			near++;
		else
			far++;
	}
	if (list->setup->nodes && far && !near)
		advice_add(list, true, "numa", "no live path is on a NUMA node whose CPUs may be used");
}

static void advice_blocks(struct advice_list *list)
{
	uint32_t lba = list->setup->namespace->lba_size;

	if (lba == 512)
		advice_add(list, true, "lba-512",
			   "logical blocks of 512 bytes: this works, but files are aligned to 4096, and drives are "
			   "usually fastest with that");
	else if (lba != ADVICE_BLOCK)
		advice_add(list, true, "lba", "logical blocks of %" PRIu32 " bytes: datasetfs needs 512 or 4096", lba);
}

static void advice_alignment(struct advice_list *list)
{
	const struct nvme_facts *facts = list->setup->facts;
	uint32_t boundary = facts && facts->boundary ? facts->boundary : list->setup->namespace->boundary;
	uint32_t granule = facts ? facts->granule : 0;

	if (boundary && boundary % ADVICE_BLOCK)
		advice_add(list, true, "boundary", "its I/O boundary of %" PRIu32 " bytes is not a multiple of 4096: "
			   "reads of single blocks may be split", boundary);
	else if (boundary && boundary < ADVICE_CHUNK)
		advice_add(list, true, "boundary", "its I/O boundary of %" PRIu32 " bytes is smaller than a chunk: "
			   "reads of larger files are split", boundary);
	if (granule > ADVICE_WRITE || (granule && ADVICE_WRITE % granule))
		advice_add(list, true, "granule", "it prefers writes in multiples of %" PRIu32 " bytes, but a publish "
			   "writes 4 MiB at multiples of 4 MiB", granule);
	if (list->setup->namespace->lba_size <= ADVICE_BLOCK)
		advice_add(list, false, "alignment",
			   "alignment: segments at multiples of 16 MiB, files of 4096 bytes or more at multiples of "
			   "4096, writes of a publish at multiples of 4 MiB");
}

static void advice_depth(struct advice_list *list)
{
	uint64_t wanted = (uint64_t)list->setup->cpus * ADVICE_DEPTH, depth = 0;
	const struct topology_controller *controller;
	const struct topology_path *path;

	for (size_t i = 0; (path = advice_path(list->setup, &i));) {
		controller = advice_controller(list->setup, path);
		if (controller->queues > 0 && controller->queue_size > 0 && !strcmp(controller->state, "live"))
			depth += (uint64_t)controller->queues * (uint64_t)controller->queue_size;
	}
	if (depth)
		advice_add(list, depth < wanted, "depth",
			   "the queues of its live paths hold %" PRIu64 " requests, datasetfs keeps up to %" PRIu64
			   " in flight (%u on each of %u CPUs)",
			   depth, wanted, ADVICE_DEPTH, list->setup->cpus);
}

static void advice_timeouts(struct advice_list *list)
{
	const struct topology_controller *controller;
	const struct topology_path *path;

	for (size_t i = 0; (path = advice_path(list->setup, &i));) {
		controller = advice_controller(list->setup, path);
		if (controller->ctrl_loss_tmo >= 0 && controller->ctrl_loss_tmo < ADVICE_WAIT)
			advice_add(list, true, "timeouts",
				   "'%s' gives up after %" PRId64 " s (ctrl_loss_tmo): the device goes away before "
				   "readers give up",
				   controller->name, controller->ctrl_loss_tmo);
		else if (controller->fast_io_fail_tmo >= 0 && controller->fast_io_fail_tmo < ADVICE_WAIT)
			advice_add(list, true, "timeouts",
				   "'%s' fails reads after %" PRId64 " s without a path (fast_io_fail_tmo)",
				   controller->name, controller->fast_io_fail_tmo);
	}
}

static void advice_read_ahead(struct advice_list *list)
{
	char size[SIZE_TEXT_SIZE];

	if (list->setup->namespace->read_ahead >= 0)
		advice_add(list, false, "read-ahead",
			   "read-ahead of the device (%s) has no effect: datasetfs bypasses the page cache",
			   format_size((uint64_t)list->setup->namespace->read_ahead, size));
}

size_t advice_give(const struct advice_setup *setup, struct advice ret[ADVICE_MAX])
{
	struct advice_list list = { setup, ret, 0 };

	advice_protection(&list);
	advice_paths(&list);
	advice_timeouts(&list);
	advice_digests(&list);
	advice_secrets(&list);
	advice_clear_text(&list);
	advice_numa(&list);
	advice_depth(&list);
	advice_blocks(&list);
	advice_alignment(&list);
	advice_read_ahead(&list);
	return list.count;
}
