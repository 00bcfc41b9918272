/* SPDX-License-Identifier: MIT */
/* Grows mapped arrays. Space is reserved before it is mapped, so a full disk is an error and not a SIGBUS. */
#include "spill/mapped.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAPPED_FIRST    (UINT64_C(64) << 10)
#define MAPPED_MAX_STEP (UINT64_C(64) << 20)

int mapped_open(struct mapped *mapped, const struct temp *temp, struct error *err)
{
	int fd;
	int r;

	r = temp_file(temp, &fd, err);
	if (r < 0)
		return r;
	*mapped = (struct mapped){ .temp = temp, .fd = fd };
	return 0;
}

void mapped_close(struct mapped *mapped)
{
	if (!mapped->temp)
		return;
	if (mapped->bytes)
		munmap(mapped->bytes, mapped->capacity);
	close(mapped->fd);
	*mapped = (struct mapped){ 0 };
}

void mapped_rest(const struct mapped *mapped)
{
	if (mapped->bytes)
		madvise(mapped->bytes, mapped->capacity, MADV_DONTNEED); /* a shared mapping: nothing is lost */
}

static uint64_t mapped_next_capacity(const struct mapped *mapped, uint64_t length)
{
	uint64_t capacity = mapped->capacity ? mapped->capacity : MAPPED_FIRST;

	while (capacity < length)
		capacity += capacity < MAPPED_MAX_STEP ? capacity : MAPPED_MAX_STEP;
	return capacity;
}

static int mapped_extend(struct mapped *mapped, uint64_t capacity, struct error *err)
{
	void *map;
	int r;

	r = temp_reserve(mapped->temp, mapped->fd, mapped->capacity, capacity - mapped->capacity, err);
	if (r < 0)
		return r;
	if (mapped->capacity >= MAPPED_MAX_STEP)
		mapped_rest(mapped);
	if (mapped->bytes)
		map = mremap(mapped->bytes, mapped->capacity, capacity, MREMAP_MAYMOVE);
	else
		map = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, mapped->fd, 0);
	if (map == MAP_FAILED)
		return error_errno(err, "cannot map a temporary file");
	mapped->bytes = map;
	mapped->capacity = capacity;
	return 0;
}

int mapped_grow(struct mapped *mapped, uint64_t length, struct error *err)
{
	int r;

	if (length > mapped->capacity) {
		r = mapped_extend(mapped, mapped_next_capacity(mapped, length), err);
		if (r < 0)
			return r;
	}
	if (length > mapped->length)
		mapped->length = length;
	return 0;
}

int mapped_append(struct mapped *mapped, const void *bytes, uint64_t length, uint64_t *ret_offset,
		  struct error *err)
{
	uint64_t offset = mapped->length;
	int r;

	r = mapped_grow(mapped, offset + length, err);
	if (r < 0)
		return r;
	if (length)
		memcpy(mapped->bytes + offset, bytes, length);
	if (ret_offset)
		*ret_offset = offset;
	return 0;
}
