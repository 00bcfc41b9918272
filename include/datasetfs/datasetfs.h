/* SPDX-License-Identifier: MIT */
/* The interface of libdatasetfs, which reads the files of a datasetfs version in the calling process, without the
 * kernel's filesystem. libdatasetfs(3) is the manual.
 *
 * Every byte is verified before a call returns it. Calls return 0 or more, or a negative errno; dsfs_reason() then
 * says why in one line. Any thread may make any call at any time, also on a shared handle, unless a call says
 * otherwise. After fork(2) the child may go on with the handles that it inherited.
 *
 * Structures that the caller fills in begin with their size where later releases may add fields. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Returns one line, without a newline, about the last call of this thread that failed. Valid until its next call. */
const char *dsfs_reason(void);
/* Returns the release of the library: three numbers separated by dots. */
const char *dsfs_release(void);

/* A handle: one version of a data set, from a mount or from a volume. */
struct dsfs;

#define DSFS_OPEN_DIRECT 1u /* fail with the reason instead of going through the mount */
#define DSFS_OPEN_MOUNT  2u /* go through the mount even if the volume itself could be read */

struct dsfs_options {
	uint32_t size;       /* sizeof(struct dsfs_options) */
	uint32_t flags;      /* DSFS_OPEN_* */
	const char *version; /* a label; NULL: the one that the mount serves, or the volume's current one */
	const char *digest;  /* "sha256:…": refuse any other contents with EBADMSG; NULL: any */
	const char *trust;   /* file of allowed signers, see ssh-keygen(1): refuse with EKEYREJECTED what none of them
			      * has signed, and never go through the mount; NULL: anybody may have published it */
	const char *revoked; /* file of revoked keys; NULL: none are. Only with trust */
};

/* Opens a version. where: a mountpoint, a path below one, or a volume (a file, a device, an NVMe identity). options:
 * may be NULL. Of a folder of a mount that is mounted elsewhere alone (a bind mount in a container), it is the version
 * that the folder is of, for as long as the handle is open, and the folder is its root. A mount whose daemon runs as
 * root or as the caller's user, and lets the caller have its descriptors, is read past the mount; any other through it,
 * with the same results. With trust, EPERM: others may write its file. */
int dsfs_open(const char *where, const struct dsfs_options *options, struct dsfs **ret);
/* Closes a handle that no call uses and that has no queue. NULL does nothing. */
void dsfs_close(struct dsfs *fs);

enum dsfs_way {
	DSFS_WAY_VOLUME = 1, /* opened by the name of the volume */
	DSFS_WAY_DIRECT = 2, /* opened by a mount: the index is in memory, and reads of the volume go past the mount */
	DSFS_WAY_MOUNT = 3,  /* all calls go through the mount */
};

enum dsfs_order {
	DSFS_ORDER_TREE = 1,   /* in the order of ids, about */
	DSFS_ORDER_RANDOM = 2, /* at random, see dsfs_placed() */
};

struct dsfs_info {
	uint32_t size;        /* in: sizeof(struct dsfs_info) */
	uint32_t way;         /* enum dsfs_way */
	char label[128];      /* of the version */
	uint8_t uuid[16];     /* of the version */
	char digest[80];      /* "sha256:" and 64 hexadecimal digits */
	uint64_t sequence;    /* of the version on its volume */
	uint64_t files, bytes; /* number of regular files, and the sum of their sizes */
	uint64_t root;        /* id of the directory to which paths are relative: the version's root, or the folder that
			       * is mounted alone */
	uint64_t ids;         /* number of the version's ids; the first, its root's, is sequence << 40 | 1 */
	char why[256];        /* with DSFS_WAY_MOUNT: why not past the mount; else empty */
	uint32_t order;       /* enum dsfs_order: how files lie on the volume; 0 with DSFS_WAY_MOUNT: not known */
	uint32_t reserved;    /* 0 */
};
int dsfs_info(struct dsfs *fs, struct dsfs_info *ret);

/* Moves a handle to the version that its mount serves now, or to the current one of its volume; until this call the
 * handle keeps its version. Returns 1 if the version changed, so that ids of the former one are no longer valid, or 0.
 * Asking costs a load from shared memory with DSFS_WAY_DIRECT, some system calls otherwise. Where the server of the
 * mount was replaced, past it everything goes on, and this call connects to the new one; -ENOTCONN: there is none, the
 * mount has ended. */
int dsfs_refresh(struct dsfs *fs);

/* Calls each() for every version of the volume, oldest first, until it returns non-zero; returns that value, or 0. */
struct dsfs_version_info {
	uint64_t sequence;
	const char *label;
	uint8_t uuid[16];
	int is_current;
};
int dsfs_versions(struct dsfs *fs, int (*each)(void *argument, const struct dsfs_version_info *version),
		  void *argument);

/* An id stands for a file, directory or symbolic link of a version; it is the mount's st_ino, except for the root. Ids
 * are consecutive: directories come before their contents, and the entries of a directory follow each other in bytewise
 * order of their names, except for further names of a file (hard links). In DSFS_ORDER_TREE, files lie on the volume in
 * about the order of ids: small ones fill the rest of blocks of earlier ones. A call with an id of another version
 * fails with ESTALE. */

/* Finds paths relative to the root; a leading '/' is ignored. Symbolic links are followed, also a last one, but
 * neither they nor '..' lead out of the root: EXDEV. Sets ids[i] to an id or a negative errno. Returns 0 when all were
 * found, else the first error. As on the mount, the caller needs search permission for the directories: EACCES. A call
 * by id checks the file's own mode and no directory's, except through the mount, where the kernel checks both. */
int dsfs_lookup(struct dsfs *fs, const char *const *paths, size_t count, int64_t *ids);
/* Returns the attributes that the mount's stat(2) shows, except for st_dev, which is 0. */
int dsfs_stat(struct dsfs *fs, uint64_t id, struct stat *ret);
/* Reads the target of a symbolic link, NUL-terminated; returns its length, or -ERANGE when size is too small. */
ssize_t dsfs_readlink(struct dsfs *fs, uint64_t id, char *buffer, size_t size);
/* Finds the first path of a file, relative to the root, without a leading '/', NUL-terminated; returns its length, or
 * -ERANGE when size is too small. */
ssize_t dsfs_path(struct dsfs *fs, uint64_t id, char *buffer, size_t size);

struct dsfs_dirent {
	uint64_t id;
	uint32_t type;      /* DT_REG, DT_DIR, DT_LNK */
	uint32_t length;    /* of the name */
	const char *name;   /* NUL-terminated; valid until each() returns */
	const char *path;   /* of dsfs_walk(): relative to the directory where the walk began; else NULL */
};
/* Calls each() for the entries of a directory, bytewise by name, until it returns non-zero; returns that value or 0.
 * each() may make calls on the same handle. EACCES: the caller lacks read permission for the directory. */
int dsfs_list(struct dsfs *fs, uint64_t directory,
	      int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument);
/* Calls each() as dsfs_list() does for everything below a directory, depth first, a directory before its entries. A
 * directory that the caller may not read or search ends the walk: EACCES. */
int dsfs_walk(struct dsfs *fs, uint64_t directory,
	      int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument);
/* Finds the ids *ret_first … *ret_first + *ret_count - 1 of a directory's entries, except entries that are further
 * names of files with an earlier name. Takes no walk, and needs the same permission as dsfs_list(). */
int dsfs_range(struct dsfs *fs, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count);

/* An arena holds the results of reads that have no buffer of the caller. */
struct dsfs_arena;
int dsfs_arena_new(struct dsfs_arena **ret);
/* Invalidates everything that was read into the arena. One thread at a time uses an arena, also to reset or free it. */
void dsfs_arena_reset(struct dsfs_arena *arena);
void dsfs_arena_free(struct dsfs_arena *arena);

struct dsfs_read {
	uint64_t id;
	uint64_t offset;
	uint64_t size;   /* bytes wanted, and room in buffer; UINT64_MAX without a buffer: up to the end of the file */
	void *buffer;    /* in: the destination; NULL: the arena, and out: the bytes there (NULL: none). Reads into the
			  * arena are not copied. Reads into a buffer are not copied where its address and the place on
			  * the volume are equally aligned to blocks and size leaves room for whole ones: with a buffer
			  * aligned to 4096, most larger files; and not where neighbours of at most 256 KiB are read
			  * with one read of the device. All size bytes of a buffer may be written to, also those behind
			  * result */
	int64_t result;  /* out: bytes read, fewer than size only at the end of the file; or a negative errno */
	void *user;      /* for the caller's own use */
};

/* Makes all reads, in whatever order is fastest, and returns when all are done: 0 when all succeeded, else the error
 * of the first that failed. arena: may be NULL when every read has a buffer. */
int dsfs_read_many(struct dsfs *fs, struct dsfs_read *reads, size_t count, struct dsfs_arena *arena);
/* Reads one range, as pread(2) does. */
ssize_t dsfs_pread(struct dsfs *fs, uint64_t id, void *buffer, size_t size, uint64_t offset);
/* Reads a whole file by path into memory for free(3), with a NUL behind the contents. Returns its size. */
ssize_t dsfs_read_file(struct dsfs *fs, const char *path, void **ret);

/* A queue makes reads that complete in any order. One thread at a time uses it, and a forked child must not. */
struct dsfs_queue;
/* Makes a queue. depth: reads of the device in flight at most, 1 … 1024; 0 chooses a good value. */
int dsfs_queue_new(struct dsfs *fs, unsigned depth, struct dsfs_queue **ret);
/* Takes all reads, whatever depth is. Every read needs a buffer. The structures belong to the queue until
 * dsfs_queue_wait() returns them. */
int dsfs_queue_submit(struct dsfs_queue *queue, struct dsfs_read *reads, size_t count);
/* Waits until `least` reads, or all submitted ones, are complete, or timeout (ms; -1: for ever) has passed; puts at
 * most `most` complete reads into ret and returns how many. */
int dsfs_queue_wait(struct dsfs_queue *queue, size_t least, struct dsfs_read **ret, size_t most, int timeout);
/* Waits for reads in flight, then frees the queue. NULL does nothing. */
void dsfs_queue_free(struct dsfs_queue *queue);

/* An order of samples for an epoch, computed, without a list of them; dsfs_shuffle_new(3) specifies it, and it stays
 * the same for ever. It belongs to no handle and reads nothing. Samples are 0 … count - 1, in the order in which they
 * lie on the volume. Blocks of them come in a random order, the sequence, which is dealt to ranks and workers in
 * slices; each slice is cut into windows, and the samples of a window are mixed. So a program that keeps the files of
 * one window in memory reads whole blocks. One thread at a time uses a shuffle. */
struct dsfs_shuffle;

struct dsfs_shuffle_options {
	uint32_t size;     /* sizeof(struct dsfs_shuffle_options) */
	uint32_t reserved; /* 0 */
	const char *key;   /* text of at most 383 bytes, from which the order is made: of a seed and the epoch */
	uint64_t count;    /* number of samples, at most 2^40 */
	uint64_t block;    /* samples of a block; 1: the sequence is a full shuffle */
	uint64_t buffer;   /* samples of a window, at most */
};
/* Makes the order of an epoch. Takes memory for about 6 numbers of 4 bytes for each √(count / block). */
int dsfs_shuffle_new(const struct dsfs_shuffle_options *options, struct dsfs_shuffle **ret);
/* NULL does nothing. */
void dsfs_shuffle_free(struct dsfs_shuffle *shuffle);

/* A deal of the samples that are left to ranks and their workers. */
struct dsfs_shuffle_deal {
	uint32_t size;      /* sizeof(struct dsfs_shuffle_deal) */
	uint32_t drop_last; /* 1: what makes no whole batch for each rank is left out; 0: the last rank repeats samples
			     * from the beginning so that all get equally many, and the last batch may be short */
	uint64_t rank;      /* whose batches and windows are asked for: less than ranks */
	uint64_t ranks;
	uint64_t workers;   /* of each rank: batch k is made by worker k % workers. ranks * workers: at most 2^20 */
	uint64_t batch;     /* samples of a batch */
};

/* The windows of a worker from which the samples of a batch come. */
struct dsfs_shuffle_windows {
	uint64_t first, count; /* count 0: none, as all are repeated ones */
};

/* Returns the number of samples in the sequence: count, or what dsfs_shuffle_resume() left. */
uint64_t dsfs_shuffle_left(const struct dsfs_shuffle *shuffle);
/* Gets samples of the sequence as it is before windows are mixed: at position, position + step, …, count of them;
 * behind its end it begins again. */
int dsfs_shuffle_at(struct dsfs_shuffle *shuffle, uint64_t position, uint64_t step, uint64_t count, uint64_t *ret);
/* Returns the number of batches of each rank. */
int64_t dsfs_shuffle_batches(const struct dsfs_shuffle *shuffle, const struct dsfs_shuffle_deal *deal);
/* Gets the samples of a rank's batch, and the windows that they come from; ret and ret_windows may be NULL. Returns the
 * number of samples: at most deal->batch. */
int64_t dsfs_shuffle_batch(struct dsfs_shuffle *shuffle, const struct dsfs_shuffle_deal *deal, uint64_t number,
			   uint64_t *ret, struct dsfs_shuffle_windows *ret_windows);
/* Tells where in the sequence a window of a worker begins and how many samples it has; 0: it has no such window. */
int dsfs_shuffle_window(const struct dsfs_shuffle *shuffle, const struct dsfs_shuffle_deal *deal, uint64_t worker,
			uint64_t number, uint64_t *ret_position, uint64_t *ret_count);
/* Goes on after an interruption, when each rank of the deal has had so many batches: the sequence is then the rest, to
 * be dealt anew in any way. */
int dsfs_shuffle_resume(struct dsfs_shuffle *shuffle, const struct dsfs_shuffle_deal *deal, uint64_t batches);

/* Extents tell where a file lies, for programs that read the device themselves. */
#define DSFS_EXTENT_HOLE   1u /* zeros that take no space on the volume */
#define DSFS_EXTENT_INLINE 2u /* in the index, not on the volume: use dsfs_pread() */

struct dsfs_file_extent {
	uint64_t file_offset; /* offset of its contents in the file */
	uint64_t length;      /* bytes of contents */
	uint64_t offset;      /* on the member, in bytes */
	uint64_t stored;      /* bytes there: length, unless compressed */
	uint32_t member;      /* number of the member; 0 where the volume has one */
	uint32_t codec;       /* DSFS_CODEC_* of format.h */
	uint32_t flags;       /* DSFS_EXTENT_* */
	uint32_t sum_kind;    /* DSFS_SUM_* of format.h, which says how the sum is made */
	uint8_t sum[32];      /* of the contents, as on the volume: of XXH3-64 8 bytes, little-endian, then zeros */
};
/* Lists the chunks of a file from the one that holds offset on; a hole of many chunks is one extent. Returns how many,
 * at most `most`; 0 at the end. Only for callers that may read the volume: EPERM with DSFS_WAY_MOUNT. */
int dsfs_extents(struct dsfs *fs, uint64_t id, uint64_t offset, struct dsfs_file_extent *ret, size_t most);
/* Lists the ids of all regular files by place: those that follow each other here are neighbours on a member, as far as
 * they are small enough to be read together, so that dsfs_read_many() fetches several with one read. In DSFS_ORDER_TREE
 * this is the order of ids. Sets ids[i] to the file that is number first + i of info.files, for at most `most` of them;
 * returns how many, 0 behind the last one. Costs a copy from memory. EPERM with DSFS_WAY_MOUNT. */
int dsfs_placed(struct dsfs *fs, uint64_t first, uint64_t *ids, size_t most);
/* Checks that stored bytes are the extent's: decompresses them to contents (extent->length bytes; may be NULL if the
 * extent is not compressed) and compares the sum. -EBADMSG: they are not. */
int dsfs_verify(const struct dsfs_file_extent *extent, const void *stored, void *contents);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
