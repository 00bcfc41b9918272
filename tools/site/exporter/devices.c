/* SPDX-License-Identifier: MIT */
/* Counts what the devices of its members have read, for whomever. */
#include "exporter/devices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text/label.h"
#include "base/text/memstream.h"
#include "base/transfer.h"
#include "device/kernel_view.h"

static void devices_family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP datasetfs_%s %s\n# TYPE datasetfs_%s %s\n", name, help, name, type);
}

static void devices_number(FILE *out, const char *name, const char *type, const char *help, uint64_t value)
{
	devices_family(out, name, type, help);
	fprintf(out, "datasetfs_%s %" PRIu64 "\n", name, value);
}

static void devices_version(const struct mount_record *record, FILE *out)
{
	devices_family(out, "version_info", "gauge", "The version that the mount serves; the value is always 1.");
	fputs("datasetfs_version_info{", out);
	label_write(out, "version", record->label);
	fputc(',', out);
	label_write(out, "digest", record->digest ? record->digest : "");
	fprintf(out, ",sequence=\"%" PRIu64 "\",", record->sequence);
	label_write(out, "volume_uuid", record->volume_uuid ? record->volume_uuid : "");
	fputc(',', out);
	label_write(out, "volume", record->volume);
	fputs("} 1\n", out);
}

static void devices_print(const struct kernel_view *view, FILE *out)
{
	struct activity sum = kernel_view_sum(view);

	devices_version(&view->record, out);
	devices_number(out, "switches_total", "counter", "Switches to another version.", view->record.switches);
	devices_number(out, "device_reads_total", "counter", "Reads of the volume.", sum.reads);
	devices_number(out, "device_read_bytes_total", "counter", "Bytes read from the volume.", sum.bytes);
	devices_family(out, "kernel_read_seconds_total", "counter",
		       "Time that the reads of a mount by the kernel took, added up.");
	fprintf(out, "datasetfs_kernel_read_seconds_total %.3f\n", (double)sum.waited / 1e3);
	devices_number(out, "kernel_reads_in_flight", "gauge", "Reads of a mount by the kernel under way.",
		       sum.in_flight);
	devices_number(out, "kernel_image_bytes", "gauge", "Memory of the metadata of a mount by the kernel.",
		       view->image_bytes);
}

int devices_write(const struct mounts_entry *mount, int to)
{
	auto_kernel_view struct kernel_view view = { .count = 0 };
	auto_free char *text = NULL;
	size_t length = 0;
	int r = kernel_view_read(mount->point, mount->device, &view, NULL);
	FILE *out = r < 0 ? NULL : memstream_open(&text, &length);

	if (!out)
		return r < 0 ? -r : ENOMEM;
	devices_print(&view, out);
	if (memstream_close(out, &text, NULL) < 0)
		return ENOMEM;
	return transfer_write(to, text, length) < 0 ? errno : 0;
}
