/* SPDX-License-Identifier: MIT */
/* Probes io_uring for the engine and the channel, and computes the numbers of threads and slots. */
#include "serve/session/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "fuse/init.h"
#include "serve/request/content.h"
#include "serve/worker/worker.h"

#define MACHINE_RING_SWITCH "/sys/module/fuse/parameters/enable_uring"

#define SLOTS_MIN       8u
#define SLOTS_MAX       64u
#define SLOT_SIZE       (INIT_READ_MAX + READ_SCRATCH + sizeof(struct content))
#define SPARE           2u /* factor for a volume of several members: a slot may leave its memory to one of them */
/* Limit for all workers, unless it left a worker fewer than SLOTS_MIN slots or a kernel queue fewer than
 * CPUS_DEPTH_MIN. */
#define BUFFER_BUDGET   (UINT64_C(1) << 30)
#define WORKERS_MAX     1024u
#define THREADS_PER_CPU 16u /* workers that block, as each has one read in flight */
#define THREADS_MAX     256u /* workers without io_uring */
#define THREAD_SLOTS    4u   /* of a worker that blocks: one for a request, the others for commands in progress */

static unsigned machine_clamp(uint64_t n, unsigned least, unsigned most)
{
	return n < least ? least : n > most ? most : (unsigned)n;
}

static uint64_t machine_slot_size(const struct serve *serve)
{
	return SLOT_SIZE * (serve_has_places(serve) ? SPARE : 1);
}

/* Plans a worker for each CPU, and one for requests that the kernel sends by /dev/fuse in any case. */
static void machine_size_ring(struct serve *serve)
{
	struct serve_machine *machine = &serve->machine;

	serve->worker_count = machine->cpus.workers + 1;
	cpus_share(&machine->cpus, BUFFER_BUDGET / machine_slot_size(serve));
	machine->slots = SLOTS_MIN;
	machine->jobs = cpus_depth_least(&machine->cpus) - 1;
	machine->buffer_budget = (cpus_entries(&machine->cpus) + SLOTS_MIN) * machine_slot_size(serve) +
				 CHUNK_CACHE_SIZE + PAGE_CACHE_SIZE;
}

static void machine_size_dev(struct serve *serve, unsigned most)
{
	struct serve_machine *machine = &serve->machine;
	unsigned n = serve->options.workers;

	if (!n)
		n = machine->cpus.workers * (machine->blocks ? THREADS_PER_CPU : 1);
	serve->worker_count = machine_clamp(n, 1, most);
	machine->slots = THREAD_SLOTS;
	if (!machine->blocks)
		machine->slots = machine_clamp(BUFFER_BUDGET / serve->worker_count / machine_slot_size(serve),
					       SLOTS_MIN, SLOTS_MAX);
	machine->jobs = (unsigned)machine->slots - 1;
	machine->buffer_budget = serve->worker_count * machine->slots * machine_slot_size(serve) + CHUNK_CACHE_SIZE +
				 PAGE_CACHE_SIZE;
}

/* Sets the number of workers and the memory that they may use. most: limit of workers on /dev/fuse. */
static void machine_size_channel(struct serve *serve, unsigned most)
{
	if (serve->machine.ring)
		machine_size_ring(serve);
	else
		machine_size_dev(serve, most);
}

static int machine_size(struct serve *serve, struct error *err)
{
	struct serve_machine *machine = &serve->machine;
	int r = cpus_find(machine->ring ? serve->options.workers : 0, &machine->cpus, err);

	if (r < 0)
		return r;
	if (machine->ring && !machine->cpus.possible)
		return error_set(err, -EIO, "cannot determine how many queues FUSE over io_uring has");
	machine_size_channel(serve, machine->uring ? WORKERS_MAX : THREADS_MAX);
	return 0;
}

static int machine_choose_io(struct serve *serve, struct error *err)
{
	struct serve_machine *machine = &serve->machine;
	struct error why = { 0 };
	int r;

	machine->uring = false;
	if (serve->options.io == MOUNT_IO_THREADS) {
		snprintf(machine->io_reason, sizeof(machine->io_reason), "io=threads");
		return 0;
	}
	r = worker_probe_ring(serve->volume.array, false, &why);
	if (r == 0) {
		machine->uring = true;
		return 0;
	}
	if (serve->options.io == MOUNT_IO_URING && !serve->adopts) /* readers wait for a successor */
		return error_pass(err, r, &why);
	snprintf(machine->io_reason, sizeof(machine->io_reason), "%.200s", why.reason);
	log_warn("io_uring is refused, reads go through a slower pool of threads: %s", why.reason);
	return 0;
}

/* The kernel's switch for FUSE over io_uring: 'Y' or 'N'; 0: the kernel does not have it. */
static char machine_ring_switch(void)
{
	auto_close int fd = open(MACHINE_RING_SWITCH, O_RDONLY | O_CLOEXEC);
	char value = 0;

	if (fd < 0 || read(fd, &value, 1) != 1)
		return 0;
	return value;
}

static int machine_choose_channel(struct serve *serve, struct error *err)
{
	struct serve_machine *machine = &serve->machine;
	enum mount_channel wanted = serve->options.channel;
	bool must = wanted == MOUNT_CHANNEL_RING;
	char offered = machine_ring_switch();
	struct error why = { 0 };

	machine->ring = false;
	if (wanted == MOUNT_CHANNEL_DEV || (serve->keep && !must)) /* requests over the ring die with the server */
		return 0;
	if (offered == 'N' && must)
		return error_set(err, -EOPNOTSUPP,
				 "channel=ring: FUSE over io_uring is off, 'echo Y >" MACHINE_RING_SWITCH
				 "' turns it on");
	if (offered == 0 && must)
		return error_set(err, -EOPNOTSUPP,
				 "channel=ring: this kernel has no FUSE over io_uring, expected Linux 6.14 or newer");
	if (must && !machine->uring)
		return error_set(err, -EOPNOTSUPP, "channel=ring needs io_uring: %s", machine->io_reason);
	if (offered != 'Y' || !machine->uring)
		return 0;
	machine->ring = worker_probe_ring(serve->volume.array, true, &why) == 0;
	if (!machine->ring && must)
		return error_set(err, why.code, "channel=ring: %s", why.reason);
	return 0;
}

int machine_lose_ring(struct serve *serve, struct error *err)
{
	if (serve->options.channel == MOUNT_CHANNEL_RING)
		return error_set(err, -EOPNOTSUPP, "channel=ring: the kernel did not offer FUSE over io_uring");
	serve->machine.ring = false;
	machine_size_channel(serve, serve->worker_count);
	return 0;
}

int machine_choose(struct serve *serve, struct error *err)
{
	int r = machine_choose_io(serve, err);

	serve->machine.blocks = !serve->machine.uring && !serve_has_places(serve);
	if (r == 0)
		r = machine_choose_channel(serve, err);
	return r < 0 ? r : machine_size(serve, err);
}
