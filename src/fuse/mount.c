/* SPDX-License-Identifier: MIT */
/* Mounts through libfuse, which knows mount(2) and fusermount3, and unmounts by hand, because libfuse's unmount is
 * always lazy for users. */
#define FUSE_USE_VERSION 314
#include "fuse/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_log.h>
#include <fuse_lowlevel.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mountinfo.h"
#include "base/program/invoke.h"
#include "base/program/utab.h"
#include "fuse/farewell.h"
#include "fuse/refusal.h"

struct mount {
	struct fuse_session *session; /* NULL: adopted */
	int adopted;                  /* /dev/fuse of an adopted mount, else -1 */
	char *mountpoint, *source;
	unsigned device_major, device_minor; /* of the mounted filesystem */
	bool noted;   /* in utab */
	struct rendezvous farewell;
};

/* libfuse gives its reason only in a log line. */
static __thread char mount_reason[256];

static void mount_log(enum fuse_log_level level, const char *fmt, va_list ap) printf_like(2, 0);

static void mount_log(enum fuse_log_level level, const char *fmt, va_list ap)
{
	size_t length;

	if (level > FUSE_LOG_ERR || mount_reason[0])
		return;
	vsnprintf(mount_reason, sizeof(mount_reason), fmt, ap);
	length = strlen(mount_reason);
	if (length && mount_reason[length - 1] == '\n')
		mount_reason[length - 1] = 0;
}

/* The kernel takes a value with commas in quotation marks. */
static int mount_add_selinux(const struct selinux *selinux, char **options)
{
	for (unsigned i = 0; i < SELINUX_OPTIONS; i++) {
		auto_free char *option = NULL;

		if (!selinux->values[i])
			continue;
		if (asprintf(&option, "%s=\"%s\"", selinux_names[i], selinux->values[i]) < 0 ||
		    fuse_opt_add_opt_escaped(options, option) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int mount_options(const struct mount_setup *setup, char **ret, struct error *err)
{
	auto_free char *fsname = NULL;
	char *options = NULL;

	if (asprintf(&fsname, "fsname=%s", setup->source) < 0)
		return error_no_memory(err);
	if (fuse_opt_add_opt(&options, "ro,nodev,noatime,default_permissions,subtype=datasetfs") < 0 ||
	    fuse_opt_add_opt_escaped(&options, fsname) < 0 ||
	    (setup->allow_other && fuse_opt_add_opt(&options, "allow_other") < 0) ||
	    fuse_opt_add_opt(&options, setup->suid ? "suid" : "nosuid") < 0 ||
	    (setup->noexec && fuse_opt_add_opt(&options, "noexec") < 0) ||
	    mount_add_selinux(setup->selinux, &options) < 0) {
		free(options);
		return error_no_memory(err);
	}
	*ret = options;
	return 0;
}

static int mount_session(const struct mount_setup *setup, struct fuse_session **ret, struct error *err)
{
	static const struct fuse_lowlevel_ops none; /* libfuse never sees a request */
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	auto_free char *options = NULL;
	int r = mount_options(setup, &options, err);

	if (r < 0)
		return r;
	if (fuse_opt_add_arg(&args, "datasetfs") == 0 && fuse_opt_add_arg(&args, "-o") == 0 &&
	    fuse_opt_add_arg(&args, options) == 0)
		*ret = fuse_session_new(&args, &none, sizeof(none), NULL);
	else
		*ret = NULL;
	fuse_opt_free_args(&args);
	if (!*ret)
		return error_set(err, -EINVAL, "libfuse refuses the options '%s': %s", options,
				 mount_reason[0] ? mount_reason : "no reason given");
	return 0;
}

int mount_fd(const struct mount *mount)
{
	return mount->session ? fuse_session_fd(mount->session) : mount->adopted;
}

bool mount_is_over(const struct mount *mount)
{
	struct pollfd fd = { .fd = mount_fd(mount) };

	return poll(&fd, 1, 0) > 0 && fd.revents & POLLERR;
}

dev_t mount_device(const struct mount *mount)
{
	return makedev(mount->device_major, mount->device_minor);
}

const char *mount_source(const struct mount *mount)
{
	return mount->source;
}

unsigned mount_device_minor(const struct mount *mount)
{
	return mount->device_minor;
}

static int mount_look(const struct mount *mount, struct statx *ret, struct error *err)
{
	/* DONT_SYNC: the kernel answers, even without a server. */
	if (statx(AT_FDCWD, mount->mountpoint, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, ret) < 0)
		return error_errno(err, "cannot look at '%s'", mount->mountpoint);
	return 0;
}

/* Makes the first line that fusermount3 wrote, without its name, the reason: one failure is one line. */
static void mount_take_reason(int fd)
{
	static const char name[] = "fusermount3: ";
	char text[sizeof(mount_reason)];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	const char *line = text;

	if (n <= 0)
		return;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	if (!strncmp(line, name, strlen(name)))
		line += strlen(name);
	snprintf(mount_reason, sizeof(mount_reason), "%s", line);
}

/* Captures standard error, because libfuse lets fusermount3 write to ours. No other thread writes there yet. */
static int mount_session_mount(struct fuse_session *session, const char *mountpoint)
{
	auto_close int capture = memfd_create("fusermount3", MFD_CLOEXEC);
	auto_close int terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	int r;

	if (capture < 0 || terminal < 0 || dup2(capture, STDERR_FILENO) < 0)
		return fuse_session_mount(session, mountpoint);
	r = fuse_session_mount(session, mountpoint);
	dup2(terminal, STDERR_FILENO);
	if (r != 0)
		mount_take_reason(capture);
	return r;
}

static struct mount *mount_new(const char *mountpoint, const char *source)
{
	struct mount *mount = calloc(1, sizeof(*mount));

	if (!mount)
		return NULL;
	mount->adopted = -1;
	mount->farewell = RENDEZVOUS_NONE;
	mount->mountpoint = strdup(mountpoint);
	mount->source = strdup(source);
	if (!mount->mountpoint || !mount->source) {
		mount_free(mount);
		return NULL;
	}
	return mount;
}

/* Nobody serves yet, so no path was looked up before. libfuse does not know the option. */
static int mount_set_nosymfollow(const struct mount *mount, struct error *err)
{
	struct mount_attr attributes = { .attr_set = MOUNT_ATTR_NOSYMFOLLOW };
	int r;

	if (mount_setattr(AT_FDCWD, mount->mountpoint, 0, &attributes, sizeof(attributes)) == 0)
		return 0;
	r = errno == ENOSYS || errno == EINVAL ? error_set(err, -EOPNOTSUPP, "the kernel has no nosymfollow "
							   "(Linux 5.14)") :
						 error_errno(err, "nosymfollow");
	umount2(mount->mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW);
	return r;
}

int mount_open(const char *mountpoint, const struct mount_setup *setup, struct mount **ret,
		 struct error *err)
{
	struct mount *mount = mount_new(mountpoint, setup->source);
	struct statx info;
	int r;

	if (!mount)
		return error_no_memory(err);
	fuse_set_log_func(mount_log);
	mount_reason[0] = 0;
	r = mount_session(setup, &mount->session, err);
	if (r == 0 && mount_session_mount(mount->session, mountpoint) != 0) {
		r = refusal_explain(mount_reason, err);
		if (selinux_has_any(setup->selinux))
			r = error_wrap(err, r, "with labels for SELinux");
	}
	if (r == 0)
		r = mount_look(mount, &info, err);
	if (r == 0 && setup->nosymfollow)
		r = mount_set_nosymfollow(mount, err);
	if (r < 0) {
		mount_free(mount);
		return r;
	}
	mount->device_major = info.stx_dev_major;
	mount->device_minor = info.stx_dev_minor;
	mount->farewell = farewell_listen(mount->device_major, mount->device_minor);
	*ret = mount;
	return 0;
}

bool mount_is_given(const struct mount *mount)
{
	return !strncmp(mount->mountpoint, MOUNT_GIVEN, strlen(MOUNT_GIVEN));
}

/* Finds the device number of the filesystem, which is 0:N. */
static unsigned mount_find_minor(int fuse)
{
	auto_fclose FILE *file = NULL;
	char line[128];
	unsigned device, found = 0;

	snprintf(line, sizeof(line), "/proc/self/fdinfo/%d", fuse);
	file = fopen(line, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "fuse_connection: %u", &device) == 1)
			found = minor((dev_t)device);
	return found;
}

int mount_take(const char *mountpoint, const char *source, int fuse, struct mount **ret, struct error *err)
{
	struct mount *mount = mount_new(mountpoint, source);
	int flags = fcntl(fuse, F_GETFL);

	if (!mount) {
		close(fuse);
		return error_no_memory(err);
	}
	mount->adopted = fuse;
	fcntl(fuse, F_SETFD, FD_CLOEXEC);
	fcntl(fuse, F_SETFL, flags & ~O_NONBLOCK); /* INIT is waited for */
	mount->device_minor = mount_find_minor(fuse);
	*ret = mount;
	return 0;
}

static bool mount_kept_is_sound(const struct mount_kept *kept)
{
	return memchr(kept->farewell_name, 0, sizeof(kept->farewell_name)) &&
	       memchr(kept->farewell_path, 0, sizeof(kept->farewell_path));
}

int mount_adopt(const char *mountpoint, const char *source, const struct mount_kept *kept, int fuse,
		int farewell_folder, int farewell_listener, struct mount **ret, struct error *err)
{
	struct mount *mount = mount_new(mountpoint, source);
	bool is_sound = mount_kept_is_sound(kept);

	if (!mount || !is_sound) {
		mount_free(mount);
		close_fd(&farewell_listener);
		close_fd(&farewell_folder);
		close_fd(&fuse);
		return is_sound ? error_no_memory(err) :
				  error_set(err, -EPROTO, "the name or path of the mount's socket has no end");
	}
	mount->adopted = fuse;
	mount->device_major = kept->device_major;
	mount->device_minor = kept->device_minor;
	mount->noted = kept->noted;
	rendezvous_adopt(&mount->farewell, farewell_folder, farewell_listener, kept->farewell_name,
			 kept->farewell_path);
	*ret = mount;
	return 0;
}

void mount_keep(const struct mount *mount, struct mount_kept *ret)
{
	*ret = (struct mount_kept){
		.device_major = mount->device_major,
		.device_minor = mount->device_minor,
		.noted = mount->noted,
	};
	memcpy(ret->farewell_name, mount->farewell.name, sizeof(ret->farewell_name));
	memcpy(ret->farewell_path, mount->farewell.path, sizeof(ret->farewell_path));
}

const struct rendezvous *mount_rendezvous(const struct mount *mount)
{
	return &mount->farewell;
}

void mount_note(struct mount *mount)
{
	mount->noted = !mount_is_given(mount) && utab_add(mount->source, mount->mountpoint);
}

/* Compares device numbers, because another filesystem may be mounted there by now. */
static bool mount_is_ours(const struct mount *mount)
{
	struct statx info;

	return mount_look(mount, &info, NULL) == 0 && info.stx_dev_major == mount->device_major &&
	       info.stx_dev_minor == mount->device_minor;
}

/* Unmounts by fusermount3. Any refusal is -EBUSY, because fusermount3 has one exit status for all. */
static int mount_detach_helper(const struct mount *mount, bool lazy, struct error *err)
{
	const char *argv[] = { "fusermount3", lazy ? "-uz" : "-u", "--", mount->mountpoint, NULL };
	auto_close int capture = memfd_create("fusermount3", MFD_CLOEXEC);
	int r;

	if (capture < 0)
		return error_errno(err, "memfd_create");
	r = invoke_run(argv, (struct invoke_streams){ -1, -1, capture }, NULL, err);
	if (r <= 0)
		return r;
	r = refusal_check_table(err);
	if (r < 0)
		return r;
	mount_reason[0] = 0;
	mount_take_reason(capture);
	return error_set(err, -EBUSY, "fusermount3: %s", mount_reason[0] ? mount_reason : "no reason given");
}

/* Fails if the filesystem is mounted there. */
static int mount_refuse_there(void *argument, const struct mountinfo *info, struct error *err)
{
	const struct mount *mount = argument;

	if (info->device != makedev(mount->device_major, mount->device_minor))
		return 0;
	return error_set(err, -EBUSY, "it was moved or something is mounted over it, 'umount %s' ends it", info->point);
}

int mount_unmount(struct mount *mount, bool lazy, struct error *err)
{
	if (mount_is_given(mount))
		return 0;
	if (!mount_is_ours(mount))
		return mountinfo_each(mount_refuse_there, mount, err);
	if (geteuid() != 0)
		return mount_detach_helper(mount, lazy, err);
	if (umount2(mount->mountpoint, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) < 0)
		return error_errno(err, "cannot unmount '%s'", mount->mountpoint);
	if (mount->noted)
		utab_remove(mount->mountpoint);
	return 0;
}

/* Frees libfuse's state of a mount. libfuse would also unmount a filesystem that still answers, so that is skipped. */
static void mount_forget(struct fuse_session *session)
{
	struct pollfd fd = { .fd = fuse_session_fd(session) };

	if (poll(&fd, 1, 0) == 1 && (fd.revents & POLLERR))
		fuse_session_unmount(session);
}

void mount_farewell(struct mount *mount)
{
	if (mount)
		rendezvous_close(&mount->farewell);
}

void mount_free(struct mount *mount)
{
	if (!mount)
		return;
	mount_farewell(mount);
	if (mount->session) {
		mount_forget(mount->session);
		fuse_session_destroy(mount->session);
	}
	close_fd(&mount->adopted);
	free(mount->mountpoint);
	free(mount->source);
	free(mount);
}
