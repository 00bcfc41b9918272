/* SPDX-License-Identifier: MIT */
/* Calls that cannot be answered from memory: the file itself must be behind the number. */
#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

int __poll(struct pollfd *items, nfds_t count, int timeout);
int __poll_chk(struct pollfd *items, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *items, nfds_t count, const struct timespec *limit, const sigset_t *mask, size_t room);
int __select(int count, fd_set *in, fd_set *out, fd_set *other, struct timeval *limit);
int __dup2(int fd, int other);
int __connect(int fd, const struct sockaddr *address, socklen_t size);
ssize_t __send(int fd, const void *data, size_t size, int flags) __attribute__((weak)); /* not on AArch64 */
ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags, struct sockaddr *from, socklen_t *n);
int __ttyname_r_chk(int fd, char *buffer, size_t size, size_t room);
int __ptsname_r_chk(int fd, char *buffer, size_t size, size_t room);

/* The compiler knows that a path is never missing. */
static const char *volatile no_path;

static long mapped(int fd, int protection, int flags, off_t offset, bool closed)
{
	size_t size = 1000;
	char *map = mmap(NULL, size, protection, flags, fd, offset);

	if (map == MAP_FAILED)
		return -1;
	if (closed)
		close(fd);
	if (offset + (off_t)size <= calls_size)
		calls_note(map, size);
	munmap(map, size);
	return 0;
}

static long mapped64(int fd)
{
	char *map = mmap64(NULL, 10, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return -1;
	if (calls_size >= 10)
		calls_note(map, 10);
	munmap(map, 10);
	return 0;
}

/* Both read on, from one position. */
static long shared(int fd, int copy)
{
	long ret = copy;

	if (copy < 0)
		return copy;
	read(copy, bytes, 5);
	read(fd, bytes + 5, 5);
	lseek(copy, 20, SEEK_SET);
	read(fd, bytes + 10, 5);
	close(copy);
	return ret;
}

static void copies_of_numbers(void)
{
	CALL("dup", shared(fd, dup(fd)))
	CALL("dup drained", calls_drain(dup(fd)))
	CALL("dup of dup", calls_drain(dup(dup2(fd, 40))) + close(40))
	CALL("dup2 free", shared(fd, dup2(fd, 30)))
	CALL("dup2 itself", dup2(fd, fd))
	CALL("dup2 -1", dup2(fd, -1))
	CALL("dup2 far", dup2(fd, 1 << 30))
	CALL("__dup2", shared(fd, __dup2(fd, 30)))
	CALL("dup3", shared(fd, dup3(fd, 30, 0)))
	CALL("dup3 O_CLOEXEC", calls_drain(dup3(fd, 30, O_CLOEXEC)))
	CALL("dup3 itself", dup3(fd, fd, 0))
	CALL("dup3 unknown", dup3(fd, 30, 1))
	CALL("dup, close the first", (dup2(fd, 30), close(fd), calls_drain(30)))
	CALL("mmap", mapped(fd, PROT_READ, MAP_PRIVATE, 0, false))
	CALL("mmap shared", mapped(fd, PROT_READ, MAP_SHARED, 0, false))
	CALL("mmap to write", mapped(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, false))
	CALL("mmap shared to write", mapped(fd, PROT_READ | PROT_WRITE, MAP_SHARED, 0, false))
	CALL("mmap a page on", mapped(fd, PROT_READ, MAP_PRIVATE, 4096, false))
	CALL("mmap half a page on", mapped(fd, PROT_READ, MAP_PRIVATE, 2048, false))
	CALL("mmap and close", mapped(fd, PROT_READ, MAP_PRIVATE, 0, true))
	CALL("mmap anonymous", mapped(fd, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0, false))
	CALL("mmap64", mapped64(fd))
}

static void space_and_locks(void)
{
	CALL("readahead", readahead(fd, 0, 4096))
	CALL("sync_file_range", sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE))
	CALL("fsync", fsync(fd))
	CALL("fdatasync", fdatasync(fd))
	CALL("syncfs", syncfs(fd))
	CALL("ftruncate", ftruncate(fd, 5))
	CALL("ftruncate64", ftruncate64(fd, 5))
	CALL("fallocate", fallocate(fd, 0, 0, 10))
	CALL("fallocate64", fallocate64(fd, 0, 0, -1))
	CALL("posix_fallocate", posix_fallocate(fd, 0, 10))
	CALL("posix_fallocate64", posix_fallocate64(fd, 0, -1))
	CALL("flock LOCK_SH", flock(fd, LOCK_SH))
	CALL("flock LOCK_EX", flock(fd, LOCK_EX | LOCK_NB))
	CALL("flock LOCK_UN", flock(fd, LOCK_UN))
	CALL("lockf F_TEST", lockf(fd, F_TEST, 10))
	CALL("lockf F_TLOCK", lockf(fd, F_TLOCK, 10))
	CALL("lockf64 F_ULOCK", lockf64(fd, F_ULOCK, 0))
}

static void names_below(void)
{
	CALL("fdopendir", fdopendir(fd) ? 0 : -1)
	CALL("fchdir", fchdir(fd))
	CALL("fchmod", fchmod(fd, 0600))
	CALL("fchown", fchown(fd, 1, 1))
	CALL("futimens", futimens(fd, NULL))
	CALL("futimes", futimes(fd, NULL))
	CALL("futimesat", futimesat(fd, no_path, NULL))
	CALL("utimensat", utimensat(fd, no_path, NULL, 0))
	CALL("utimensat of it", utimensat(fd, "", NULL, AT_EMPTY_PATH))
	CALL("fchownat", fchownat(fd, "", 1, 1, AT_EMPTY_PATH))
	CALL("fchmodat", fchmodat(fd, "name", 0600, 0))
	CALL("faccessat R_OK", faccessat(fd, "", R_OK, AT_EMPTY_PATH))
	CALL("faccessat W_OK", faccessat(fd, "", W_OK, AT_EMPTY_PATH))
	CALL("faccessat X_OK", faccessat(fd, "", X_OK, AT_EMPTY_PATH))
	CALL("linkat", linkat(fd, "", AT_FDCWD, "linked", AT_EMPTY_PATH))
	CALL("linkat a path", linkat(fd, "name", AT_FDCWD, "linked", 0))
	CALL("linkat to it", linkat(AT_FDCWD, calls_other, fd, "linked", 0))
	CALL("readlinkat", readlinkat(fd, "", (char *)bytes, 100))
	CALL("readlinkat a name", readlinkat(fd, "name", (char *)bytes, 100))
	CALL("mkdirat", mkdirat(fd, "name", 0700))
	CALL("mkfifoat", mkfifoat(fd, "name", 0700))
	CALL("mknodat", mknodat(fd, "name", S_IFREG | 0700, 0))
	CALL("symlinkat", symlinkat("to", fd, "name"))
	CALL("unlinkat", unlinkat(fd, "name", 0))
	CALL("renameat", renameat(fd, "name", AT_FDCWD, "new"))
	CALL("renameat2", renameat2(AT_FDCWD, "name", fd, "new", RENAME_NOREPLACE))
}

static long handle(int fd)
{
	struct file_handle *found = (struct file_handle *)bytes;
	int mount;
	long ret;

	found->handle_bytes = MAX_HANDLE_SZ;
	ret = name_to_handle_at(fd, "", found, &mount, AT_EMPTY_PATH);
	calls_note(&mount, ret == 0 ? sizeof(mount) : 0);
	return ret;
}

static long by_handle(int fd)
{
	struct file_handle *found = (struct file_handle *)bytes;
	int mount;

	found->handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(AT_FDCWD, calls_other, found, &mount, 0) < 0)
		return -2;
	return calls_drain(open_by_handle_at(fd, found, O_RDONLY));
}

/* Numbers of message queues, processes and terminals are none of ours. */
static void strangers(void)
{
	siginfo_t found;

	CALL("mq_send", mq_send(fd, "x", 1, 0))
	CALL("mq_receive", mq_receive(fd, (char *)bytes, 100, NULL))
	CALL("mq_getattr", mq_getattr(fd, (struct mq_attr *)bytes))
	CALL("mq_notify", mq_notify(fd, NULL))
	CALL("mq_close", mq_close(fd))
	CALL("mq_close, reused", (mq_close(fd), calls_drain(open(calls_other, O_RDONLY))))
	CALL("waitid", waitid(P_PIDFD, fd, &found, WEXITED | WNOHANG))
	CALL("prctl", prctl(PR_SET_MM, PR_SET_MM_EXE_FILE, fd, 0, 0))
	CALL("backtrace_symbols_fd", (backtrace_symbols_fd((void *[]) { strangers }, 1, fd), 0))
}

static long attached(int tree)
{
	if (tree < 0)
		return -1;
	close(tree);
	return tree;
}

static void properties(void)
{
	struct mount_attr attributes = { .attr_set = MOUNT_ATTR_NOEXEC };

	CALL("name_to_handle_at", handle(fd))
	CALL("open_by_handle_at", by_handle(fd))
	CALL("open_tree", attached(open_tree(fd, "", AT_EMPTY_PATH)))
	CALL("open_tree below", attached(open_tree(fd, "name", 0)))
	CALL("move_mount", move_mount(fd, "", AT_FDCWD, "none", MOVE_MOUNT_F_EMPTY_PATH))
	CALL("mount_setattr", mount_setattr(fd, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)))
	CALL("fspick", attached(fspick(fd, "", FSPICK_EMPTY_PATH)))
	CALL("fsconfig", fsconfig(fd, FSCONFIG_SET_FLAG, "ro", NULL, 0))
	CALL("fsmount", attached(fsmount(fd, 0, 0)))
	CALL("fstatfs", fstatfs(fd, (struct statfs *)bytes))
	CALL("fstatfs64", fstatfs64(fd, (struct statfs64 *)bytes))
	CALL("fstatvfs", fstatvfs(fd, (struct statvfs *)bytes))
	CALL("fstatvfs64", fstatvfs64(fd, (struct statvfs64 *)bytes))
	CALL("fpathconf NAME_MAX", fpathconf(fd, _PC_NAME_MAX))
	CALL("fpathconf LINK_MAX", fpathconf(fd, _PC_LINK_MAX))
	CALL("fpathconf FILESIZEBITS", fpathconf(fd, _PC_FILESIZEBITS))
	CALL("fpathconf REC_XFER_ALIGN", fpathconf(fd, _PC_REC_XFER_ALIGN))
	CALL("fpathconf ASYNC_IO", fpathconf(fd, _PC_ASYNC_IO))
	CALL("isfdtype", isfdtype(fd, S_IFREG))
	CALL("isfdtype a link", isfdtype(fd, S_IFLNK))
	CALL("fgetxattr", fgetxattr(fd, "user.some", bytes, 100))
	CALL("fgetxattr security", fgetxattr(fd, "security.capability", bytes, 100))
	CALL("flistxattr", flistxattr(fd, (char *)bytes, 1000))
	CALL("fsetxattr", fsetxattr(fd, "user.some", "x", 1, 0))
	CALL("fremovexattr", fremovexattr(fd, "user.some"))
	CALL("getdents64", getdents64(fd, bytes, 1000))
	CALL("getdirentries", getdirentries(fd, (char *)bytes, 1000, &(off_t) { 0 }))
	CALL("getdirentries64", getdirentries64(fd, (char *)bytes, 1000, &(off64_t) { 0 }))
}

static void terminals(void)
{
	struct termios settings = { .c_iflag = 0 };

	CALL("tcgetattr", tcgetattr(fd, (struct termios *)bytes))
	CALL("tcsetattr", tcsetattr(fd, TCSANOW, &settings))
	CALL("tcsendbreak", tcsendbreak(fd, 0))
	CALL("tcdrain", tcdrain(fd))
	CALL("tcflush", tcflush(fd, TCIOFLUSH))
	CALL("tcflow", tcflow(fd, TCOON))
	CALL("tcgetpgrp", tcgetpgrp(fd))
	CALL("tcsetpgrp", tcsetpgrp(fd, 1))
	CALL("tcgetsid", tcgetsid(fd))
	CALL("ttyname", ttyname(fd) ? 0 : -1)
	CALL("ttyname_r", ttyname_r(fd, (char *)bytes, 100))
	CALL("__ttyname_r_chk", __ttyname_r_chk(fd, (char *)bytes, 100, sizeof(bytes)))
	CALL("ptsname", ptsname(fd) ? 0 : -1)
	CALL("ptsname_r", ptsname_r(fd, (char *)bytes, 100))
	CALL("__ptsname_r_chk", __ptsname_r_chk(fd, (char *)bytes, 100, sizeof(bytes)))
	CALL("grantpt", grantpt(fd))
	CALL("unlockpt", unlockpt(fd))
	CHILD("login_tty", login_tty(fd))
}

void calls_real(void)
{
	copies_of_numbers();
	space_and_locks();
	names_below();
	properties();
	terminals();
	strangers();
}

static long sent(int fd, off_t *offset)
{
	int scratch = calls_scratch();
	long ret = calls_scratch_end(scratch, sendfile(scratch, fd, offset, 5000));

	return ret < 0 || !offset ? ret : ret + *offset * 100000;
}

static long copied(int fd, off64_t *offset)
{
	int scratch = calls_scratch();
	long ret = calls_scratch_end(scratch, copy_file_range(fd, offset, scratch, NULL, 5000, 0));

	return ret < 0 || !offset ? ret : ret + *offset * 100000;
}

static long spliced(int fd, off64_t *offset)
{
	int ends[2];
	long ret, got;

	if (pipe(ends) < 0)
		return -2;
	ret = splice(fd, offset, ends[1], NULL, 5000, 0);
	close(ends[1]);
	for (got = 0; ret > 0 && got < ret;) {
		long more = read(ends[0], bytes + got, ret - got);
		if (more <= 0)
			break;
		got += more;
	}
	close(ends[0]);
	return ret;
}

static long teed(int fd)
{
	int ends[2], error;
	long ret;

	if (pipe(ends) < 0)
		return -2;
	ret = tee(fd, ends[1], 100, 0);
	error = errno;
	close(ends[0]);
	close(ends[1]);
	errno = error;
	return ret;
}

void calls_copies(void)
{
	CALL("sendfile", sent(fd, NULL))
	CALL("sendfile at 3", sent(fd, &(off_t) { 3 }))
	CALL("sendfile64 to it", sendfile64(fd, fd, NULL, 10))
	CALL("splice", spliced(fd, NULL))
	CALL("splice at 3", spliced(fd, &(off64_t) { 3 }))
	CALL("splice to it", splice(0, NULL, fd, NULL, 10, 0))
	CALL("tee", teed(fd))
	CALL("vmsplice", vmsplice(fd, &(struct iovec) { bytes, 10 }, 1, 0))
	CALL("copy_file_range", copied(fd, NULL))
	CALL("copy_file_range at 3", copied(fd, &(off64_t) { 3 }))
	CALL("copy_file_range to it", copy_file_range(fd, NULL, fd, NULL, 10, 0))
	CALL("write", write(fd, "x", 1))
	CALL("write nothing", write(fd, "", 0))
	CALL("pwrite", pwrite(fd, "x", 1, 0))
	CALL("pwrite at -1", pwrite(fd, "x", 1, -1))
	CALL("pwrite64", pwrite64(fd, "x", 1, 0))
	CALL("writev", writev(fd, &(struct iovec) { bytes, 10 }, 1))
	CALL("pwritev", pwritev(fd, &(struct iovec) { bytes, 10 }, 1, 0))
	CALL("pwritev64", pwritev64(fd, &(struct iovec) { bytes, 10 }, 1, 0))
	CALL("pwritev2", pwritev2(fd, &(struct iovec) { bytes, 10 }, 1, 0, 0))
	CALL("pwritev64v2", pwritev64v2(fd, &(struct iovec) { bytes, 10 }, 1, 0, 1 << 30))
}

/* Over a socket and back. */
static long passed(int fd, bool many)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
	struct iovec part = { &byte, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
						.msg_controllen = sizeof(control) } };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message.msg_hdr);
	int ends[2], got = -1;
	long ret;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return -2;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	ret = many ? sendmmsg(ends[0], &message, 1, 0) : sendmsg(ends[0], &message.msg_hdr, 0);
	if (ret > 0 && recvmsg(ends[1], &message.msg_hdr, 0) == 1)
		memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message.msg_hdr)), sizeof(int));
	close(ends[0]);
	close(ends[1]);
	return got < 0 ? ret : ret + shared(fd, got);
}

void calls_sockets(void)
{
	struct sockaddr address = { .sa_family = AF_UNIX };
	struct msghdr message = { .msg_iov = NULL };
	struct mmsghdr messages = { .msg_hdr = message };
	struct in_addr none = { 0 };
	socklen_t size = sizeof(address);

	CALL("SCM_RIGHTS", passed(fd, false))
	CALL("SCM_RIGHTS by sendmmsg", passed(fd, true))
	CALL("accept", accept(fd, NULL, NULL))
	CALL("accept4", accept4(fd, NULL, NULL, SOCK_CLOEXEC))
	CALL("bind", bind(fd, &address, sizeof(address)))
	CALL("connect", connect(fd, &address, sizeof(address)))
	CALL("__connect", __connect(fd, &address, sizeof(address)))
	CALL("getpeername", getpeername(fd, &address, &size))
	CALL("getsockname", getsockname(fd, &address, &size))
	CALL("getsockopt", getsockopt(fd, SOL_SOCKET, SO_TYPE, bytes, &size))
	CALL("setsockopt", setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, bytes, 4))
	CALL("listen", listen(fd, 5))
	CALL("recv", recv(fd, bytes, 10, 0))
	CALL("__recv_chk", __recv_chk(fd, bytes, 10, sizeof(bytes), 0))
	CALL("recvfrom", recvfrom(fd, bytes, 10, 0, NULL, NULL))
	CALL("__recvfrom_chk", __recvfrom_chk(fd, bytes, 10, sizeof(bytes), 0, NULL, NULL))
	CALL("recvmsg", recvmsg(fd, &message, 0))
	CALL("recvmmsg", recvmmsg(fd, &messages, 1, 0, NULL))
	CALL("send", send(fd, bytes, 10, 0))
	if (__send)
		CALL("__send", __send(fd, bytes, 10, 0))
	CALL("sendto", sendto(fd, bytes, 10, 0, NULL, 0))
	CALL("sendmsg", sendmsg(fd, &message, 0))
	CALL("sendmmsg", sendmmsg(fd, &messages, 1, 0))
	CALL("shutdown", shutdown(fd, SHUT_RD))
	CALL("bindresvport", bindresvport(fd, NULL))
	CALL("getsourcefilter", getsourcefilter(fd, 0, &address, size, &(uint32_t) { 0 }, &(uint32_t) { 0 }, NULL))
	CALL("setsourcefilter", setsourcefilter(fd, 0, &address, size, 0, 0, NULL))
	CALL("getipv4sourcefilter", getipv4sourcefilter(fd, none, none, &(uint32_t) { 0 }, &(uint32_t) { 0 }, NULL))
	CALL("setipv4sourcefilter", setipv4sourcefilter(fd, none, none, 0, 0, NULL))
	CALL("sockatmark", sockatmark(fd))
}

static long polled(int fd, int how)
{
	struct pollfd items[2] = { { fd, POLLIN | POLLOUT, 0 }, { fd, POLLPRI, 0 } };
	struct timespec none = { 0, 0 };
	long ret = how == 0 ? poll(items, 2, 0) :
		   how == 1 ? ppoll(items, 2, &none, NULL) :
		   how == 2 ? __poll(items, 2, 0) :
		   how == 3 ? __poll_chk(items, 2, 0, sizeof(items)) :
			      __ppoll_chk(items, 2, &none, NULL, sizeof(items));

	calls_note(items, sizeof(items));
	return ret;
}

static long selected(int fd, int how)
{
	fd_set sets[3];
	struct timeval none = { 0, 0 };
	struct timespec nothing = { 0, 0 };
	long ret;

	memset(sets, 0, sizeof(sets));
	for (int i = 0; i < 3; i++)
		FD_SET(fd, &sets[i]);
	ret = how == 0 ? select(fd + 1, &sets[0], &sets[1], &sets[2], &none) :
	      how == 1 ? pselect(fd + 1, &sets[0], &sets[1], &sets[2], &nothing, NULL) :
			 __select(fd + 1, &sets[0], &sets[1], &sets[2], &none);
	calls_note(sets, sizeof(sets));
	return ret;
}

static long watched(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0), error;
	long ret = epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);

	error = errno;
	close(set);
	errno = error;
	return ret;
}

static long own_number(int fd)
{
	int process = pidfd_open(getpid(), 0), error;
	long ret = calls_drain(pidfd_getfd(process, fd, 0));

	error = errno;
	close(process);
	errno = error;
	return ret;
}

void calls_waits(void)
{
	struct itimerspec none = { .it_value.tv_sec = 0 };
	struct epoll_event event;
	sigset_t signals;

	sigemptyset(&signals);
	CALL("poll", polled(fd, 0))
	CALL("ppoll", polled(fd, 1))
	CALL("__poll", polled(fd, 2))
	CALL("__poll_chk", polled(fd, 3))
	CALL("__ppoll_chk", polled(fd, 4))
	CALL("select", selected(fd, 0))
	CALL("pselect", selected(fd, 1))
	CALL("__select", selected(fd, 2))
	CALL("epoll_ctl", watched(fd))
	CALL("epoll_ctl on it", epoll_ctl(fd, EPOLL_CTL_DEL, 0, NULL))
	CALL("epoll_wait", epoll_wait(fd, &event, 1, 0))
	CALL("epoll_pwait", epoll_pwait(fd, &event, 1, 0, NULL))
	CALL("epoll_pwait2", epoll_pwait2(fd, &event, 1, &none.it_value, NULL))
	CALL("signalfd", signalfd(fd, &signals, 0))
	CALL("timerfd_settime", timerfd_settime(fd, 0, &none, NULL))
	CALL("timerfd_gettime", timerfd_gettime(fd, (struct itimerspec *)bytes))
	CALL("inotify_add_watch", inotify_add_watch(fd, "/", IN_ACCESS))
	CALL("inotify_rm_watch", inotify_rm_watch(fd, 1))
	CALL("fanotify_mark", fanotify_mark(fd, FAN_MARK_ADD, FAN_ACCESS, fd, NULL))
	CALL("eventfd_read", eventfd_read(fd, (eventfd_t *)bytes))
	CALL("eventfd_write", eventfd_write(fd, 5))
	CALL("pidfd_getfd its own", own_number(fd))
	CALL("pidfd_getfd of it", pidfd_getfd(fd, 0, 0))
	CALL("pidfd_send_signal", pidfd_send_signal(fd, 0, NULL, 0))
	CALL("process_madvise", process_madvise(fd, &(struct iovec) { bytes, 4096 }, 1, MADV_COLD, 0))
	CALL("process_mrelease", process_mrelease(fd, 0))
}
