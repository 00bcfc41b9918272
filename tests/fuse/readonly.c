/* SPDX-License-Identifier: MIT */
/* The expectations of pjdfstest for a read-only filesystem: every call that would change it fails with EROFS.
 * usage: readonly MOUNT OUTSIDE: MOUNT has file, dir/, dir/inside, empty/ and link; OUTSIDE is a writable directory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static int checks, failures;
static char outside[3000];

static void check(const char *what, long result, int found, int expected)
{
	checks++;
	if (result == -1 && found == expected)
		return;
	failures++;
	if (result == -1)
		printf("%s: errno %d (%s), expected %d (%s)\n", what, found, strerror(found), expected,
		       strerror(expected));
	else
		printf("%s: worked, expected %s\n", what, strerror(expected));
}

#define EXPECT(expected, call)                           \
	do {                                             \
		long result_;                            \
		errno = 0;                               \
		result_ = (long)(call);                  \
		check(#call, result_, errno, expected);  \
	} while (0)
#define READ_ONLY(call) EXPECT(EROFS, call)

static int bind_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int r;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	r = bind(fd, (struct sockaddr *)&address, sizeof(address));
	close(fd);
	return r;
}

static void opens(void)
{
	READ_ONLY(open("file", O_WRONLY));
	READ_ONLY(open("file", O_RDWR));
	READ_ONLY(open("file", O_RDONLY | O_TRUNC));
	READ_ONLY(open("file", O_WRONLY | O_TRUNC));
	READ_ONLY(open("file", O_WRONLY | O_APPEND));
	READ_ONLY(open("file", O_RDWR | O_CREAT, 0644));
	READ_ONLY(open("new", O_RDONLY | O_CREAT, 0644));
	READ_ONLY(open("new", O_WRONLY | O_CREAT | O_EXCL, 0644));
	READ_ONLY(creat("new", 0644));
	READ_ONLY(creat("file", 0644));
	READ_ONLY(open("dir/new", O_RDWR | O_CREAT, 0644));
	READ_ONLY(open("dir", O_TMPFILE | O_RDWR, 0600));
	READ_ONLY(open(".", O_TMPFILE | O_WRONLY, 0600));
	EXPECT(EEXIST, open("file", O_WRONLY | O_CREAT | O_EXCL, 0644));
	EXPECT(EISDIR, open("dir", O_WRONLY));
	EXPECT(ENOENT, open("missing", O_WRONLY));
	READ_ONLY(access("file", W_OK));
	READ_ONLY(access("dir", W_OK));
	READ_ONLY(access(".", W_OK));
}

static void names(void)
{
	READ_ONLY(mkdir("new", 0755));
	READ_ONLY(mkdir("dir/new", 0755));
	READ_ONLY(mknod("new", S_IFREG | 0644, 0));
	READ_ONLY(mknod("new", S_IFIFO | 0644, 0));
	READ_ONLY(mknod("new", S_IFCHR | 0644, 0x103));
	READ_ONLY(mknod("new", S_IFBLK | 0644, 0x103));
	READ_ONLY(mknod("new", S_IFSOCK | 0644, 0));
	READ_ONLY(mkfifo("new", 0644));
	READ_ONLY(symlink("file", "new"));
	READ_ONLY(link("file", "new"));
	READ_ONLY(link("file", "dir/new"));
	READ_ONLY(link("link", "new"));
	READ_ONLY(bind_socket("new"));
	EXPECT(EEXIST, mkdir("dir", 0755));
	EXPECT(EEXIST, symlink("x", "file"));
	READ_ONLY(unlink("file"));
	READ_ONLY(unlink("dir/inside"));
	READ_ONLY(unlink("link"));
	READ_ONLY(rmdir("empty"));
	READ_ONLY(rmdir("dir"));
	READ_ONLY(rename("file", "new"));
	READ_ONLY(rename("file", "dir/inside"));
	READ_ONLY(rename("dir", "new"));
	READ_ONLY(rename("link", "new"));
	READ_ONLY(rename("dir/inside", "new"));
	READ_ONLY(syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, "new", RENAME_NOREPLACE));
	READ_ONLY(syscall(SYS_renameat2, AT_FDCWD, "file", AT_FDCWD, "dir/inside", RENAME_EXCHANGE));
	EXPECT(EXDEV, rename("file", outside));
	EXPECT(EXDEV, link("file", outside));
}

static void attributes_of(const char *name)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };

	READ_ONLY(chmod(name, 0600));
	READ_ONLY(chown(name, 1, 1));
	READ_ONLY(lchown(name, 1, 1));
	READ_ONLY(chown(name, -1, -1));
	READ_ONLY(utime(name, NULL));
	READ_ONLY(utimes(name, NULL));
	READ_ONLY(utimensat(AT_FDCWD, name, times, 0));
	READ_ONLY(utimensat(AT_FDCWD, name, times, AT_SYMLINK_NOFOLLOW));
	READ_ONLY(setxattr(name, "user.new", "v", 1, 0));
	READ_ONLY(setxattr(name, "user.new", "v", 1, XATTR_CREATE));
	READ_ONLY(setxattr(name, "trusted.new", "v", 1, 0));
	READ_ONLY(setxattr(name, "security.new", "v", 1, 0));
	READ_ONLY(removexattr(name, "user.new"));
	READ_ONLY(removexattr(name, "user.here"));
	READ_ONLY(lsetxattr(name, "trusted.new", "v", 1, 0));
	READ_ONLY(lremovexattr(name, "trusted.new"));
}

static void attributes(void)
{
	struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 2 } };

	attributes_of("file");
	attributes_of("dir");
	attributes_of("dir/inside");
	attributes_of("link");
	attributes_of(".");
	READ_ONLY(utimensat(AT_FDCWD, "link", times, AT_SYMLINK_NOFOLLOW));
	READ_ONLY(lchown("link", 5, 5));
	READ_ONLY(truncate("file", 0));
	READ_ONLY(truncate("file", 1 << 20));
	EXPECT(EISDIR, truncate("dir", 0));
}

static void descriptors_of(const char *name)
{
	struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 2 } };
	int fd = open(name, O_RDONLY);
	int flags = FS_NOATIME_FL;

	if (fd < 0) {
		check(name, 0, errno, 0);
		return;
	}
	READ_ONLY(fchmod(fd, 0600));
	READ_ONLY(fchown(fd, 1, 1));
	READ_ONLY(futimens(fd, times));
	READ_ONLY(fsetxattr(fd, "user.new", "v", 1, 0));
	READ_ONLY(fremovexattr(fd, "user.here"));
	READ_ONLY(ioctl(fd, FS_IOC_SETFLAGS, &flags));
	EXPECT(EINVAL, ftruncate(fd, 0));
	EXPECT(EBADF, write(fd, "x", 1));
	EXPECT(EBADF, pwrite(fd, "x", 1, 0));
	EXPECT(EBADF, fallocate(fd, 0, 0, 4096));
	EXPECT(EBADF, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
	close(fd);
}

static void descriptors(void)
{
	int fd = open("file", O_RDONLY);

	descriptors_of("file");
	descriptors_of("dir");
	EXPECT(EACCES, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
	EXPECT(EBADF, copy_file_range(fd, NULL, fd, &(loff_t){ 8192 }, 10, 0));
	EXPECT(EBADF, ioctl(fd, FICLONE, fd));
	EXPECT(EROFS, unlinkat(open("dir", O_PATH), "inside", 0));
	EXPECT(EROFS, mkdirat(open("dir", O_PATH), "new", 0755));
	close(fd);
}

/* The filesystem's own nodes are as read-only as the rest. */
static void own_nodes(void)
{
	READ_ONLY(unlink(".datasetfs/version"));
	READ_ONLY(rmdir(".datasetfs"));
	READ_ONLY(open(".datasetfs/version", O_WRONLY));
	READ_ONLY(open(".datasetfs/new", O_RDWR | O_CREAT, 0644));
	READ_ONLY(chmod(".datasetfs", 0777));
	READ_ONLY(rename(".datasetfs/version", "new"));
}

int main(int argc, char **argv)
{
	if (argc != 3 || chdir(argv[1]) < 0) {
		fprintf(stderr, "usage: readonly MOUNT OUTSIDE\n");
		return 2;
	}
	snprintf(outside, sizeof(outside), "%s/new", argv[2]);
	opens();
	names();
	attributes();
	descriptors();
	own_nodes();
	printf("%d checks, %d failures\n", checks, failures);
	return failures ? 1 : 0;
}
