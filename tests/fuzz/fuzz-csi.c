/* SPDX-License-Identifier: MIT */
/* Messages of the kubelet to datasetfs-csi: the first byte says which one follows. Each attribute that a pod chose
 * stays one argument of a command line, and a target stays below the kubelet's root. */
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

/* datasetfsctl attach [--want NAME=VALUE]… -o OPTIONS -- VOLUME TARGET */
static void check_words(char *const *words)
{
	size_t at = 2;

	must(words[0] && words[1] && !strcmp(words[1], "attach"));
	for (; words[at] && !strcmp(words[at], "--want"); at += 2)
		must(words[at + 1] && strchr(words[at + 1], '='));
	must(words[at] && !strcmp(words[at], "-o"));
	must(!strcmp(words[at + 1], "readahead=4M"));
	must(!strcmp(words[at + 2], "--"));
	must(!strcmp(words[at + 3], "/srv/train.dsfs"));
	must(!strcmp(words[at + 4], "target") && !words[at + 5]);
}

static void check_publish(const struct request *request)
{
	struct named set = { "train", "/srv/train.dsfs", "readahead=4M" };
	const struct named_list named = { "datasets.conf", &set, 1 };
	struct error err = { 0 };
	char **words;

	if (request->target)
		check_target(request->target);
	if (!request->volume)
		return;
	if (wish_command(request, &named, false, "target", &words, &err) < 0) {
		must(err.reason[0]);
		return;
	}
	for (size_t i = 0; i < request->attribute_count; i++)
		if (!strcmp(request->attributes[i].key, "dataset") && !strcmp(request->attributes[i].value, "train"))
			check_words(words);
	wish_free(words);
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
