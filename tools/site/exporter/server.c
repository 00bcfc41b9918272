/* SPDX-License-Identifier: MIT */
/* Suspends a request for metrics until they are there; libmicrohttpd then calls its handler again. */
#include "exporter/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/memstream.h"

/* Half of all connections for one address, so that another machine's Prometheus gets an answer whatever users of this
 * machine do. */
#define SERVER_CONNECTIONS 256u
#define SERVER_OF_ADDRESS  128u

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
	struct server_request *waiting;
};

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

	(void)connection;
	(void)code;
	if (!request)
		return;
	server_forget(server, request);
	server_answer_drop(request->answer);
	free(request);
	*request_place = NULL;
}

int server_open(int listener, struct server **ret, struct error *err)
{
	struct server *server = calloc(1, sizeof(*server));

	if (server)
		server->daemon = MHD_start_daemon(
			MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, server_handle, server,
			MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, SERVER_CONNECTIONS,
			MHD_OPTION_PER_IP_CONNECTION_LIMIT, SERVER_OF_ADDRESS, MHD_OPTION_CONNECTION_TIMEOUT,
			SERVER_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384,
			MHD_OPTION_NOTIFY_COMPLETED, server_completed, server, MHD_OPTION_END);
	if (server && server->daemon) {
		*ret = server;
		return 0;
	}
	free(server);
	return error_set(err, -EIO, "cannot start the HTTP server");
}

int server_fd(const struct server *server)
{
	return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
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
	return MHD_run(server->daemon) == MHD_YES ? 0 : error_set(err, -EIO, "the HTTP server cannot go on");
}

bool server_is_asked(const struct server *server)
{
	return server->waiting;
}

static struct MHD_Response *server_write(const struct exposition *exposition)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = memstream_open(&text, &length);

	if (!out)
		return NULL;
	exposition_write(exposition, out);
	return memstream_close(out, &text, NULL) < 0 ? NULL : server_response(text, length, SERVER_TEXT);
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
	MHD_stop_daemon(server->daemon);
	free(server);
}
