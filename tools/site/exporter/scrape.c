/* SPDX-License-Identifier: MIT */
/* The child sends the text, and then one byte with an errno. */
#include "exporter/scrape.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/transfer.h"
#include "datasetfs/control.h"
#include "device/dotfile.h"
#include "exporter/devices.h"

/* ---- in the process ---- */

static int scrape_copy(int from, int to)
{
	char buffer[16384];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		if (transfer_write(to, buffer, (size_t)n) < 0)
			return errno;
	return n < 0 ? errno : 0;
}

/* Copies the metrics of the mount to the exporter; checks first whether another filesystem was mounted over it. */
static int scrape_copy_mount(const struct mounts_entry *mount, int to)
{
	struct error err = { 0 };
	struct stat st;
	int file, r = dotfile_open(mount->point, DSFS_CONTROL_METRICS, &file, &err);

	if (r < 0)
		return -r;
	r = fstat(file, &st) < 0 ? errno : st.st_dev != mount->device ? ENOENT : scrape_copy(file, to);
	/* The file stays open: closing it would ask the daemon once more, and the exit of the process closes it
	 * anyway. */
	return r;
}

static void scrape_main(const void *mount, int to)
{
	const struct mounts_entry *entry = mount;
	uint8_t code = (uint8_t)(entry->is_kernels ? devices_write(entry, to) : scrape_copy_mount(entry, to));

	(void)!write(to, &code, 1);
}

/* ---- in the exporter ---- */

int scrape_start(struct scrape *scrape, const struct mounts_entry *mount, struct error *err)
{
	int r;

	*scrape = (struct scrape){ .child = CHILD_NONE, .text = malloc(SCRAPE_MOST + 2) };
	if (!scrape->text)
		return error_no_memory(err);
	r = child_start(&scrape->child, scrape_main, mount, err);
	if (r < 0) {
		free(scrape->text);
		scrape->text = NULL;
	}
	return r;
}

bool scrape_step(struct scrape *scrape)
{
	ssize_t n = read(scrape->child.fd, scrape->text + scrape->length, SCRAPE_MOST + 2 - scrape->length);

	if (n > 0)
		scrape->length += (size_t)n;
	return n <= 0 || scrape->length == SCRAPE_MOST + 2;
}

int scrape_finish(struct scrape *scrape)
{
	if (scrape->length == 0)
		return -EIO;
	if (scrape->length > SCRAPE_MOST + 1)
		return -EFBIG;
	return -(int)(uint8_t)scrape->text[--scrape->length];
}

void scrape_give_up(struct scrape *scrape)
{
	child_kill(&scrape->child, 0);
	free(scrape->text);
	scrape->text = NULL;
}
