/* SPDX-License-Identifier: MIT */
/* Suspends a request for metrics until they are there; libmicrohttpd then calls its handler again. */
#include "exporter/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "exporter/connections.h"
#include "exporter/peer.h"

/* Connections that are accepted at a time before the requests of earlier ones are read, how many of these may stay, and
 * how often that is repeated in a step. */
#define SERVER_ACCEPTS 512u
#define SERVER_ENTERED 8u
#define SERVER_ROUNDS  16u

#define SERVER_TEXT    "text/plain; version=0.0.4; charset=utf-8"
#define SERVER_PLAIN   "text/plain; charset=utf-8"
#define SERVER_HOME    "datasetfs-exporter " DATASETFS_RELEASE ": metrics are at /metrics\n"

/* An answer that all waiting requests share. */
struct server_answer {
	struct MHD_Response *response;
	unsigned status, users;
};

/* The request of a connection. */
struct server_request {
	struct server_request *next; /* in the list of requests that wait */
	struct MHD_Connection *connection;
	bool is_answered;
	struct server_answer *answer; /* NULL: there was no memory for one */
};

struct server {
	struct MHD_Daemon *daemon;
	int listener;
	int fd;   /* an epoll of the daemon's descriptor and the listener */
	int diag; /* see peer_open() */
	bool is_listening; /* false: all places are taken */
	struct server_request *waiting;
	struct connections connections;
	struct connection *entering; /* of the connection that libmicrohttpd is taking over */
};

static struct connection *server_place(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/* Makes a response. Takes ownership of the text, which may be NULL. */
static struct MHD_Response *server_response(char *text, size_t length, const char *type)
{
	struct MHD_Response *response = NULL;

	if (text)
		response = MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(text);
	else
		(void)!MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	return response;
}

static void server_answer_drop(struct server_answer *answer)
{
	if (!answer || --answer->users)
		return;
	MHD_destroy_response(answer->response);
	free(answer);
}

static enum MHD_Result server_say(struct MHD_Connection *connection, unsigned status, const char *line)
{
	struct MHD_Response *response = server_response(strdup(line), strlen(line), SERVER_PLAIN);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)!MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result server_metrics(struct server *server, struct server_request *request)
{
	const struct server_answer *answer = request->answer;

	if (request->is_answered)
		return answer ? MHD_queue_response(request->connection, answer->status, answer->response) : MHD_NO;
	request->next = server->waiting;
	server->waiting = request;
	connections_wait(server_place(request->connection));
	MHD_suspend_connection(request->connection);
	return MHD_YES;
}

/* Handles a request. libmicrohttpd calls it first with the header alone; an answer then would close the connection. */
static enum MHD_Result server_handle(void *argument, struct MHD_Connection *connection, const char *url,
				     const char *method, const char *version, const char *upload, size_t *upload_size,
				     void **request)
{
	(void)version;
	(void)upload;
	if (!*request) {
		*request = calloc(1, sizeof(struct server_request));
		if (*request)
			((struct server_request *)*request)->connection = connection;
		return *request ? MHD_YES : MHD_NO;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return server_say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n");
	if (!strcmp(url, "/metrics"))
		return server_metrics(argument, *request);
	if (!strcmp(url, "/"))
		return server_say(connection, MHD_HTTP_OK, SERVER_HOME);
	return server_say(connection, MHD_HTTP_NOT_FOUND, "there is nothing but /metrics\n");
}

static void server_forget(struct server *server, const struct server_request *request)
{
	struct server_request **at = &server->waiting;

	while (*at && *at != request)
		at = &(*at)->next;
	if (*at)
		*at = request->next;
}

static void server_completed(void *argument, struct MHD_Connection *connection, void **request_place,
			     enum MHD_RequestTerminationCode code)
{
	struct server_request *request = *request_place;
	struct server *server = argument;

	(void)code;
	if (!request)
		return;
	connections_rest(&server->connections, server_place(connection));
	server_forget(server, request);
	server_answer_drop(request->answer);
	free(request);
	*request_place = NULL;
}

/* Handles the beginning and the end of a connection. */
static void server_notice(void *argument, struct MHD_Connection *connection, void **place,
			  enum MHD_ConnectionNotificationCode code)
{
	struct server *server = argument;

	(void)connection;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*place = server->entering;
	else
		connections_remove(*place);
}

/* ---- connections ---- */

/* Closes a connection with a reset instead of TCP's orderly end, because the other end is gone. */
static void server_drop(int fd)
{
	struct linger at_once = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

/* Hands a connection to libmicrohttpd, which closes the socket if it does not take it. */
static void server_enter(struct server *server, int fd, const struct sockaddr *address, socklen_t size)
{
	struct peer peer = peer_of(server->diag, fd);

	server->entering = connections_add(&server->connections, fd, &peer);
	if (!server->entering)
		server_drop(fd);
	else if (MHD_add_connection(server->daemon, fd, address, size) != MHD_YES)
		connections_remove(server->entering);
}

/* Accepts one connection; false: there is none, or no descriptor for it. A client that has left again is dropped at
 * once. Otherwise clients that only connect would fill the kernel's queue, which then drops the attempts of others, and
 * these try again a second later. */
static bool server_accept(struct server *server, unsigned *entered)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int fd = accept4(server->listener, (struct sockaddr *)&address, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return errno == ECONNABORTED || errno == EINTR;
	if (peer_is_gone(fd)) {
		server_drop(fd);
		return true;
	}
	server_enter(server, fd, (struct sockaddr *)&address, size);
	++*entered;
	return true;
}

/* Turns waking by the listener off while all places are taken, and on again. */
static int server_listen(struct server *server, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN };
	bool is_listening = connections_have_room(&server->connections);

	if (is_listening == server->is_listening)
		return 0;
	if (epoll_ctl(server->fd, is_listening ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, server->listener, &event) < 0)
		return error_errno(err, "cannot wait for connections");
	server->is_listening = is_listening;
	return 0;
}

/* Accepts a few connections at a time, so that their requests are read before others push them out. */
static bool server_admit(struct server *server)
{
	unsigned entered = 0;

	for (unsigned i = 0; i < SERVER_ACCEPTS && entered < SERVER_ENTERED; i++)
		if (!connections_have_room(&server->connections) || !server_accept(server, &entered))
			return false;
	return true;
}

static void server_free(struct server *server)
{
	if (server->daemon)
		MHD_stop_daemon(server->daemon);
	close_fd(&server->listener);
	close_fd(&server->fd);
	close_fd(&server->diag);
	free(server);
}

static int server_start(struct server *server, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN };
	const union MHD_DaemonInfo *info;

	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, server_handle,
		server, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT, SERVER_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_NOTIFY_COMPLETED, server_completed,
		server, MHD_OPTION_NOTIFY_CONNECTION, server_notice, server, MHD_OPTION_END);
	if (!server->daemon)
		return error_set(err, -EIO, "cannot start the HTTP server");
	info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	server->fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->fd < 0 || epoll_ctl(server->fd, EPOLL_CTL_ADD, info->epoll_fd, &event) < 0)
		return error_errno(err, "cannot wait for connections");
	return server_listen(server, err);
}

int server_open(int listener, struct server **ret, struct error *err)
{
	struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server) {
		close(listener);
		return error_no_memory(err);
	}
	server->listener = listener;
	server->diag = peer_open();
	server->fd = -1;
	r = server_start(server, err);
	if (r < 0)
		server_free(server);
	else
		*ret = server;
	return r;
}

int server_fd(const struct server *server)
{
	return server->fd;
}

int server_wait(const struct server *server)
{
	MHD_UNSIGNED_LONG_LONG timeout;

	if (MHD_get_timeout(server->daemon, &timeout) == MHD_YES && timeout < 1000)
		return (int)timeout;
	return 1000;
}

int server_step(struct server *server, struct error *err)
{
	bool is_more = true;

	for (unsigned i = 0; is_more && i < SERVER_ROUNDS; i++) {
		is_more = server_admit(server);
		if (MHD_run(server->daemon) != MHD_YES)
			return error_set(err, -EIO, "the HTTP server cannot go on");
	}
	return server_listen(server, err);
}

bool server_is_asked(const struct server *server)
{
	return server->waiting;
}

static struct MHD_Response *server_write(const struct exposition *exposition)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	exposition_write(exposition, out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return server_response(text, length, SERVER_TEXT);
}

static struct MHD_Response *server_refuse(const struct error *err)
{
	char *text;
	int length = asprintf(&text, "%s\n", err->reason);

	return length < 0 ? NULL : server_response(text, (size_t)length, SERVER_PLAIN);
}

/* Makes the answer from the metrics, or from the error if there are none. NULL: no memory. */
static struct server_answer *server_make(const struct exposition *exposition, const struct error *err)
{
	struct server_answer *answer = calloc(1, sizeof(*answer));

	if (!answer)
		return NULL;
	answer->response = exposition ? server_write(exposition) : server_refuse(err);
	answer->status = exposition ? MHD_HTTP_OK : MHD_HTTP_INTERNAL_SERVER_ERROR;
	answer->users = 1;
	if (answer->response)
		return answer;
	free(answer);
	return NULL;
}

void server_answer(struct server *server, const struct exposition *exposition, const struct error *err)
{
	struct server_answer *answer = NULL;
	struct server_request *request;

	while ((request = server->waiting)) {
		server->waiting = request->next;
		if (!answer)
			answer = server_make(exposition, err);
		if (answer)
			answer->users++;
		request->answer = answer;
		request->is_answered = true;
		connections_answer(&server->connections, server_place(request->connection));
		MHD_resume_connection(request->connection);
	}
	server_answer_drop(answer);
}

/* Answers suspended connections first, because libmicrohttpd cannot end them. */
void server_close(struct server *server)
{
	struct error err = { 0 };

	if (!server)
		return;
	error_set(&err, -ESHUTDOWN, "the exporter ends");
	server_answer(server, NULL, &err);
	MHD_run(server->daemon);
	server_free(server);
}
