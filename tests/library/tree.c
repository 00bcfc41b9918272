/* SPDX-License-Identifier: MIT */
/* Everything that libdatasetfs says of a tree, for tests that compare it with the source and with a mount.
 *
 * usage: library-tree WHERE walk [PATH]      everything below PATH, as struct record, path and target with a NUL each
 *        library-tree WHERE list [PATH]      the same of one directory
 *        library-tree WHERE lookup           paths from standard input, a NUL behind each: an id or an errno a line
 *        library-tree WHERE ids              for every id its path and a NUL
 *        library-tree WHERE range [PATH]     first id and number
 *        library-tree WHERE placed           a line for each file, by place: bytes, member and offset of its first
 *                                            extent that is no hole (- -: none, or in the index), path
 *        library-tree WHERE extents PATH     a line of numbers for each
 *        library-tree WHERE verify PATH      the file: its extents read from VOLUME, verified
 *        library-tree WHERE members [PATH]   a line for each member: its number, files that begin there, stored bytes
 *        library-tree WHERE versions         a line for each
 * WAY=mount or WAY=direct in the environment makes it go that way; VERSION names a version.
 * Exit status: 0, or 1 and the reason. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datasetfs/datasetfs.h"

static struct dsfs *fs;

static void check(int64_t result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "%s: %s\n", strerrorname_np((int)-result), dsfs_reason());
	exit(1);
}

static uint64_t find(const char *path)
{
	int64_t id;

	check(dsfs_lookup(fs, &path, 1, &id));
	return (uint64_t)id;
}

static int show(void *argument, const struct dsfs_dirent *entry)
{
	const char *path = entry->path ? entry->path : entry->name;
	char target[4097] = "";
	struct stat st;

	(void)argument;
	check(dsfs_stat(fs, entry->id, &st));
	if (entry->type == DT_LNK)
		check(dsfs_readlink(fs, entry->id, target, sizeof(target)));
	if (strlen(entry->name) != entry->length || strlen(path) < entry->length ||
	    strcmp(path + strlen(path) - entry->length, entry->name) != 0 || IFTODT(st.st_mode) != entry->type) {
		fprintf(stderr, "an entry that is not what it says: '%s'\n", path);
		exit(1);
	}
	printf("%" PRIu64 " %" PRIu64 " %u %o", entry->id, (uint64_t)st.st_dev, entry->type, st.st_mode);
	printf(" %" PRIu64 " %u %u", (uint64_t)st.st_nlink, st.st_uid, st.st_gid);
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64, (uint64_t)st.st_size, (uint64_t)st.st_blocks,
	       (uint64_t)st.st_blksize);
	printf(" %" PRId64 ".%09" PRId64, (int64_t)st.st_mtim.tv_sec, (int64_t)st.st_mtim.tv_nsec);
	printf("%c%s%c%s%c", 0, path, 0, target, 0);
	return 0;
}

static void walk(const char *path)
{
	check(dsfs_walk(fs, find(path), show, NULL));
}

static void list(const char *path)
{
	check(dsfs_list(fs, find(path), show, NULL));
}

/* A path gives alone what it gives together with others; reason is that of the path whose failure the call explains. */
static void check_lookup(const char *path, int64_t id, const char *reason)
{
	int64_t alone;
	int r = dsfs_lookup(fs, &path, 1, &alone);

	if (alone == id && r == (id < 0 ? id : 0) && (!reason || !strcmp(reason, dsfs_reason())))
		return;
	fprintf(stderr, "'%s' is %" PRId64 " alone (%s), and %" PRId64 " together with others (%s)\n", path, alone,
		dsfs_reason(), id, reason ? reason : "");
	exit(1);
}

/* All in one call. */
static void lookup(const char *unused)
{
	const char **paths = NULL;
	int64_t *ids;
	size_t count = 0, size = 0;
	char *path = NULL, *reason;
	int r;

	(void)unused;
	while (getdelim(&path, &size, 0, stdin) > 0) {
		paths = reallocarray(paths, count + 1, sizeof(*paths));
		paths[count++] = strdup(path);
	}
	ids = calloc(count, sizeof(*ids));
	r = dsfs_lookup(fs, paths, count, ids);
	reason = strdup(dsfs_reason());
	for (size_t i = 0, failed = 0; i < count; i++) {
		bool is_first = ids[i] < 0 && !failed++;

		if (is_first && ids[i] != r)
			fprintf(stderr, "the call returned %d, but the first error is %" PRId64 "\n", r, ids[i]);
		check_lookup(paths[i], ids[i], is_first ? reason : NULL);
		if (ids[i] < 0)
			puts(strerrorname_np((int)-ids[i]));
		else
			printf("%" PRId64 "\n", ids[i]);
		free((void *)paths[i]);
	}
	free(paths);
	free(ids);
	free(path);
	free(reason);
}

static void ids(const char *unused)
{
	struct dsfs_info info = { .size = sizeof(info) };
	static char path[1 << 20];
	ssize_t length;

	(void)unused;
	check(dsfs_info(fs, &info));
	for (uint64_t id = info.root; id < info.root + info.ids; id++) {
		length = dsfs_path(fs, id, path, sizeof(path));
		check(length);
		if ((size_t)length != strlen(path) || dsfs_path(fs, id, path, (size_t)length + 1) != length ||
		    dsfs_path(fs, id, path, (size_t)length) != -ERANGE) {
			fprintf(stderr, "the path of %" PRIu64 " is not %zd bytes long\n", id, length);
			exit(1);
		}
		check(dsfs_path(fs, id, path, sizeof(path)));
		printf("%" PRIu64 " %s%c", id, path, 0);
	}
}

static void range(const char *path)
{
	uint64_t first, count;

	check(dsfs_range(fs, find(path), &first, &count));
	printf("%" PRIu64 " %" PRIu64 "\n", first, count);
}

static void show_placed(uint64_t id)
{
	static char path[1 << 20];
	struct dsfs_file_extent extents[16];
	struct stat st;
	int count, i = 0;

	check(dsfs_stat(fs, id, &st));
	check(dsfs_path(fs, id, path, sizeof(path)));
	count = dsfs_extents(fs, id, 0, extents, sizeof(extents) / sizeof(*extents));
	check(count);
	while (i < count && extents[i].flags & DSFS_EXTENT_HOLE)
		i++;
	if (i == count || extents[i].flags)
		printf("%" PRIu64 " - - %s\n", (uint64_t)st.st_size, path);
	else
		printf("%" PRIu64 " %u %" PRIu64 " %s\n", (uint64_t)st.st_size, extents[i].member, extents[i].offset,
		       path);
}

/* In blocks of a length that no other number divides, and once more each of their first ones alone. */
static void placed(const char *unused)
{
	uint64_t ids[1021], first = 0, alone;
	int count;

	(void)unused;
	while ((count = dsfs_placed(fs, first, ids, sizeof(ids) / sizeof(*ids))) > 0) {
		check(dsfs_placed(fs, first, &alone, 1) - 1);
		check(alone == ids[0] ? 0 : -EBADMSG);
		for (int i = 0; i < count; i++)
			show_placed(ids[i]);
		first += (uint64_t)count;
	}
	check(count);
}

static void show_extent(const struct dsfs_file_extent *extent)
{
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ", extent->file_offset, extent->length, extent->offset,
	       extent->stored);
	for (size_t i = 0; i < sizeof(extent->sum); i++)
		printf("%02x", extent->sum[i]);
	printf(" %u %u %u %u\n", extent->member, extent->codec, extent->flags, extent->sum_kind);
}

/* Three at a time, so that a call begins in the middle of the file. */
static void each_extent(const char *path, void (*each)(const struct dsfs_file_extent *extent))
{
	struct dsfs_file_extent extents[3];
	uint64_t id = find(path), offset = 0;
	int count;

	while ((count = dsfs_extents(fs, id, offset, extents, 3)) > 0) {
		for (int i = 0; i < count; i++) {
			if (extents[i].file_offset != offset) {
				fprintf(stderr, "an extent begins at %" PRIu64 ", expected %" PRIu64 "\n",
					extents[i].file_offset, offset);
				exit(1);
			}
			each(&extents[i]);
			offset += extents[i].length;
		}
	}
	check(count);
}

static void extents(const char *path)
{
	each_extent(path, show_extent);
}

/* The files and bytes on each member, without what is in the index and without holes. */
static struct {
	uint64_t files, bytes;
} spread[256];

static void spread_extent(const struct dsfs_file_extent *extent)
{
	if (extent->flags)
		return;
	spread[extent->member].files += extent->file_offset == 0;
	spread[extent->member].bytes += extent->stored;
}

/* argument: the directory where the walk began */
static int spread_file(void *argument, const struct dsfs_dirent *entry)
{
	char path[8192];

	snprintf(path, sizeof(path), "%s/%s", (const char *)argument, entry->path);
	if (entry->type == DT_REG)
		each_extent(path, spread_extent);
	return 0;
}

static void members(const char *path)
{
	check(dsfs_walk(fs, find(path), spread_file, (void *)path));
	for (unsigned i = 0; i < sizeof(spread) / sizeof(*spread); i++)
		if (spread[i].files)
			printf("%u %" PRIu64 " %" PRIu64 "\n", i, spread[i].files, spread[i].bytes);
}

/* Reads as somebody would who knows nothing of datasetfs: a volume that is named by its path. */
static void verify_extent(const struct dsfs_file_extent *extent)
{
	int volume = open(getenv("VOLUME"), O_RDONLY);
	char *stored = malloc(extent->stored + 1), *contents = malloc(extent->length + 1);

	if (extent->flags & DSFS_EXTENT_INLINE) {
		fprintf(stderr, "the file is in the index\n");
		exit(1);
	}
	if (pread(volume, stored, extent->stored, (off_t)extent->offset) != (ssize_t)extent->stored) {
		perror("pread");
		exit(1);
	}
	check(dsfs_verify(extent, stored, contents));
	if (extent->codec == 0 && extent->flags == 0)
		check(dsfs_verify(extent, stored, NULL));
	fwrite(contents, 1, extent->length, stdout);
	if (extent->stored) {
		stored[extent->stored / 2] ^= 1;
		if (dsfs_verify(extent, stored, contents) != -EBADMSG) {
			fprintf(stderr, "damage was not noticed\n");
			exit(1);
		}
	}
	free(stored);
	free(contents);
	close(volume);
}

static void verify(const char *path)
{
	each_extent(path, verify_extent);
}

static int show_version(void *argument, const struct dsfs_version_info *version)
{
	(void)argument;
	printf("%" PRIu64 " %s %d ", version->sequence, version->label, version->is_current);
	for (size_t i = 0; i < sizeof(version->uuid); i++)
		printf("%02x", version->uuid[i]);
	printf("\n");
	return 0;
}

static void versions(const char *unused)
{
	(void)unused;
	check(dsfs_versions(fs, show_version, NULL));
}

static const struct verb {
	const char *name;
	void (*run)(const char *argument);
} verbs[] = {
	{ "walk", walk },   { "list", list },       { "lookup", lookup }, { "ids", ids },
	{ "range", range }, { "extents", extents }, { "verify", verify }, { "members", members },
	{ "versions", versions }, { "placed", placed },
};

int main(int argc, char **argv)
{
	const char *way = getenv("WAY"), *version = getenv("VERSION");
	const struct dsfs_options options = {
		.size = sizeof(options),
		.flags = !way ? 0 : !strcmp(way, "mount") ? DSFS_OPEN_MOUNT : DSFS_OPEN_DIRECT,
		.version = version,
	};

	if (argc < 3)
		return 2;
	check(dsfs_open(argv[1], &options, &fs));
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(argv[2], verbs[i].name)) {
			verbs[i].run(argc > 3 ? argv[3] : "");
			dsfs_close(fs);
			return fflush(stdout) ? 1 : 0;
		}
	return 2;
}
