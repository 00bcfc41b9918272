/* SPDX-License-Identifier: MIT */
/* libdatasetfs: reads the files of a datasetfs version in the calling process, without the kernel's filesystem.
 * libdatasetfs(3) is the manual.
 *
 * Every byte is verified before a call returns it. Calls return 0 or more, or a negative errno; dsfs_reason() then
 * says why in one line. All calls may be made by any thread at any time, on one handle as well, unless a call says
 * otherwise. After fork(2) the child may go on with the handles that it inherited.
 *
 * Structures that are filled in by the caller begin with their size where later releases may add fields. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* One line, without a newline, about the last call of this thread that failed. Valid until its next call. */
const char *dsfs_reason(void);
/* Of the library: three numbers with dots between them. */
const char *dsfs_release(void);

/* A handle: one version of a data set, from a mount or from a volume. */
struct dsfs;

#define DSFS_OPEN_DIRECT 1u /* fail with the reason rather than going through the mount */
#define DSFS_OPEN_MOUNT  2u /* go through the mount, though the volume itself could be read */

struct dsfs_options {
	uint32_t size;       /* sizeof(struct dsfs_options) */
	uint32_t flags;      /* DSFS_OPEN_* */
	const char *version; /* a label; NULL: the one that the mount serves, or the volume's current one */
	const char *digest;  /* "sha256:…": refuse any other contents with EBADMSG; NULL: any */
};

/* where: a mountpoint, a path below one, or a volume (a file, a device, an NVMe identity). options: NULL for none.
 * A mount whose daemon runs as root or as the caller's user, and that lets the caller have its descriptors, is read
 * past the mount; any other through it, with the same results. */
int dsfs_open(const char *where, const struct dsfs_options *options, struct dsfs **ret);
/* No call on it is under way, no queue of it exists. NULL as well. */
void dsfs_close(struct dsfs *fs);

enum dsfs_way {
	DSFS_WAY_VOLUME = 1, /* opened by the name of the volume */
	DSFS_WAY_DIRECT = 2, /* opened by a mount: its index in memory, reads of the volume past it */
	DSFS_WAY_MOUNT = 3,  /* through the mount */
};

struct dsfs_info {
	uint32_t size;        /* in: sizeof(struct dsfs_info) */
	uint32_t way;         /* enum dsfs_way */
	char label[128];      /* of the version */
	uint8_t uuid[16];     /* of the version */
	char digest[80];      /* "sha256:" and 64 hexadecimal digits */
	uint64_t sequence;    /* of the version on its volume */
	uint64_t files, bytes; /* regular files, and the sum of their sizes */
	uint64_t root;        /* id of the root */
	uint64_t ids;         /* ids of the version are root … root + ids - 1 */
	char why[256];        /* with DSFS_WAY_MOUNT: why not past it; else empty */
};
int dsfs_info(struct dsfs *fs, struct dsfs_info *ret);

/* A handle stays with its version until this takes it to the one that its mount serves, or that is the current one of
 * its volume. 1: to another version, and ids of the former one are no longer valid; 0: it is the same. Asking costs a
 * load from shared memory with DSFS_WAY_DIRECT, some system calls otherwise. */
int dsfs_refresh(struct dsfs *fs);

/* Calls each() for every version of the volume, oldest first, until it returns non-zero, which is returned. */
struct dsfs_version_info {
	uint64_t sequence;
	const char *label;
	uint8_t uuid[16];
	int is_current;
};
int dsfs_versions(struct dsfs *fs, int (*each)(void *argument, const struct dsfs_version_info *version),
		  void *argument);

/* Ids: a file, directory or symbolic link of a version; what the mount shows as st_ino, but for the root. They are
 * consecutive: directories come before what is in them, and the entries of a directory follow each other in bytewise
 * order of their names, but for further names of a file (hard links). Files lie on the volume in about the order of
 * ids: small ones fill what earlier ones left of a block. Calls refuse ids of another version with ESTALE. */

/* Finds paths, relative to the root; '/' in front is ignored. Symbolic links are followed, also a last one, but neither
 * they nor '..' lead out of the root: EXDEV. ids[i]: an id, or a negative errno. Returns 0 when all were found, else
 * the first error. The caller needs search permission for the directories, as with the mount: EACCES. By id a file's
 * own mode counts and no directory's, unless the way is through the mount: there the kernel asks for both. */
int dsfs_lookup(struct dsfs *fs, const char *const *paths, size_t count, int64_t *ids);
/* As the mount's stat(2) has it, but for st_dev, which is 0. */
int dsfs_stat(struct dsfs *fs, uint64_t id, struct stat *ret);
/* The target of a symbolic link, NUL-terminated; returns its length, -ERANGE when size is too small. */
ssize_t dsfs_readlink(struct dsfs *fs, uint64_t id, char *buffer, size_t size);
/* The first path of a file, relative to the root, without '/' in front, NUL-terminated; returns its length, -ERANGE
 * when size is too small. */
ssize_t dsfs_path(struct dsfs *fs, uint64_t id, char *buffer, size_t size);

struct dsfs_dirent {
	uint64_t id;
	uint32_t type;      /* DT_REG, DT_DIR, DT_LNK */
	uint32_t length;    /* of the name */
	const char *name;   /* NUL-terminated; valid in the call */
	const char *path;   /* of dsfs_walk(): relative to where it began; else NULL */
};
/* Calls each() for the entries of a directory, in bytewise order of their names, until it returns non-zero, which is
 * returned. It may make calls on the same handle. The caller needs read permission for the directory: EACCES. */
int dsfs_list(struct dsfs *fs, uint64_t directory,
	      int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument);
/* The same for everything below a directory, depth first, a directory before its entries. One that the caller may not
 * read or search ends it. */
int dsfs_walk(struct dsfs *fs, uint64_t directory,
	      int (*each)(void *argument, const struct dsfs_dirent *entry), void *argument);
/* The entries of a directory that are not further names of files listed elsewhere have the ids *ret_first …
 * *ret_first + *ret_count - 1. Needs no walk, and permission as dsfs_list(). */
int dsfs_range(struct dsfs *fs, uint64_t directory, uint64_t *ret_first, uint64_t *ret_count);

/* Reads of ranges of files. Memory of results without a buffer of the caller: */
struct dsfs_arena;
int dsfs_arena_new(struct dsfs_arena **ret);
/* What was read into it is no longer valid. Used by one thread at a time, as is the next. */
void dsfs_arena_reset(struct dsfs_arena *arena);
void dsfs_arena_free(struct dsfs_arena *arena);

struct dsfs_read {
	uint64_t id;
	uint64_t offset;
	uint64_t size;   /* bytes wanted, and room in buffer; UINT64_MAX without a buffer: up to the end of the file */
	void *buffer;    /* in: where to, or NULL; then out: in the arena (NULL: no bytes). What is read there without
			    a copy: all in the arena; in a buffer, where its address and the place on the volume agree
			    in blocks and size leaves room for whole ones: aligned to 4096, most larger files do.
			    All size bytes of a buffer may be written to, also those behind result */
	int64_t result;  /* out: bytes, fewer than size only at the end of the file; or a negative errno */
	void *user;      /* the caller's */
};

/* Reads all of them, in whatever order is fastest, and returns when all are done: 0 when all could be read, else the
 * error of the first that could not. arena: NULL when every read has a buffer. */
int dsfs_read_many(struct dsfs *fs, struct dsfs_read *reads, size_t count, struct dsfs_arena *arena);
/* One range; as pread(2). */
ssize_t dsfs_pread(struct dsfs *fs, uint64_t id, void *buffer, size_t size, uint64_t offset);
/* A whole file by its path: memory to free(3), with a NUL behind the contents. Returns its size. */
ssize_t dsfs_read_file(struct dsfs *fs, const char *path, void **ret);

/* Reads that complete in any order. A queue is used by one thread at a time, and not at all by a forked child. */
struct dsfs_queue;
/* depth: reads of the device under way at most, 1 … 1024; 0 chooses a good one. */
int dsfs_queue_new(struct dsfs *fs, unsigned depth, struct dsfs_queue **ret);
/* The structures, which have buffers, are the queue's until dsfs_queue_wait() returns them. Takes all of them,
 * whatever depth is. */
int dsfs_queue_submit(struct dsfs_queue *queue, struct dsfs_read *reads, size_t count);
/* Waits until least reads are complete, or all that were submitted, or timeout (ms; -1: for ever) has passed; puts
 * at most most of them into ret and returns how many. */
int dsfs_queue_wait(struct dsfs_queue *queue, size_t least, struct dsfs_read **ret, size_t most, int timeout);
/* Waits for reads under way. NULL as well. */
void dsfs_queue_free(struct dsfs_queue *queue);

/* Where a file lies, for those who read the device themselves. */
#define DSFS_EXTENT_HOLE   1u /* zeros, and nothing on the volume */
#define DSFS_EXTENT_INLINE 2u /* in the index, not on the volume: use dsfs_pread() */

struct dsfs_file_extent {
	uint64_t file_offset; /* of its contents in the file */
	uint64_t length;      /* bytes of contents */
	uint64_t offset;      /* on the member, in bytes */
	uint64_t stored;      /* bytes there: length, unless compressed */
	uint64_t sum;         /* XXH3-64 of the contents */
	uint32_t member;      /* its number; 0 where the volume has one */
	uint32_t codec;       /* DSFS_CODEC_* of format.h */
	uint32_t flags;       /* DSFS_EXTENT_* */
	uint32_t reserved;
};
/* The chunks of a file from the one that holds offset on; a hole of many chunks is one extent. Returns how many, at
 * most most; 0 at the end. Only for whom the volume may be read by: EPERM with DSFS_WAY_MOUNT. */
int dsfs_extents(struct dsfs *fs, uint64_t id, uint64_t offset, struct dsfs_file_extent *ret, size_t most);
/* Whether stored bytes are the extent's: decompresses them to contents (length bytes; may be NULL when they are not
 * compressed) and compares the sum. -EBADMSG when they are not. */
int dsfs_verify(const struct dsfs_file_extent *extent, const void *stored, void *contents);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
