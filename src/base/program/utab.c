/* SPDX-License-Identifier: MIT */
/* Runs mount(8) with -i -f, which does everything but the mount. */
#include "base/program/utab.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "base/program/invoke.h"

static bool utab_run(const char *const argv[])
{
	auto_close int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct error err = { 0 };
	int status = invoke_run(argv, (struct invoke_streams){ -1, -1, nowhere }, NULL, &err);

	if (status == 0)
		return true;
	log_debug("%s does not note the mount: %s", argv[0], status < 0 ? err.reason : "it failed");
	return false;
}

bool utab_add(const char *source, const char *mountpoint)
{
	const char *argv[] = { "/bin/mount", "-i", "-f", "--no-canonicalize", "-t", MOUNTINFO_OURS, "-o",
			 "ro,helper=datasetfs", "--", source, mountpoint, NULL };

	return geteuid() == 0 && access(UTAB_HELPER, X_OK) == 0 && utab_run(argv);
}

void utab_remove(const char *mountpoint)
{
	const char *argv[] = { "/bin/umount", "-i", "--fake", "--no-canonicalize", "--", mountpoint, NULL };

	utab_run(argv);
}
