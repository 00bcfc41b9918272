/* SPDX-License-Identifier: MIT */
/* Forks and executes by a descriptor, so that the next server is the same program whatever was installed since. */
#include "supervisor/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/memory_file.h"
#include "supervisor/message.h"

#define SERVER_STACK (64u << 10) /* bytes, of a thread that sleeps */

/* ---- the page ---- */

static void server_wait_for_end(void *argument)
{
	const struct server *server = argument;

	life_wait(&server->page->life);
	wake_up(server->wake);
}

static int server_make_page(struct server *server, struct error *err)
{
	struct thread_setup setup = { server_wait_for_end, server, .stack = SERVER_STACK, .without_signals = true };

	int r = memory_file_make("datasetfs-life", sizeof(*server->page), &server->page_fd, err);

	if (r < 0)
		return r;
	server->page = mmap(NULL, sizeof(*server->page), PROT_READ | PROT_WRITE, MAP_SHARED, server->page_fd, 0);
	if (server->page == MAP_FAILED) {
		server->page = NULL;
		return error_errno(err, "cannot map a page");
	}
	return thread_start(&server->waiter, 1, &setup, err);
}

static void server_drop_page(struct server *server)
{
	if (server->waiter.runs)
		life_end(&server->page->life);
	thread_join(&server->waiter);
	if (server->page)
		munmap(server->page, sizeof(*server->page));
	server->page = NULL;
	close_fd(&server->page_fd);
}

/* ---- the process ---- */

/* In the child, which may call only functions that are safe in a signal's handler. */
static _Noreturn void server_execute(const struct server_setup *setup, int socket)
{
	setsid();
	if (setup->dies_with_us)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	oom_restore(&setup->oom);
	fcntl(socket, F_SETFD, 0);
	sigprocmask(SIG_SETMASK, &setup->signals, NULL);
	syscall(SYS_execveat, setup->program, "", setup->argv, environ, AT_EMPTY_PATH);
	_exit(SERVER_NO_PROGRAM);
}

static int server_fork(struct server *server, const struct server_setup *setup, struct error *err)
{
	char number[16];
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_errno(err, "cannot make a socket");
	server->socket = pair[0];
	snprintf(number, sizeof(number), "%d", pair[1]);
	if (setenv(SUPERVISOR_VARIABLE, number, 1) < 0) {
		close(pair[1]);
		return error_no_memory(err);
	}
	server->process = fork();
	if (server->process == 0)
		server_execute(setup, pair[1]);
	if (server->process < 0) {
		server->process = 0;
		error_errno(err, "cannot make a process");
	}
	close(pair[1]);
	unsetenv(SUPERVISOR_VARIABLE);
	return server->process ? 0 : err->code;
}

int server_start(struct server *server, const struct server_setup *setup, struct error *err)
{
	struct error why = { 0 };
	int r;

	*server = (struct server){ .socket = -1, .page_fd = -1, .wake = setup->wake };
	if (server_make_page(server, &why) < 0) {
		log_warn("a server that cannot end is not noticed: %s, ignoring", why.reason);
		server_drop_page(server);
	}
	r = server_fork(server, setup, err);
	if (r < 0)
		server_bury(server);
	return r;
}

bool server_is_dead(const struct server *server)
{
	return server->page && life_is_over(&server->page->life);
}

bool server_holds_requests(const struct server *server)
{
	return server->page && atomic_load(&server->page->notices);
}

int server_crash(const struct server *server)
{
	uint32_t number = server->page ? atomic_load(&server->page->crashed) : 0;

	return number < 64 ? (int)number : 0;
}

void server_bury(struct server *server)
{
	server_drop_page(server);
	close_fd(&server->socket);
	outbox_clear(&server->outbox);
	server->process = 0;
}
