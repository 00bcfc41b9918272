/* SPDX-License-Identifier: MIT */
/* Opens .datasetfs/control in two steps that neither follow a link nor leave the mount. A folder that is mounted alone
 * has no such file and is asked itself. */
#include "lib/question.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "datasetfs/control.h"

#define QUESTION_FILE  "'" DSFS_CONTROL_FOLDER "/" DSFS_CONTROL_CONTROL "' of the mount"
#define QUESTION_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

static int question_open(int mount, int *ret, struct error *err)
{
	auto_close int folder = openat(mount, DSFS_CONTROL_FOLDER, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0)
		return error_errno(err, QUESTION_FILE);
	*ret = openat(folder, DSFS_CONTROL_CONTROL, QUESTION_FLAGS);
	return *ret < 0 ? error_errno(err, QUESTION_FILE) : 0;
}

static int question_open_file(int mount, int *ret, struct error *err)
{
	struct stat root, st;
	int r = question_open(mount, ret, err);

	if (r < 0)
		return r;
	if (fstat(mount, &root) < 0 || fstat(*ret, &st) < 0)
		return error_errno(err, QUESTION_FILE);
	if (!S_ISREG(st.st_mode) || st.st_dev != root.st_dev)
		return error_set(err, -EBADMSG, QUESTION_FILE " is not a regular file in it");
	return 0;
}

static int question_open_folder(int folder, int *ret, struct error *err)
{
	*ret = openat(folder, ".", QUESTION_FLAGS | O_DIRECTORY);
	return *ret < 0 ? error_errno(err, "a folder of a mount") : 0;
}

int question_ask(int mount, unsigned long command, void *argument, struct error *err)
{
	auto_close int fd = -1;
	struct stat st;
	bool is_part = fstat(mount, &st) == 0 && question_is_part(&st);
	int r = is_part ? question_open_folder(mount, &fd, err) : question_open_file(mount, &fd, err);
	const char *whom = is_part ? "a folder of a mount" : QUESTION_FILE;

	if (r < 0)
		return r;
	r = ioctl(fd, command, argument);
	if (r < 0)
		return error_errno(err, "cannot ask %s", whom);
	return r ? error_set(err, -EBADMSG, "%s answers with %d, expected 0", whom, r) : 0;
}
