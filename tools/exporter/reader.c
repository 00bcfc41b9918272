/* SPDX-License-Identifier: MIT */
/* The child sends the text, and then one byte with an errno. */
#include "exporter/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/transfer.h"
#include "datasetfs/control.h"
#include "device/dotfile.h"

/* ---- in the process ---- */

static int reader_copy(int from, int to)
{
	char buffer[16384];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		if (transfer_write(to, buffer, (size_t)n) < 0)
			return errno;
	return n < 0 ? errno : 0;
}

/* Copies the metrics of the mount to the exporter; checks first whether another filesystem was mounted over it. */
static int reader_copy_mount(const struct mounts_entry *mount, int to)
{
	struct error err = { 0 };
	struct stat st;
	int file, r = dotfile_open(mount->point, DSFS_CONTROL_METRICS, &file, &err);

	if (r < 0)
		return -r;
	r = fstat(file, &st) < 0 ? errno : st.st_dev != mount->device ? ENOENT : reader_copy(file, to);
	/* The file stays open: closing it would ask the daemon once more, and the exit of the process closes it
	 * anyway. */
	return r;
}

static void reader_main(const void *mount, int to)
{
	uint8_t code = (uint8_t)reader_copy_mount(mount, to);

	(void)!write(to, &code, 1);
}

/* ---- in the exporter ---- */

int reader_start(struct reader *reader, const struct mounts_entry *mount, struct error *err)
{
	int r;

	*reader = (struct reader){ .child = CHILD_NONE, .text = malloc(READER_MOST + 2) };
	if (!reader->text)
		return error_no_memory(err);
	r = child_start(&reader->child, reader_main, mount, err);
	if (r < 0) {
		free(reader->text);
		reader->text = NULL;
	}
	return r;
}

bool reader_step(struct reader *reader)
{
	ssize_t n = read(reader->child.fd, reader->text + reader->length, READER_MOST + 2 - reader->length);

	if (n > 0)
		reader->length += (size_t)n;
	return n <= 0 || reader->length == READER_MOST + 2;
}

int reader_finish(struct reader *reader)
{
	if (reader->length == 0)
		return -EIO;
	if (reader->length > READER_MOST + 1)
		return -EFBIG;
	return -(int)(uint8_t)reader->text[--reader->length];
}

void reader_give_up(struct reader *reader)
{
	child_kill(&reader->child, 0);
	free(reader->text);
	reader->text = NULL;
}
