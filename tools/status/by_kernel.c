/* SPDX-License-Identifier: MIT */
/* Prints what its record and its devices tell. */
#include "status/by_kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "device/kernel_view.h"
#include "text.h"

static void by_kernel_version(const struct mount_record *record)
{
	char when[TEXT_TIME_SIZE], span[TEXT_SPAN_SIZE];

	if (record->sequence)
		text_print("\n  label             %s, sequence %" PRIu64 "\n", record->label, record->sequence);
	if (record->since)
		text_print("  served            for %s, since %s UTC, after %" PRIu64 " switch%s\n",
			   text_span(difftime(time(NULL), (time_t)record->since), span),
			   text_time((int64_t)record->since, when), record->switches,
			   record->switches == 1 ? "" : "es");
}

static void by_kernel_device(const struct activity *device)
{
	double each = device->reads ? (double)device->waited / (double)device->reads : 0;
	char bytes[SIZE_TEXT_SIZE];

	text_print("  %-16s  %" PRIu64 " read%s since then, %s, %.1f ms each, %" PRIu64 " in flight\n", device->name,
		   device->reads, format_plural(device->reads), format_size(device->bytes, bytes), each,
		   device->in_flight);
}

void by_kernel_print(const struct mounted *mounted)
{
	auto_kernel_view struct kernel_view view = { .count = 0 };
	char bytes[SIZE_TEXT_SIZE];

	text_print("the kernel serves '%s': version '%s' of '%s' (-o kernel)\n", mounted->point, mounted->label,
		   mounted->source);
	text_print("nothing is verified; 'datasetfsctl verify %s' reads the volume\n", mounted->source);
	if (kernel_view_read(mounted->point, mounted->device, &view, NULL) < 0)
		return;
	by_kernel_version(&view.record);
	text_print("  metadata          %s in memory\n", format_size(view.image_bytes, bytes));
	for (int i = 0; i < view.count; i++)
		by_kernel_device(&view.devices[i]);
	if (view.gone)
		text_print("  gone              %u device%s: reads of what lies there fail; unmount, and mount again\n",
			   view.gone, format_plural(view.gone));
}

static void by_kernel_view_json(const struct kernel_view *view, struct json *json)
{
	const struct mount_record *record = &view->record;

	json_string(json, "uuid", record->uuid ? record->uuid : "");
	json_string(json, "digest", record->digest ? record->digest : "");
	json_number(json, "sequence", record->sequence);
	json_number(json, "serving_since", record->since);
	json_number(json, "switches", record->switches);
	json_number(json, "image_bytes", view->image_bytes);
	json_number(json, "devices_gone", view->gone);
	json_begin_array(json, "devices");
	for (int i = 0; i < view->count; i++) {
		json_begin_object(json, NULL);
		json_string(json, "name", view->devices[i].name);
		json_number(json, "reads", view->devices[i].reads);
		json_number(json, "bytes", view->devices[i].bytes);
		json_number(json, "wait_ms", view->devices[i].waited);
		json_number(json, "in_flight", view->devices[i].in_flight);
		json_end_object(json);
	}
	json_end_array(json);
}

void by_kernel_json(const struct mounted *mounted)
{
	auto_kernel_view struct kernel_view view = { .count = 0 };
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "mount", mounted->point);
	json_string(&json, "source", mounted->source);
	json_bool(&json, "kernel", true);
	json_string(&json, "label", mounted->label);
	if (kernel_view_read(mounted->point, mounted->device, &view, NULL) == 0)
		by_kernel_view_json(&view, &json);
	json_end_object(&json);
	putchar('\n');
}
