/* SPDX-License-Identifier: MIT */
/* Messages of the kubelet to datasetfs-csi: the first byte says which one follows. What a pod chose stays apart from
 * what the administrator said, and a target stays below the kubelet's root. */
#include <string.h>

#include "base/cleanup.h"
#include "csi/request.h"
#include "csi/target.h"
#include "csi/wish.h"
#include "fuzz/fuzz.h"

static void must(bool holds)
{
	if (!holds)
		__builtin_trap();
}

static void check_target(const char *path)
{
	const struct target_root root = { .given = "/var/lib/kubelet", .real = "/srv/kubelet" };
	struct error err = { 0 };
	char target[PATH_MAX];

	if (target_path(&root, path, target, &err) < 0) {
		must(err.reason[0]);
		return;
	}
	must(!strncmp(target, "/srv/kubelet/", 13) && target[13]);
	must(!strstr(target, "/../") && !strstr(target, "//"));
}

static void check_wish(const struct wish *wish)
{
	must(!strcmp(wish->volume, "/srv/train.dsfs"));
	must(wish->options && !strcmp(wish->options, "readahead=4M"));
	must(wish->want_count <= WISH_WANTS);
	for (size_t i = 0; i < wish->want_count; i++)
		must(strchr(wish->wants[i], '='));
}

static void check_publish(const struct request *request)
{
	struct named set = { "train", "/srv/train.dsfs", "readahead=4M" };
	const struct named_list named = { "datasets.conf", &set, 1 };
	auto_wish struct wish wish = { 0 };
	struct error err = { 0 };

	if (request->target)
		check_target(request->target);
	if (!request->volume)
		return;
	if (wish_read(request, &named, &(struct conf){ .trust = NULL }, &wish, &err) < 0) {
		must(err.reason[0]);
		return;
	}
	for (size_t i = 0; i < request->attribute_count; i++)
		if (!strcmp(request->attributes[i].key, "dataset") && !strcmp(request->attributes[i].value, "train"))
			check_wish(&wish);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	auto_request struct request request = { 0 };
	auto_free char *reason = NULL;
	struct error err = { 0 };
	struct span message;
	int r;

	if (!length)
		return 0;
	message = span_of(bytes + 1, length - 1);
	if (*bytes % 3 == 2)
		r = request_status(message, &reason, &err);
	else if (*bytes % 3 == 1)
		r = request_target(message, &request, &err);
	else
		r = request_publish(message, &request, &err);
	must(r == 0 || err.reason[0]);
	if (r == 0)
		check_publish(&request);
	return 0;
}
