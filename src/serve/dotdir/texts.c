/* SPDX-License-Identifier: MIT */
/* Writes each text before the head that names it, as the server may be killed in between. */
#include "serve/dotdir/texts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory_file.h"

#define TEXTS_STRIDE 262144u /* bytes from slot to slot; only pages that have a text take memory */

struct texts_head {
	uint64_t nodeid; /* 0: there is no text */
	uint64_t length;
	int64_t seconds;
	uint32_t nanoseconds, uid;
};

static off_t texts_place(unsigned slot)
{
	return (off_t)slot * TEXTS_STRIDE;
}

int texts_make(unsigned slots, int *ret_fd, struct error *err)
{
	return memory_file_make("datasetfs-texts", (size_t)slots * TEXTS_STRIDE, ret_fd, err);
}

void texts_put(int fd, unsigned slot, const struct texts_entry *entry)
{
	const struct texts_head head = { .nodeid = entry->nodeid, .length = entry->length,
					 .seconds = entry->when.tv_sec,
					 .nanoseconds = (uint32_t)entry->when.tv_nsec, .uid = entry->uid };

	if (fd < 0 || entry->length > TEXTS_STRIDE - sizeof(head))
		return;
	texts_drop(fd, slot);
	if (pwrite(fd, entry->text, entry->length, texts_place(slot) + (off_t)sizeof(head)) == (ssize_t)entry->length)
		(void)!pwrite(fd, &head, sizeof(head), texts_place(slot));
}

void texts_drop(int fd, unsigned slot)
{
	if (fd >= 0)
		(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, texts_place(slot), TEXTS_STRIDE);
}

static bool texts_read(int fd, unsigned slot, const struct texts_head *head, char *text)
{
	return pread(fd, text, head->length, texts_place(slot) + (off_t)sizeof(*head)) == (ssize_t)head->length;
}

bool texts_get(int fd, unsigned slot, uint64_t nodeid, struct texts_entry *ret)
{
	auto_free char *text = NULL;
	struct texts_head head;

	if (fd < 0 || pread(fd, &head, sizeof(head), texts_place(slot)) != sizeof(head) || head.nodeid != nodeid ||
	    head.length > TEXTS_STRIDE - sizeof(head) || head.nanoseconds >= 1000000000)
		return false;
	text = malloc(head.length + 1);
	if (!text || !texts_read(fd, slot, &head, text))
		return false;
	*ret = (struct texts_entry){ .nodeid = nodeid, .when = { head.seconds, head.nanoseconds }, .uid = head.uid,
				     .text = take_ptr(&text), .length = head.length };
	return true;
}
