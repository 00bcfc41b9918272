/* SPDX-License-Identifier: MIT */
/* Finds the files of a version and maps what the source has in their place. */
#include "files.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES_BATCH 64u

void files_read_batch(const struct files *files, struct dsfs *fs, struct dsfs_arena *arena, uint64_t *state)
{
	const struct file *chosen[FILES_BATCH];
	struct dsfs_read reads[FILES_BATCH];

	dsfs_arena_reset(arena);
	for (unsigned i = 0; i < FILES_BATCH; i++) {
		chosen[i] = &files->items[files_random(state, files->count)];
		reads[i] = (struct dsfs_read){ .id = chosen[i]->id, .size = UINT64_MAX };
	}
	if (dsfs_read_many(fs, reads, FILES_BATCH, arena) != 0)
		FAIL("read_many in process %d", getpid());
	for (unsigned i = 0; i < FILES_BATCH; i++)
		files_check(chosen[i], &reads[i]);
}

struct dsfs *files_open(const char *volume)
{
	struct dsfs *fs;

	if (dsfs_open(volume, NULL, &fs) < 0)
		FAIL("cannot open '%s'", volume);
	return fs;
}

static int files_add(void *argument, const struct dsfs_dirent *entry)
{
	struct files *files = argument;
	struct file *file;

	if (entry->type != DT_REG)
		return 0;
	if ((files->count & (files->count - 1)) == 0)
		files->items = realloc(files->items, (files->count ? 2 * files->count : 1) * sizeof(*files->items));
	file = &files->items[files->count++];
	*file = (struct file){ .id = entry->id, .path = strdup(entry->path) };
	return 0;
}

static void files_map(const char *source, struct file *file)
{
	char path[8192];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", source, file->path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		FAIL("the source has no '%s'", path);
	file->size = (uint64_t)st.st_size;
	file->bytes = file->size ? mmap(NULL, file->size, PROT_READ, MAP_SHARED, fd, 0) : (const uint8_t *)"";
	if (file->bytes == MAP_FAILED)
		FAIL("cannot map '%s'", path);
	close(fd);
}

void files_find(struct dsfs *fs, const char *source, struct files *ret)
{
	struct dsfs_info info = { .size = sizeof(info) };

	*ret = (struct files){ 0 };
	if (dsfs_info(fs, &info) < 0 || dsfs_walk(fs, info.root, files_add, ret) != 0)
		FAIL("cannot walk");
	if (ret->count < info.files)
		FAIL("%zu files found, the version has %llu", ret->count, (unsigned long long)info.files);
	for (size_t i = 0; i < ret->count; i++)
		files_map(source, &ret->items[i]);
}

void files_free(struct files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->items[i].size)
			munmap((void *)files->items[i].bytes, files->items[i].size);
		free(files->items[i].path);
	}
	free(files->items);
}

void files_check(const struct file *file, const struct dsfs_read *read)
{
	uint64_t left = read->offset < file->size ? file->size - read->offset : 0;
	uint64_t expected = read->size < left ? read->size : left;

	if (read->result != (int64_t)expected)
		FAIL("'%s': %lld bytes, expected %llu", file->path, (long long)read->result,
		     (unsigned long long)expected);
	if (expected && memcmp(read->buffer, file->bytes + read->offset, expected) != 0)
		FAIL("'%s': other bytes at %llu", file->path, (unsigned long long)read->offset);
}

uint64_t files_random(uint64_t *state, uint64_t limit)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % limit;
}
