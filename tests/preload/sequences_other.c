/* SPDX-License-Identifier: MIT */
/* Calls of sequences that take a descriptor and are in no other file: each in the ways that a reader might meet. */
#include "sequences.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <termios.h>
#include <unistd.h>

static void poll_some(void)
{
	struct pollfd some[3];
	struct timespec now = { 0, 0 };
	int result;

	for (unsigned i = 0; i < 3; i++)
		some[i] = (struct pollfd){ .fd = choose_regular(), .events = POLLIN | POLLOUT | POLLPRI };
	errno = 0;
	result = chance(50) ? poll(some, 3, 0) : ppoll(some, 3, &now, NULL);
	log_result(result, "poll %d:%#x %d:%#x %d:%#x", some[0].fd, some[0].revents, some[1].fd, some[1].revents,
		   some[2].fd, some[2].revents);
}

static void select_one(void)
{
	int fd = choose_regular(), result;
	struct timeval now = { 0, 0 };
	fd_set in, out;

	if (fd < 0 || fd >= FD_SETSIZE)
		return;
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(fd, &in);
	FD_SET(fd, &out);
	errno = 0;
	result = select(fd + 1, &in, &out, NULL, &now);
	log_result(result, "select(%d) %d %d", fd, FD_ISSET(fd, &in) != 0, FD_ISSET(fd, &out) != 0);
}

static void watch(void)
{
	int fd = choose_regular(), set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT, .data.u32 = 5 };

	errno = 0;
	log_result(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), "epoll_ctl(%d, ADD, %d)", set, fd);
	event.events = 0;
	log_result(epoll_wait(set, &event, 1, 0), "epoll_wait(%d)", set);
	log_line("events %#x", event.events);
	if (chance(50))
		log_result(epoll_ctl(set, EPOLL_CTL_DEL, fd, &event), "epoll_ctl(%d, DEL, %d)", set, fd);
	close(set);
}

static void control_device(void)
{
	static const unsigned long requests[] = { FIOCLEX,      FIONCLEX, FIONREAD,   FIONBIO,
						  FIGETBSZ,     TCGETS,   TIOCGWINSZ, FS_IOC_GETFLAGS,
						  FIFREEZE - 9, FIOQSIZE, 0x12345678 };
	unsigned long request = requests[choose(11)];
	int fd = choose_regular();
	struct stat attributes;
	uint8_t out[64] = { 0 };

	/* A pipe stays without blocking. */
	if (request == FIONBIO && (fstat(fd, &attributes) != 0 || !S_ISREG(attributes.st_mode)))
		return;
	errno = 0;
	log_result(ioctl(fd, request, out), "ioctl(%d, %#lx)", fd, request);
	log_line("out #%08x, flags %d", (unsigned)log_hash(0, out, sizeof(out)), fcntl(fd, F_GETFD));
}

static void ask_terminal(void)
{
	int fd = choose_regular();
	struct termios terminal;
	char name[100];

	errno = 0;
	log_result(isatty(fd), "isatty(%d)", fd);
	log_result(ttyname_r(fd, name, sizeof(name)), "ttyname_r(%d)", fd);
	log_result(tcgetattr(fd, &terminal), "tcgetattr(%d)", fd);
	log_result(tcgetpgrp(fd), "tcgetpgrp(%d)", fd);
}

static void advise(void)
{
	int fd = choose_regular(), advice = (int)choose(8);
	int64_t offset = choose_offset(fd), length = (int64_t)choose(100000);

	errno = 0;
	switch (choose(4)) {
	case 0:
		log_result(posix_fadvise(fd, offset, length, advice), "posix_fadvise(%d, %lld, %lld, %d)", fd,
			   (long long)offset, (long long)length, advice);
		break;
	case 1:
		log_result(posix_fadvise64(fd, offset, length, advice), "posix_fadvise64(%d, %lld, %lld, %d)", fd,
			   (long long)offset, (long long)length, advice);
		break;
	case 2:
		log_result(readahead(fd, offset, (size_t)length), "readahead(%d, %lld, %lld)", fd, (long long)offset,
			   (long long)length);
		break;
	case 3:
		log_result(syscall(SYS_fadvise64, fd, offset, length, advice), "SYS_fadvise64(%d, %lld, %lld, %d)", fd,
			   (long long)offset, (long long)length, advice);
	}
}

/* Calls that change a file's attributes or ask for its bytes to be written. */
static void change_file(void)
{
	int fd = choose_regular();
	struct stat attributes;

	/* Nothing of these on a disk, where they take long. */
	if (fd == 0 || (fstat(fd, &attributes) == 0 && attributes.st_dev != state.device))
		return;
	errno = 0;
	switch (choose(10)) {
	case 0:
		log_result(fsync(fd), "fsync(%d)", fd);
		break;
	case 1:
		log_result(fdatasync(fd), "fdatasync(%d)", fd);
		break;
	case 2:
		log_result(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100), "fallocate(%d)", fd);
		break;
	case 3:
		log_result(posix_fallocate(fd, 0, 100), "posix_fallocate(%d)", fd);
		break;
	case 4:
		log_result(fchmod(fd, 0640), "fchmod(%d)", fd);
		break;
	case 5:
		log_result(fchown(fd, (uid_t)-1, (gid_t)-1), "fchown(%d)", fd);
		break;
	case 6:
		log_result(futimens(fd, NULL), "futimens(%d)", fd);
		break;
	case 7:
		log_result(utimensat(fd, "", NULL, AT_EMPTY_PATH), "utimensat(%d)", fd);
		break;
	case 8:
		log_result(sync_file_range(fd, 0, 100, SYNC_FILE_RANGE_WRITE), "sync_file_range(%d)", fd);
		break;
	case 9:
		log_result(linkat(fd, "", AT_FDCWD, "linked", AT_EMPTY_PATH), "linkat(%d)", fd);
	}
}

/* Calls that are for sockets, timers and the like: a file refuses them by another errno than a closed number. */
static void use_as_other(void)
{
	struct sockaddr address;
	socklen_t length = sizeof(address);
	struct itimerspec timer;
	struct stat attributes;
	eventfd_t count = 0;
	int fd = choose_regular(), result;

	if (fstat(fd, &attributes) == 0 && !S_ISREG(attributes.st_mode))
		return;
	errno = 0;
	switch (choose(9)) {
	case 0:
		log_result(getsockname(fd, &address, &length), "getsockname(%d)", fd);
		break;
	case 1:
		log_result(recv(fd, state.buffer, 100, MSG_DONTWAIT), "recv(%d)", fd);
		break;
	case 2:
		log_result(send(fd, state.buffer, 100, MSG_DONTWAIT), "send(%d)", fd);
		break;
	case 3:
		log_result(shutdown(fd, SHUT_RD), "shutdown(%d)", fd);
		break;
	case 4:
		log_result(timerfd_gettime(fd, &timer), "timerfd_gettime(%d)", fd);
		break;
	case 5:
		log_result(inotify_rm_watch(fd, 1), "inotify_rm_watch(%d)", fd);
		break;
	case 6:
		log_result(epoll_ctl(fd, EPOLL_CTL_DEL, 0, NULL), "epoll_ctl(%d, DEL, 0)", fd);
		break;
	case 7:
		result = eventfd_read(fd, &count);
		log_result(result, "eventfd_read(%d) %llx", fd, (unsigned long long)count);
		break;
	case 8:
		log_result(syscall(SYS_getdents64, fd, state.buffer, 0), "SYS_getdents64(%d)", fd);
	}
}

static void ask_handle(void)
{
	union {
		struct file_handle handle;
		char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} name = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int fd = choose_regular(), mount;
	struct stat attributes;

	if (fstat(fd, &attributes) == 0 && attributes.st_dev != state.device)
		return;
	errno = 0;
	log_result(name_to_handle_at(fd, "", &name.handle, &mount, AT_EMPTY_PATH), "name_to_handle_at(%d)", fd);
	log_result(fpathconf(fd, _PC_NAME_MAX), "fpathconf(%d)", fd);
}

/* The C library reads in a thread of its own, by calls that nobody can stand in for. */
static void read_asynchronously(void)
{
	struct aiocb request = { .aio_fildes = choose_regular(), .aio_buf = state.buffer, .aio_nbytes = choose(9000) };
	const struct aiocb *list[] = { &request };

	if (state.is_child) /* the thread may be missing there that the parent had for it, and this would wait for ever
			     */
		return;
	request.aio_offset = (off_t)choose(9000);
	errno = 0;
	log_result(aio_read(&request), "aio_read(%d, %zu, %lld)", request.aio_fildes, request.aio_nbytes,
		   (long long)request.aio_offset);
	while (aio_error(&request) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	log_result(aio_error(&request), "aio_error");
	log_bytes(aio_return(&request), state.buffer, "aio_return");
}

/* A read as libaio makes it, by way of syscall(2). */
static void read_by_kernel(void)
{
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_PREAD,
				.aio_fildes = (uint32_t)choose_regular(),
				.aio_buf = (uintptr_t)state.buffer,
				.aio_nbytes = choose(9000) };
	struct iocb *list[] = { &request };
	aio_context_t context = 0;
	struct io_event event = { .res = -1 };
	long result;

	request.aio_offset = (int64_t)choose(9000);
	if (chance(95)) /* the end of a context takes the kernel longer than all other calls of a sequence */
		return;
	if (syscall(SYS_io_setup, 1, &context) != 0) {
		log_line("no io_setup");
		return;
	}
	result = syscall(SYS_io_submit, context, 1, list);
	log_result(result, "SYS_io_submit(%d, %llu, %lld)", (int)request.aio_fildes,
		   (unsigned long long)request.aio_nbytes, (long long)request.aio_offset);
	if (result == 1 && syscall(SYS_io_getevents, context, 1, 1, &event, NULL) == 1)
		log_bytes(event.res, state.buffer, "SYS_io_getevents");
	syscall(SYS_io_destroy, context);
	errno = 0;
}

const struct call calls_other[] = {
	{ "poll", 4, poll_some },
	{ "select", 2, select_one },
	{ "epoll", 3, watch },
	{ "ioctl", 6, control_device },
	{ "terminal", 3, ask_terminal },
	{ "advise", 4, advise },
	{ "change", 4, change_file },
	{ "as-other", 4, use_as_other },
	{ "handle", 2, ask_handle },
	{ "aio", 1, read_asynchronously },
	{ "libaio", 2, read_by_kernel },
	{ NULL, 0, NULL },
};
