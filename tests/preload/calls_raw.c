/* SPDX-License-Identifier: MIT */
/* Calls of the kernel that go round the C library's functions, and requests that name descriptors: aio and rings. */
#include "calls.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static long raw_map(int fd)
{
	char *map = (char *)syscall(SYS_mmap, NULL, 100, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return -1;
	if (calls_size >= 100)
		calls_note(map, 100);
	munmap(map, 100);
	return 0;
}

static long raw_fork(int fd)
{
	pid_t child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	char part[10];

	if (child == 0)
		_exit(read(fd, part, sizeof(part)) + part[0]);
	return calls_wait(child);
}

static long raw_select(int fd)
{
	struct pollfd item = { fd, POLLIN, 0 };
	long ret = syscall(SYS_ppoll, &item, 1, &(struct timespec) { 0 }, NULL, 8);

	calls_note(&item, sizeof(item));
	return ret;
}

static long raw_copy(int fd)
{
	int scratch = calls_scratch();

	return calls_scratch_end(scratch, syscall(SYS_copy_file_range, fd, NULL, scratch, NULL, 500, 0));
}

static long raw_send(int fd)
{
	int scratch = calls_scratch();

	return calls_scratch_end(scratch, syscall(SYS_sendfile, scratch, fd, NULL, 500));
}

void calls_raw(void)
{
	CALL("SYS_read", syscall(SYS_read, fd, bytes, 1000))
	CALL("SYS_pread64", syscall(SYS_pread64, fd, bytes, 1000, 3))
	CALL("SYS_readv", syscall(SYS_readv, fd, &(struct iovec) { bytes, 50 }, 1))
	CALL("SYS_preadv", syscall(SYS_preadv, fd, &(struct iovec) { bytes, 50 }, 1, 5, 0))
	CALL("SYS_preadv2", syscall(SYS_preadv2, fd, &(struct iovec) { bytes, 50 }, 1, -1L, -1L, 0))
	CALL("SYS_lseek", syscall(SYS_lseek, fd, 4, SEEK_CUR))
	CALL("SYS_fstat", syscall(SYS_fstat, fd, bytes))
	CALL("SYS_newfstatat", syscall(SYS_newfstatat, fd, "", bytes, AT_EMPTY_PATH))
	CALL("SYS_statx", syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_ALL, bytes))
	CALL("SYS_close", syscall(SYS_close, fd))
	CALL("SYS_close, reused", (syscall(SYS_close, fd), calls_drain(open(calls_other, O_RDONLY))))
	CALL("SYS_close_range", syscall(SYS_close_range, fd, fd, 0))
	CHILD("SYS_close_range all", (syscall(SYS_close_range, 3, ~0u, 0), calls_drain(open(calls_other, O_RDONLY))))
	CALL("SYS_dup", calls_drain(syscall(SYS_dup, fd)))
#ifdef SYS_dup2 /* AArch64 has only dup3 */
	CALL("SYS_dup2", calls_drain(syscall(SYS_dup2, fd, 50)))
#endif
	CALL("SYS_dup3", calls_drain(syscall(SYS_dup3, fd, 50, O_CLOEXEC)))
	CALL("SYS_dup3 over it", (syscall(SYS_dup3, open("/dev/zero", 0), fd, 0), close(fd + 1), read(fd, bytes, 5)))
	CALL("SYS_fcntl F_GETFL", syscall(SYS_fcntl, fd, F_GETFL))
	CALL("SYS_fcntl F_DUPFD", calls_drain(syscall(SYS_fcntl, fd, F_DUPFD, 30)))
	CALL("SYS_ioctl", syscall(SYS_ioctl, fd, TCGETS, bytes))
	CALL("SYS_ioctl FIONREAD", syscall(SYS_ioctl, fd, FIONREAD, bytes))
	CALL("SYS_mmap", raw_map(fd))
	CALL("SYS_sendfile", raw_send(fd))
	CALL("SYS_copy_file_range", raw_copy(fd))
	CALL("SYS_flock", syscall(SYS_flock, fd, LOCK_SH))
	CALL("SYS_fadvise64", syscall(SYS_fadvise64, fd, 0, 0, POSIX_FADV_NORMAL))
	CALL("SYS_ppoll", raw_select(fd))
	CALL("SYS_getdents64", syscall(SYS_getdents64, fd, bytes, 100))
	CALL("SYS_openat", calls_drain(syscall(SYS_openat, AT_FDCWD, calls_file, O_RDONLY)))
	CALL("SYS_openat of it", calls_drain(syscall(SYS_openat, fd, "", O_RDONLY)))
	CALL("SYS_openat2", calls_drain(syscall(SYS_openat2, AT_FDCWD, calls_file, &(long[3]) { 0 }, 24)))
	CALL("SYS_openat2 of it", calls_drain(syscall(SYS_openat2, fd, "name", &(long[3]) { 0 }, 24)))
	CALL("SYS_faccessat2", syscall(SYS_faccessat2, fd, "", X_OK, AT_EMPTY_PATH))
	CALL("SYS_write", syscall(SYS_write, fd, "x", 1))
	CALL("SYS_kcmp", syscall(SYS_kcmp, getpid(), getpid(), 0, fd, fd))
	CALL("SYS_clone", raw_fork(fd))
	CALL("SYS_gettid", syscall(SYS_gettid) == gettid())
}

static long awaited(struct aiocb *request, long begun)
{
	const struct aiocb *list[] = { request };
	int error;

	if (begun < 0)
		return -1;
	while ((error = aio_error(request)) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	calls_note(&error, sizeof(error));
	return aio_return(request);
}

static long requested(int fd, int how)
{
	static struct aiocb request;
	struct aiocb *list[] = { &request };

	request = (struct aiocb) { .aio_fildes = fd, .aio_buf = bytes + 64, .aio_nbytes = 500, .aio_offset = 3 };
	request.aio_lio_opcode = LIO_READ;
	return awaited(&request, how == 0 ? aio_read(&request) :
				 how == 1 ? aio_write(&request) :
				 how == 2 ? aio_fsync(O_SYNC, &request) :
				 how == 3 ? lio_listio(LIO_WAIT, list, 1, NULL) :
				 how == 6 ? aio_write64((struct aiocb64 *)&request) :
				 how == 7 ? aio_fsync64(O_DSYNC, (struct aiocb64 *)&request) :
				 how == 4 ? aio_read64((struct aiocb64 *)&request) :
					    lio_listio64(LIO_WAIT, (struct aiocb64 **)list, 1, NULL));
}

/* libaio, whose calls the program finds where the loader has them. */
static long queued(int fd)
{
	static int (*setup)(unsigned count, aio_context_t *ret);
	static int (*submit)(aio_context_t context, long count, struct iocb **requests);
	static int (*events)(aio_context_t context, long least, long most, struct io_event *ret, struct timespec *end);
	static int (*destroy)(aio_context_t context);
	struct iocb request = { .aio_fildes = fd, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (unsigned long)bytes,
				.aio_nbytes = 500, .aio_offset = 5 }, *list[] = { &request };
	struct io_event event = { .res = -1 };
	aio_context_t context = 0;
	long ret;

	if (!dlopen("libaio.so.1", RTLD_NOW | RTLD_GLOBAL))
		return -100;
	setup = (void *)dlsym(RTLD_DEFAULT, "io_setup");
	submit = (void *)dlsym(RTLD_DEFAULT, "io_submit");
	events = (void *)dlsym(RTLD_DEFAULT, "io_getevents");
	destroy = (void *)dlsym(RTLD_DEFAULT, "io_destroy");
	if (setup(4, &context) < 0)
		return -101;
	ret = submit(context, 1, list);
	if (ret == 1 && events(context, 1, 1, &event, NULL) == 1)
		ret = event.res;
	destroy(context);
	return ret;
}

/* A read of the number by a ring that is there before the file is opened, or only now. */
static long ringed(int fd, bool before)
{
	struct io_uring ring;
	struct io_uring_cqe *done;
	struct io_uring_sqe *entry;
	long ret;

	if (io_uring_queue_init(4, &ring, 0) < 0)
		return -100;
	if (before)
		fd = open(calls_file, O_RDONLY);
	entry = io_uring_get_sqe(&ring);
	io_uring_prep_read(entry, fd, bytes, 500, 2);
	io_uring_submit(&ring);
	ret = io_uring_wait_cqe(&ring, &done) < 0 ? -101 : done->res;
	io_uring_queue_exit(&ring);
	if (before)
		close(fd);
	return ret;
}

/* The kernel's ring made by the library's own functions, to say which files it may read. */
static long registered(int fd, bool mapped)
{
	struct io_uring_params parameters = { .flags = 0 };
	struct io_uring ring;
	int number;
	long ret;

	if (!mapped)
		ret = io_uring_queue_init_params(4, &ring, &parameters);
	else if ((number = io_uring_setup(4, &parameters)) >= 0)
		ret = io_uring_queue_mmap(number, &parameters, &ring);
	else
		return -100;
	if (ret < 0)
		return -101;
	ret = io_uring_register_files(&ring, &fd, 1);
	io_uring_queue_exit(&ring);
	return ret;
}

static long raw_ring(int fd)
{
	struct io_uring_params parameters = { .flags = 0 };
	int ring = syscall(SYS_io_uring_setup, 4, &parameters);

	if (ring < 0)
		return -100;
	long ret = syscall(SYS_io_uring_register, ring, IORING_REGISTER_FILES, &fd, 1);
	close(ring);
	return ret;
}

void calls_rings(void)
{
	CHILD("aio_read", requested(fd, 0))
	CHILD("aio_write", requested(fd, 1))
	CHILD("aio_fsync", requested(fd, 2))
	CHILD("lio_listio", requested(fd, 3))
	CHILD("aio_read64", requested(fd, 4))
	CHILD("lio_listio64", requested(fd, 5))
	CHILD("aio_write64", requested(fd, 6))
	CHILD("aio_fsync64", requested(fd, 7))
	CHILD("aio_cancel", aio_cancel(fd, NULL))
	CHILD("libaio", queued(fd))
	CHILD("io_uring", ringed(fd, false))
	CHILD("io_uring, opened later", ringed(fd, true))
	CHILD("io_uring_queue_init_params", registered(fd, false))
	CHILD("io_uring_queue_mmap", registered(fd, true))
	CHILD("SYS_io_uring_setup", raw_ring(fd))
}
