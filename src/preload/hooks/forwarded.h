/* SPDX-License-Identifier: MIT */
/* Lists the functions that need a real file behind a descriptor, see tests/preload/functions.list. There are no
 * prototypes: arguments are looked at in registers and passed on unchanged. C and assembly include this list, each with
 * its own FORWARD(name, kind, numbers, paths); numbers and paths are bit masks of arguments that are descriptors and
 * paths, where bit 1 is the first argument. */
#define NUMBER(name)          FORWARD(name, PLAIN, 1, 0)
#define PATH(name)            FORWARD(name, PLAIN, 0, 1)
#define NUMBER_AND_PATH(name) FORWARD(name, PLAIN, 1, 2)

/* The first argument is a descriptor. */
NUMBER(__connect) NUMBER(__dprintf_chk) NUMBER(__ptsname_r_chk) NUMBER(__recv_chk)
NUMBER(__recvfrom_chk) NUMBER(__send) NUMBER(__ttyname_r_chk) NUMBER(__vdprintf_chk) NUMBER(accept) NUMBER(accept4)
NUMBER(bind) NUMBER(bindresvport) NUMBER(connect) NUMBER(dprintf) NUMBER(epoll_pwait) NUMBER(epoll_pwait2)
NUMBER(epoll_wait) NUMBER(eventfd_read) NUMBER(fallocate) NUMBER(fallocate64) NUMBER(fchdir) NUMBER(fchmod)
NUMBER(fchown) NUMBER(fdatasync) NUMBER(fdopendir) NUMBER(fgetxattr) NUMBER(flistxattr) NUMBER(flock)
NUMBER(fpathconf) NUMBER(fremovexattr) NUMBER(fsetxattr) NUMBER(fsmount) NUMBER(fstatfs) NUMBER(fstatfs64)
NUMBER(fstatvfs) NUMBER(fstatvfs64) NUMBER(fsync) NUMBER(ftruncate) NUMBER(ftruncate64) NUMBER(futimens)
NUMBER(futimes) NUMBER(getdents64) NUMBER(getdirentries) NUMBER(getdirentries64) NUMBER(getipv4sourcefilter)
NUMBER(getpeername) NUMBER(getsockname) NUMBER(getsockopt) NUMBER(getsourcefilter) NUMBER(grantpt)
NUMBER(inotify_rm_watch) NUMBER(isfdtype) NUMBER(listen) NUMBER(login_tty)
NUMBER(open_by_handle_at) NUMBER(posix_fallocate) NUMBER(posix_fallocate64) NUMBER(ptsname) NUMBER(ptsname_r)
NUMBER(readahead) NUMBER(recv) NUMBER(recvfrom) NUMBER(recvmmsg) NUMBER(recvmsg) NUMBER(send) NUMBER(sendto)
NUMBER(setipv4sourcefilter) NUMBER(setsockopt) NUMBER(setsourcefilter) NUMBER(shutdown) NUMBER(signalfd)
NUMBER(sockatmark) NUMBER(sync_file_range) NUMBER(syncfs) NUMBER(tcdrain) NUMBER(tcflow) NUMBER(tcflush)
NUMBER(tcgetattr) NUMBER(tcgetpgrp) NUMBER(tcgetsid) NUMBER(tcsendbreak) NUMBER(tcsetattr) NUMBER(tcsetpgrp)
NUMBER(timerfd_gettime) NUMBER(timerfd_settime) NUMBER(ttyname) NUMBER(ttyname_r) NUMBER(unlockpt) NUMBER(vdprintf)

/* A path is the first argument, or the second of the old stat functions. */
PATH(__readlink_chk) PATH(__realpath_chk) PATH(__statfs) FORWARD(__xstat, PLAIN, 0, 2)
FORWARD(__xstat64, PLAIN, 0, 2) PATH(access) PATH(canonicalize_file_name) PATH(eaccess) PATH(euidaccess)
PATH(getxattr) PATH(listxattr) PATH(readlink) PATH(realpath) PATH(stat)
PATH(stat64) PATH(statfs) PATH(statfs64) PATH(statvfs) PATH(statvfs64)

/* A descriptor is followed by a path. */
FORWARD(__fxstatat, PLAIN, 2, 4) FORWARD(__fxstatat64, PLAIN, 2, 4) NUMBER_AND_PATH(__readlinkat_chk)
NUMBER_AND_PATH(faccessat) FORWARD(fanotify_mark, PLAIN, 9, 16) NUMBER_AND_PATH(fchownat) NUMBER_AND_PATH(fspick)
NUMBER_AND_PATH(fstatat) NUMBER_AND_PATH(fstatat64) NUMBER_AND_PATH(futimesat) NUMBER_AND_PATH(inotify_add_watch)
FORWARD(linkat, PLAIN, 5, 2) NUMBER_AND_PATH(mount_setattr) NUMBER_AND_PATH(name_to_handle_at)
NUMBER_AND_PATH(open_tree) NUMBER_AND_PATH(readlinkat) NUMBER_AND_PATH(statx) NUMBER_AND_PATH(utimensat)

/* Descriptors are in other places, or there are two: the mask has their bits. */
FORWARD(copy_file_range, PLAIN, 5, 0) FORWARD(epoll_ctl, PLAIN, 5, 0)
FORWARD(fsconfig, PLAIN, 17, 0) FORWARD(mmap, PLAIN, 16, 0) FORWARD(mmap64, PLAIN, 16, 0)
FORWARD(move_mount, PLAIN, 5, 0) FORWARD(pidfd_getfd, PLAIN, 3, 0) FORWARD(sendfile, PLAIN, 3, 0)
FORWARD(sendfile64, PLAIN, 3, 0) FORWARD(splice, PLAIN, 5, 0) FORWARD(tee, PLAIN, 3, 0)

/* Functions that may set a lock owned by the process. */
FORWARD(lockf, LOCK, 1, 0) FORWARD(lockf64, LOCK, 1, 0)

/* Functions that make a stream of the descriptor. */
FORWARD(_IO_fdopen, STREAM, 1, 0) FORWARD(fdopen, STREAM, 1, 0) FORWARD(_IO_file_attach, STREAM, 2, 0)

/* Functions that take lists of descriptors. */
FORWARD(__poll, POLL, 0, 0) FORWARD(__poll_chk, POLL, 0, 0) FORWARD(__ppoll_chk, POLL, 0, 0) FORWARD(poll, POLL, 0, 0)
FORWARD(ppoll, POLL, 0, 0)
FORWARD(__select, SELECT, 0, 0) FORWARD(pselect, SELECT, 0, 0) FORWARD(select, SELECT, 0, 0)
FORWARD(sendmsg, MESSAGE, 1, 0)
FORWARD(aio_read, AIO, 0, 0) FORWARD(aio_read64, AIO, 0, 0) FORWARD(aio_write, AIO, 0, 0)
FORWARD(aio_write64, AIO, 0, 0)
FORWARD(aio_fsync, AIO1, 0, 0) FORWARD(aio_fsync64, AIO1, 0, 0)

/* syscall(2) may do anything. */
FORWARD(syscall, SYSCALL, 0, 0)

/* prctl(2) may set a seccomp filter, after which a system call that only we make may kill the program. */
FORWARD(prctl, PRCTL, 0, 0)

/* A child, or a receiver, gets all open files. */
FORWARD(_Fork, ALL, 0, 0) FORWARD(_IO_popen, ALL, 0, 0) FORWARD(_IO_proc_open, ALL, 0, 0) FORWARD(__fork, ALL, 0, 0)
FORWARD(daemon, ALL, 0, 0) FORWARD(fork, ALL, 0, 0) FORWARD(forkpty, ALL, 0, 0) FORWARD(lio_listio, ALL, 0, 0)
FORWARD(lio_listio64, ALL, 0, 0) FORWARD(popen, ALL, 0, 0) FORWARD(posix_spawn, ALL, 0, 0)
FORWARD(posix_spawnp, ALL, 0, 0) FORWARD(sendmmsg, ALL, 1, 0) FORWARD(system, ALL, 0, 0) FORWARD(wordexp, ALL, 0, 0)

/* The child also shares our memory until it executes a program. */
FORWARD(__clone, CLONE, 0, 0) FORWARD(__vfork, SHARE, 0, 0) FORWARD(clone, CLONE, 0, 0) FORWARD(vfork, SHARE, 0, 0)

/* Another program gets all open files. */
FORWARD(execl, LEAVE, 0, 0) FORWARD(execle, LEAVE, 0, 0) FORWARD(execlp, LEAVE, 0, 0) FORWARD(execv, LEAVE, 0, 0)
FORWARD(execve, LEAVE, 0, 0) FORWARD(execveat, LEAVE, 0, 0) FORWARD(execvp, LEAVE, 0, 0) FORWARD(execvpe, LEAVE, 0, 0)
FORWARD(fexecve, LEAVE, 0, 0)

/* After these, a path may mean something else, the process may have other permissions, or a ring may read from
 * descriptors that we do not see. */
FORWARD(capset, OFF, 0, 0) FORWARD(chroot, OFF, 0, 0) FORWARD(initgroups, OFF, 0, 0) FORWARD(io_queue_init, OFF, 0, 0)
FORWARD(io_setup, OFF, 0, 0) FORWARD(io_uring_queue_init_mem, OFF, 0, 0)
FORWARD(io_uring_queue_init, OFF, 0, 0) FORWARD(io_uring_queue_init_params, OFF, 0, 0)
FORWARD(io_uring_queue_mmap, OFF, 0, 0) FORWARD(io_uring_setup, OFF, 0, 0) FORWARD(pivot_root, OFF, 0, 0)
FORWARD(setegid, OFF, 0, 0) FORWARD(seteuid, OFF, 0, 0) FORWARD(setfsgid, OFF, 0, 0) FORWARD(setfsuid, OFF, 0, 0)
FORWARD(setgid, OFF, 0, 0) FORWARD(setgroups, OFF, 0, 0) FORWARD(setns, OFF, 0, 0) FORWARD(setregid, OFF, 0, 0)
FORWARD(setresgid, OFF, 0, 0) FORWARD(setresuid, OFF, 0, 0) FORWARD(setreuid, OFF, 0, 0) FORWARD(setuid, OFF, 0, 0)
FORWARD(unshare, OFF, 0, 0)

/* Functions that end the process. */
FORWARD(_Exit, END, 0, 0) FORWARD(_exit, END, 0, 0)

#undef NUMBER
#undef PATH
#undef NUMBER_AND_PATH
