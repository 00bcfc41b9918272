/* SPDX-License-Identifier: MIT */
/* Adds up the threads' own counters whenever a file is looked up. */
#include "serve/dotdir/series.h"

#include "serve/cache/cached_chunks.h"
#include "serve/cache/warmer.h"
#include "serve/clients/clients.h"
#include "serve/damage.h"
#include "serve/health/watchdog.h"
#include "serve/readahead/ahead.h"
#include "serve/readahead/announced.h"
#include "serve/worker/counters.h"
#include "serve/worker/worker.h"
#include "supervisor/keep.h"

/* ---- counters of threads ---- */

#define SERIES_OTHERS 4u /* threads with counters beside the workers */

static uint64_t series_read(const void *counters, size_t offset)
{
	const void *counter = (const char *)counters + offset;

	return atomic_load_explicit((const counter64 *)counter, memory_order_relaxed);
}

/* A counter of the thread that reads ahead of walkers. */
static uint64_t series_ahead(const struct serve *serve, size_t offset)
{
	return serve->ahead ? series_read(fetcher_counters(ahead_fetcher(serve->ahead)), offset) : 0;
}

/* A counter of the thread that reads announced files. */
static uint64_t series_announced(const struct serve *serve, size_t offset)
{
	return serve->announced ? series_read(fetcher_counters(announced_fetcher(serve->announced)), offset) : 0;
}

/* A counter of the thread that warms the cache. */
static uint64_t series_warm(const struct serve *serve, size_t offset)
{
	return serve->warmer ? series_read(warmer_counters(serve->warmer), offset) : 0;
}

/* The counter of thread i; 0 if there is no such thread. */
static uint64_t series_of(const struct serve *serve, unsigned i, size_t offset)
{
	switch (i) {
	case 0:
		return series_read(watchdog_counters(serve->watchdog), offset);
	case 1:
		return series_ahead(serve, offset);
	case 2:
		return series_announced(serve, offset);
	case 3:
		return series_warm(serve, offset);
	default:
		return series_read(&serve->workers[i - SERIES_OTHERS]->counters, offset);
	}
}

uint64_t series_sum(const struct serve *serve, size_t offset)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < SERIES_OTHERS + serve->worker_count; i++)
		sum += series_of(serve, i, offset);
	return sum;
}

static uint64_t series_latest(const struct serve *serve, size_t offset, uint64_t latest)
{
	for (unsigned i = 0; i < SERIES_OTHERS + serve->worker_count; i++)
		if (series_of(serve, i, offset) > latest)
			latest = series_of(serve, i, offset);
	return latest;
}

/* ---- other numbers ---- */

uint64_t series_window_reads(const struct serve *serve, enum window_class class)
{
	size_t offset = offsetof(struct counters, read.device_reads);
	uint64_t ahead = series_ahead(serve, offset) + series_announced(serve, offset);

	switch (class) {
	case WINDOW_AHEAD:
		return ahead;
	case WINDOW_BACKGROUND:
		return series_warm(serve, offset);
	default:
		return series_sum(serve, offset) - ahead - series_warm(serve, offset);
	}
}

double series_window(const struct serve *serve, enum window_class class)
{
	double size = serve->volume.window ? atomic_load(&serve->volume.window->shares[class].size) : WINDOW_MOST;

	return size < WINDOW_MOST ? size : 0;
}

static uint64_t series_history(const struct serve *serve, size_t offset)
{
	return series_read(&serve->history, offset);
}

static uint64_t series_clients(const struct serve *serve, size_t offset)
{
	return series_read(clients_counters(serve->clients), offset);
}

/* Reads the ended requests first, so that the difference cannot become negative. */
static uint64_t series_in_flight(const struct serve *serve, size_t offset)
{
	uint64_t ended = series_sum(serve, offsetof(struct counters, ended));

	(void)offset;
	return series_sum(serve, offsetof(struct counters, begun)) - ended;
}

static uint64_t series_last_failure(const struct serve *serve, size_t offset)
{
	return series_latest(serve, offset, series_clients(serve, offsetof(struct clients_counters, failed_at)));
}

static uint64_t series_last_error(const struct serve *serve, size_t offset)
{
	return series_latest(serve, offset, series_clients(serve, offsetof(struct clients_counters, error_at)));
}

static uint64_t series_stalled_since(const struct serve *serve, size_t offset)
{
	(void)offset;
	return watchdog_stalls(serve->watchdog).since;
}

static uint64_t series_stalls(const struct serve *serve, size_t offset)
{
	(void)offset;
	return watchdog_stalls(serve->watchdog).count;
}

static uint64_t series_damaged(const struct serve *serve, size_t offset)
{
	(void)offset;
	return damage_count(serve->damage);
}

static uint64_t series_crypt(const struct serve *serve, size_t offset)
{
	(void)offset;
	return serve_count_crypt(serve);
}

static uint64_t series_hedges(const struct serve *serve, size_t offset)
{
	return serve->volume.window ? series_read(serve->volume.window, offset) : 0;
}

static uint64_t series_local(const struct serve *serve, size_t offset)
{
	const struct store_state state = cached_chunks_state(serve);

	return *(const uint64_t *)((const char *)&state + offset);
}

static uint64_t series_local_errors(const struct serve *serve, size_t offset)
{
	return series_sum(serve, offset) + cached_chunks_state(serve).errors;
}

static uint64_t series_restarts(const struct serve *serve, size_t offset)
{
	(void)offset;
	return keep_restarts(serve->keep);
}

/* ---- the table ---- */

#define SERIES_HISTORY(FIELD)   series_history, offsetof(struct serve_history, FIELD)
#define SERIES_SUM(FIELD)       series_sum, offsetof(struct counters, FIELD)
#define SERIES_AHEAD(FIELD)     series_ahead, offsetof(struct counters, FIELD)
#define SERIES_ANNOUNCED(FIELD) series_announced, offsetof(struct counters, FIELD)
#define SERIES_LOCAL(FIELD)     series_local, offsetof(struct store_state, FIELD)
#define SERIES_CLIENTS(FIELD)   series_clients, offsetof(struct clients_counters, FIELD)
#define SERIES_REPORTED(COUNT)                                                                                       \
	series_clients, offsetof(struct clients_counters, reported) + CLIENT_##COUNT * sizeof(counter64)

const struct series series_list[] = {
	{ DSFS_CONTROL_RESTARTS, "server_restarts_total", "counter", "Servers that died and were replaced.",
	  series_restarts, 0 },
	{ DSFS_CONTROL_SWITCHES, "switches_total", "counter", "Switches to another version.",
	  SERIES_HISTORY(switches) },
	{ DSFS_CONTROL_LOADS, "version_loads_total", "counter", "Versions loaded, failed attempts included.",
	  SERIES_HISTORY(loads) },
	{ DSFS_CONTROL_INDEX_READ, "index_read_bytes_total", "counter",
	  "Bytes of indexes that were loaded from the volume.", SERIES_HISTORY(index_read) },
	{ DSFS_CONTROL_INDEX_COPIED, "index_copy_bytes_total", "counter",
	  "Bytes of indexes that were loaded from copies in the folder of cache=.", SERIES_HISTORY(index_copied) },
	{ DSFS_CONTROL_INDEX_SHARED, "index_shared_bytes_total", "counter",
	  "Bytes of indexes shared with other mounts, which memory holds once.",
	  SERIES_HISTORY(index_shared) },
	{ DSFS_CONTROL_OUTDATED_UNTIL, "version_outdated_end_time_seconds", "gauge",
	  "When the mount last left a version that was not on the volume any more, in seconds since 1970; 0: it "
	  "never did.",
	  SERIES_HISTORY(outdated_until) },
	{ DSFS_CONTROL_IN_FLIGHT, "requests_in_flight", "gauge",
	  "Requests that are not answered, or whose memory the device still has.", series_in_flight, 0 },
	{ DSFS_CONTROL_ERRORS, "request_errors_total", "counter",
	  "Replies with an error that programs do not usually cause.", SERIES_SUM(errors) },
	{ DSFS_CONTROL_INTERRUPTED, "interrupted_reads_total", "counter",
	  "Reads answered early because their process was killed.", SERIES_SUM(interrupted) },
	{ DSFS_CONTROL_FILES_SERVED, "served_files_total", "counter",
	  "Beginnings of files that went to the kernel, by a READ or ahead into the page cache.",
	  SERIES_SUM(files_served) },
	{ DSFS_CONTROL_BYTES_SERVED, "served_bytes_total", "counter", "File contents returned to the kernel.",
	  SERIES_SUM(bytes_served) },
	{ DSFS_CONTROL_BYTES_STORED, "stored_bytes_total", "counter",
	  "File contents put into the page cache ahead, for which no READ comes.", SERIES_SUM(bytes_stored) },
	{ DSFS_CONTROL_READ_FAILURES, "read_failures_total", "counter",
	  "Reads answered with EIO, also at the deadline.", SERIES_SUM(read.failures) },
	{ DSFS_CONTROL_LAST_FAILURE, "last_read_failure_time_seconds", "gauge",
	  "When a read last failed for good, also past the mount, in seconds since 1970; 0: none did.",
	  series_last_failure, offsetof(struct counters, read.failed_at) },
	{ DSFS_CONTROL_CHECKSUM_FAILURE, "checksum_failures_total", "counter",
	  "Content that did not match its checksum, also if a second read was right.",
	  SERIES_SUM(read.checksum_failures) },
	{ DSFS_CONTROL_LAST_ERROR, "last_error_time_seconds", "gauge",
	  "When a read of the volume last failed or a checksum did not match, also past the mount, in seconds since "
	  "1970; 0: never.",
	  series_last_error, offsetof(struct counters, read.error_at) },
	{ DSFS_CONTROL_DEVICE_READS, "device_reads_total", "counter", "Reads of the volume.",
	  SERIES_SUM(read.device_reads) },
	{ DSFS_CONTROL_DEVICE_BYTES, "device_read_bytes_total", "counter", "Bytes read from the volume.",
	  SERIES_SUM(read.device_bytes) },
	{ DSFS_CONTROL_DEVICE_ERRORS, "device_read_errors_total", "counter",
	  "Reads of the volume that failed or came back short, retries included.", SERIES_SUM(read.device_errors) },
	{ DSFS_CONTROL_RETRIES, "device_read_retries_total", "counter", "Reads of the volume that were repeated.",
	  SERIES_SUM(read.retries) },
	{ DSFS_CONTROL_HELD_READS, "window_held_reads_total", "counter",
	  "Reads of the volume that waited until others had ended, or for max_iops= and max_bandwidth=.",
	  SERIES_SUM(read.held) },
	{ DSFS_CONTROL_HEDGES, "hedges_sent_total", "counter",
	  "Reads of the volume that were late and made again at another member.", series_hedges,
	  offsetof(struct window, hedges) },
	{ DSFS_CONTROL_HEDGES_WON, "hedges_won_total", "counter",
	  "Reads made again at another member that came before the late ones.", series_hedges,
	  offsetof(struct window, wins) },
	{ DSFS_CONTROL_CACHE_HITS, "chunk_cache_hits_total", "counter",
	  "Chunks found in the cache of verified chunks.", SERIES_SUM(read.cache_hits) },
	{ DSFS_CONTROL_LOCAL_HITS, "local_cache_hits_total", "counter",
	  "Reads that the cache on this machine answered.", SERIES_SUM(read.local_hits) },
	{ DSFS_CONTROL_LOCAL_BYTES, "local_cache_read_bytes_total", "counter",
	  "Bytes read from the cache on this machine.", SERIES_SUM(read.local_bytes) },
	{ DSFS_CONTROL_LOCAL_FILLS, "local_cache_fills_total", "counter",
	  "Chunks written to the cache on this machine.", SERIES_LOCAL(fills) },
	{ DSFS_CONTROL_LOCAL_DROPPED, "local_cache_dropped_total", "counter",
	  "Chunks not written to the cache on this machine, as it was full or too slow.", SERIES_LOCAL(dropped) },
	{ DSFS_CONTROL_LOCAL_ERRORS, "local_cache_errors_total", "counter",
	  "Reads of the cache on this machine that failed or returned wrong data, and failed writes.",
	  series_local_errors, offsetof(struct counters, read.local_errors) },
	{ DSFS_CONTROL_LOCAL_USED, "local_cache_used_bytes", "gauge",
	  "Bytes of the cache on this machine in use.", SERIES_LOCAL(used) },
	{ DSFS_CONTROL_LOCAL_SIZE, "local_cache_size_bytes", "gauge",
	  "Bytes that the cache on this machine may take; 0: there is none.", SERIES_LOCAL(size) },
	{ DSFS_CONTROL_SUMS_READS, "block_checksum_reads_total", "counter",
	  "Pages of block checksums read; device_reads_total counts them too.", SERIES_SUM(read.block_sums_reads) },
	{ DSFS_CONTROL_SUMS_HITS, "block_checksum_hits_total", "counter",
	  "Pages of block checksums found in their cache.", SERIES_SUM(read.block_sums_hits) },
	{ DSFS_CONTROL_SUMS_FALLBACKS, "block_checksum_fallbacks_total", "counter",
	  "Reads that fell back from block checksums to whole chunks.", SERIES_SUM(read.block_sums_failures) },
	{ DSFS_CONTROL_AHEAD_FILES, "readahead_files_total", "counter", "Files read ahead of readers.",
	  SERIES_AHEAD(ahead_files) },
	{ DSFS_CONTROL_AHEAD_BYTES, "readahead_bytes_total", "counter", "Contents of files read ahead.",
	  SERIES_AHEAD(ahead_bytes) },
	{ DSFS_CONTROL_AHEAD_READS, "readahead_device_reads_total", "counter",
	  "Reads of the volume ahead of readers; device_reads_total counts them too.",
	  SERIES_AHEAD(read.device_reads) },
	{ DSFS_CONTROL_AHEAD_STORED, "readahead_stored_files_total", "counter",
	  "Files read ahead that were put into the page cache.", SERIES_AHEAD(ahead_stored) },
	{ DSFS_CONTROL_AHEAD_SERVED, "readahead_served_reads_total", "counter",
	  "Reads answered from files that were read ahead.", SERIES_SUM(ahead_served) },
	{ DSFS_CONTROL_AHEAD_DROPPED, "readahead_dropped_files_total", "counter",
	  "Files read ahead and kept that no READ asked for.", SERIES_AHEAD(ahead_dropped) },
	{ DSFS_CONTROL_AHEAD_FAILURES, "readahead_failures_total", "counter",
	  "Reads ahead that failed; the files' own reads report the reason.", SERIES_AHEAD(ahead_failures) },
	{ DSFS_CONTROL_PREFETCH_ANNOUNCED, "prefetch_announced_files_total", "counter",
	  "Files that programs announced and that were taken.", SERIES_SUM(prefetch_announced) },
	{ DSFS_CONTROL_PREFETCH_FILES, "prefetch_files_total", "counter", "Announced files that were read.",
	  SERIES_ANNOUNCED(ahead_files) },
	{ DSFS_CONTROL_PREFETCH_BYTES, "prefetch_bytes_total", "counter",
	  "Contents of announced files that were read.", SERIES_ANNOUNCED(ahead_bytes) },
	{ DSFS_CONTROL_PREFETCH_READS, "prefetch_device_reads_total", "counter",
	  "Reads of the volume for announced files; device_reads_total counts them too.",
	  SERIES_ANNOUNCED(read.device_reads) },
	{ DSFS_CONTROL_PREFETCH_STORED, "prefetch_stored_files_total", "counter",
	  "Announced files that were put into the page cache.", SERIES_ANNOUNCED(ahead_stored) },
	{ DSFS_CONTROL_PREFETCH_SERVED, "prefetch_served_reads_total", "counter",
	  "Reads answered with announced files.", SERIES_SUM(prefetch_served) },
	{ DSFS_CONTROL_PREFETCH_DROPPED, "prefetch_dropped_files_total", "counter",
	  "Announced files that were dropped before a program read them.", SERIES_ANNOUNCED(ahead_dropped) },
	{ DSFS_CONTROL_PREFETCH_FAILURES, "prefetch_failures_total", "counter",
	  "Reads of announced files that failed; the files' own reads report the reason.",
	  SERIES_ANNOUNCED(ahead_failures) },
	{ DSFS_CONTROL_STALLED_SINCE, "stall_start_time_seconds", "gauge",
	  "Since when reads have been waiting for the device, in seconds since 1970; 0: none waits.",
	  series_stalled_since, 0 },
	{ DSFS_CONTROL_STALLS, "stalls_total", "counter",
	  "Times that reads waited for the device for over a second.", series_stalls, 0 },
	{ DSFS_CONTROL_CRYPT, "crypt_members", "gauge",
	  "Members of the volume, or the volume itself, that dm-crypt decrypts.", series_crypt, 0 },
	{ DSFS_CONTROL_DAMAGED, "damaged_places", "gauge", "Places that .datasetfs/damage lists.", series_damaged,
	  0 },
	{ DSFS_CONTROL_CLIENTS, "clients", "gauge", "Programs that read past the mount, connected now.",
	  SERIES_CLIENTS(connected) },
	{ DSFS_CONTROL_CLIENT_OPENED, "client_versions_opened_total", "counter",
	  "Versions that were handed to such programs.", SERIES_CLIENTS(opened) },
	{ DSFS_CONTROL_CLIENT_REFUSED, "client_refusals_total", "counter",
	  "Connections of such programs that were refused.", SERIES_CLIENTS(refused) },
	{ DSFS_CONTROL_CLIENT_DROPPED, "client_drops_total", "counter",
	  "Connections of such programs that broke the rules.", SERIES_CLIENTS(dropped) },
	{ DSFS_CONTROL_CLIENT_FILES, "client_files_total", "counter",
	  "Files that programs read past the mount, as they report it.", SERIES_REPORTED(FILES) },
	{ DSFS_CONTROL_CLIENT_BYTES, "client_bytes_total", "counter",
	  "Contents that programs read past the mount, as they report it.", SERIES_REPORTED(BYTES) },
	{ DSFS_CONTROL_CLIENT_CHECKSUM, "client_checksum_failures_total", "counter",
	  "Checksum failures that programs met past the mount.", SERIES_REPORTED(CHECKSUM_FAILURES) },
	{ DSFS_CONTROL_CLIENT_DEVICE, "client_device_errors_total", "counter",
	  "Reads of the volume past the mount that failed.", SERIES_REPORTED(DEVICE_ERRORS) },
	{ DSFS_CONTROL_CLIENT_FAILURES, "client_read_failures_total", "counter",
	  "Reads past the mount that failed for good.", SERIES_REPORTED(READ_FAILURES) },
	{ DSFS_CONTROL_CLIENT_READS, "client_device_reads_total", "counter",
	  "Reads of the volume past the mount, as programs report it.", SERIES_REPORTED(DEVICE_READS) },
	{ DSFS_CONTROL_CLIENT_LOCAL_HITS, "client_local_cache_hits_total", "counter",
	  "Reads past the mount that the cache on this machine answered.", SERIES_REPORTED(LOCAL_HITS) },
	{ DSFS_CONTROL_CLIENT_LOCAL_BYTES, "client_local_cache_read_bytes_total", "counter",
	  "Bytes read past the mount from the cache on this machine.", SERIES_REPORTED(LOCAL_BYTES) },
	{ DSFS_CONTROL_CLIENT_LOCAL_ERRORS, "client_local_cache_errors_total", "counter",
	  "Reads past the mount of the cache on this machine that failed or returned wrong data.",
	  SERIES_REPORTED(LOCAL_ERRORS) },
	{ 0 },
};
