/* SPDX-License-Identifier: MIT */
/* Feeds libnghttp2 with the bytes of connections. What it wants to send goes out from the loop alone, so a call may be
 * answered at any time, and no connection ends while somebody works on it. */
#include "csi/server.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/log.h"
#include "csi/loop.h"
#include "csi/socket.h"

#define SERVER_CONNECTIONS 256u   /* the kubelet opens one for each call, which may last two minutes */
#define SERVER_CALLS       128u   /* of a connection, at a time */
#define SERVER_MESSAGE     65536u /* bytes of a message */
#define SERVER_PREFIX      5u     /* bytes in front of a message: is it compressed, and its length */
#define SERVER_READ        16384u
#define SERVER_REASON      1024u  /* bytes of a reason */

struct server {
	int loop;
	char *path;
	const struct server_method *methods;
	void *argument;
	struct loop_watch watch; /* of the listener */
	struct connection *connections;
	unsigned count;
};

struct connection {
	struct connection *next;
	struct server *server;
	struct loop_watch watch;
	nghttp2_session *session;
	const uint8_t *out; /* belongs to the session; the socket has not taken it yet */
	size_t left;
	struct call *calls;
	unsigned count;
};

struct call {
	struct call *next;             /* of the same connection */
	struct connection *connection; /* NULL: the client has given up */
	int32_t stream;
	bool is_held;                  /* a handler has it, and has not answered */
	char path[96];
	uint8_t *body;                 /* the request as far as it has come; then the answer */
	size_t length, room, sent;
	bool is_too_long;
};

/* ---- calls ---- */

static void server_unlink(struct call *call)
{
	struct call **at = &call->connection->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	call->connection->count--;
	call->connection = NULL;
}

/* The stream has ended. Whoever holds the call still answers it. */
static void server_drop(struct call *call)
{
	server_unlink(call);
	if (call->is_held)
		return;
	free(call->body);
	free(call);
}

/* The call is being answered; returns false, and frees it, if nobody waits for that. */
static bool server_release(struct call *call)
{
	free(call->body);
	call->body = NULL;
	call->length = call->room = call->sent = 0;
	call->is_held = false;
	if (call->connection)
		return true;
	free(call);
	return false;
}

static nghttp2_nv server_header(const char *name, const char *value)
{
	return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name, .namelen = strlen(name),
			     .value = (uint8_t *)(uintptr_t)value, .valuelen = strlen(value) };
}

/* Has the loop send what the session has to say. */
static void server_wake(struct connection *connection)
{
	struct error err = { 0 };

	if (loop_change(connection->server->loop, &connection->watch, EPOLLIN | EPOLLOUT, &err) < 0)
		log_error(&err, "cannot answer");
}

static ssize_t server_read_answer(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t length,
				  uint32_t *flags, nghttp2_data_source *source, void *argument)
{
	nghttp2_nv trailer = server_header("grpc-status", "0");
	struct call *call = source->ptr;

	(void)argument;
	if (length > call->length - call->sent)
		length = call->length - call->sent;
	memcpy(buffer, call->body + call->sent, length);
	call->sent += length;
	if (call->sent == call->length) {
		*flags = NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (nghttp2_submit_trailer(session, stream, &trailer, 1) < 0)
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return (ssize_t)length;
}

/* Writes the prefix and the message to the call. */
static int server_frame(struct call *call, const struct wire_message *message)
{
	size_t length = message->length;
	uint8_t prefix[SERVER_PREFIX] = { 0, (uint8_t)(length >> 24), (uint8_t)(length >> 16), (uint8_t)(length >> 8),
					  (uint8_t)length };

	if (message->is_cut || grow(call->body, call->room, length + sizeof(prefix), NULL) < 0)
		return -ENOMEM;
	memcpy(call->body, prefix, sizeof(prefix));
	if (length)
		memcpy(call->body + sizeof(prefix), message->bytes, length);
	call->length = length + sizeof(prefix);
	return 0;
}

void server_answer(struct call *call, const struct wire_message *message)
{
	nghttp2_nv headers[] = { server_header(":status", "200"), server_header("content-type", "application/grpc") };
	nghttp2_data_provider provider = { .source.ptr = call, .read_callback = server_read_answer };

	if (!server_release(call))
		return;
	if (server_frame(call, message) < 0) {
		server_refuse(call, SERVER_RESOURCE_EXHAUSTED, strerror(ENOMEM));
		return;
	}
	(void)nghttp2_submit_response(call->connection->session, call->stream, headers, 2, &provider);
	server_wake(call->connection);
}

/* Percent-encodes a reason, as the protocol has it. */
static void server_encode(const char *reason, char ret[3 * SERVER_REASON + 1])
{
	size_t at = 0;

	for (unsigned i = 0; i < SERVER_REASON && reason[i]; i++) {
		unsigned char c = (unsigned char)reason[i];

		if (c >= ' ' && c < 0x7f && c != '%')
			ret[at++] = (char)c;
		else
			at += (size_t)sprintf(ret + at, "%%%02X", c);
	}
	ret[at] = 0;
}

void server_refuse(struct call *call, enum server_status status, const char *reason)
{
	char code[12], message[3 * SERVER_REASON + 1];
	nghttp2_nv headers[4];

	if (!server_release(call))
		return;
	snprintf(code, sizeof(code), "%u", (unsigned)status);
	server_encode(reason, message);
	headers[0] = server_header(":status", "200");
	headers[1] = server_header("content-type", "application/grpc");
	headers[2] = server_header("grpc-status", code);
	headers[3] = server_header("grpc-message", message);
	(void)nghttp2_submit_response(call->connection->session, call->stream, headers, 4, NULL);
	server_wake(call->connection);
}

bool server_is_gone(const struct call *call)
{
	return !call->connection;
}

/* ---- what comes ---- */

static const struct server_method *server_find(const struct server *server, const char *path)
{
	for (const struct server_method *method = server->methods; method->path; method++)
		if (!strcmp(method->path, path))
			return method;
	return NULL;
}

static bool server_is_whole(const struct call *call)
{
	const uint8_t *b = call->body;

	return call->length >= SERVER_PREFIX && !b[0] &&
	       call->length - SERVER_PREFIX == ((uint32_t)b[1] << 24 | b[2] << 16 | b[3] << 8 | b[4]);
}

/* Gives a call that has come as a whole to its handler. */
static void server_dispatch(struct call *call)
{
	const struct server *server = call->connection->server;
	const struct server_method *method = server_find(server, call->path);

	call->is_held = true;
	if (!method)
		server_refuse(call, SERVER_UNIMPLEMENTED, "datasetfs-csi does not have this method");
	else if (call->is_too_long)
		server_refuse(call, SERVER_RESOURCE_EXHAUSTED, "the message has more than 65536 bytes");
	else if (!server_is_whole(call))
		server_refuse(call, SERVER_INVALID_ARGUMENT, "expected one message, and not a compressed one");
	else
		method->handler(server->argument, call,
				span_of(call->body + SERVER_PREFIX, call->length - SERVER_PREFIX));
}

static int server_on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *argument)
{
	struct connection *connection = argument;
	struct call *call;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = connection->count < SERVER_CALLS ? calloc(1, sizeof(*call)) : NULL;
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	call->connection = connection;
	call->stream = frame->hd.stream_id;
	call->next = connection->calls;
	connection->calls = call;
	connection->count++;
	return nghttp2_session_set_stream_user_data(session, call->stream, call);
}

static int server_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
			    size_t name_length, const uint8_t *value, size_t length, uint8_t flags, void *argument)
{
	struct call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	(void)argument;
	if (call && name_length == 5 && !memcmp(name, ":path", 5) && length < sizeof(call->path)) {
		memcpy(call->path, value, length);
		call->path[length] = 0;
	}
	return 0;
}

static int server_on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t length,
			  void *argument)
{
	struct call *call = nghttp2_session_get_stream_user_data(session, stream);

	(void)flags;
	(void)argument;
	if (!call || call->is_held)
		return 0;
	if (length > SERVER_MESSAGE + SERVER_PREFIX - call->length ||
	    grow(call->body, call->room, call->length + length, NULL) < 0) {
		call->is_too_long = true;
		return 0;
	}
	if (length)
		memcpy(call->body + call->length, bytes, length);
	call->length += length;
	return 0;
}

static int server_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *argument)
{
	struct call *call;

	(void)argument;
	if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (call && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && !call->is_held)
		server_dispatch(call);
	return 0;
}

static int server_on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *argument)
{
	struct call *call = nghttp2_session_get_stream_user_data(session, stream);

	(void)code;
	(void)argument;
	if (call)
		server_drop(call);
	return 0;
}

/* ---- connections ---- */

static void server_hang_up(struct connection *connection)
{
	struct server *server = connection->server;
	struct connection **at = &server->connections;

	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	server->count--;
	while (connection->calls)
		server_drop(connection->calls);
	nghttp2_session_del(connection->session);
	loop_remove(server->loop, &connection->watch);
	free(connection);
}

/* Reads what there is, once; -1: the connection has ended, or makes no sense. */
static int server_receive(struct connection *connection)
{
	uint8_t buffer[SERVER_READ];
	ssize_t n = recv(connection->watch.fd, buffer, sizeof(buffer), 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0 || nghttp2_session_mem_recv(connection->session, buffer, (size_t)n) != n)
		return -1;
	return 0;
}

/* Sends until nothing is left, or the socket takes no more. */
static int server_send(struct connection *connection)
{
	ssize_t n;

	for (;;) {
		if (!connection->left) {
			n = nghttp2_session_mem_send(connection->session, &connection->out);
			if (n <= 0)
				return (int)n;
			connection->left = (size_t)n;
		}
		n = send(connection->watch.fd, connection->out, connection->left, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		connection->out += n;
		connection->left -= (size_t)n;
	}
}

static void server_on_connection(void *argument, uint32_t events)
{
	struct connection *connection = argument;
	uint32_t next = EPOLLIN;
	int r = 0;

	if (events & ~(uint32_t)EPOLLOUT)
		r = server_receive(connection);
	if (r == 0)
		r = server_send(connection);
	if (r == 0 && connection->left)
		next |= EPOLLOUT;
	if (r < 0 || (!connection->left && !nghttp2_session_want_read(connection->session)) ||
	    loop_change(connection->server->loop, &connection->watch, next, NULL) < 0)
		server_hang_up(connection);
}

static int server_session(nghttp2_session **ret, void *argument)
{
	nghttp2_settings_entry settings[] = { { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, SERVER_CALLS } };
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *option = NULL;
	int r = nghttp2_session_callbacks_new(&callbacks);

	if (r == 0)
		r = nghttp2_option_new(&option);
	if (r == 0) {
		/* Older kubelets send the path of the socket as :authority, which is none. */
		nghttp2_option_set_no_http_messaging(option, 1);
		nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, server_on_begin);
		nghttp2_session_callbacks_set_on_header_callback(callbacks, server_on_header);
		nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, server_on_data);
		nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, server_on_frame);
		nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, server_on_close);
		r = nghttp2_session_server_new2(ret, callbacks, argument, option);
	}
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	return r < 0 ? r : nghttp2_submit_settings(*ret, NGHTTP2_FLAG_NONE, settings, 1);
}

/* Takes ownership of the socket. */
static int server_connect(struct server *server, int fd, struct error *err)
{
	auto_close int owned = fd;
	auto_free struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection || server_session(&connection->session, connection) < 0)
		return error_no_memory(err);
	connection->server = server;
	connection->watch = (struct loop_watch){ fd, server_on_connection, connection };
	r = loop_add(server->loop, &connection->watch, EPOLLIN | EPOLLOUT, err);
	if (r < 0) {
		nghttp2_session_del(connection->session);
		return r;
	}
	take_fd(&owned);
	connection->next = server->connections;
	server->connections = take_ptr(&connection);
	server->count++;
	return 0;
}

static void server_on_listener(void *argument, uint32_t events)
{
	struct server *server = argument;
	struct error err = { 0 };
	int fd = socket_accept(server->watch.fd);

	(void)events;
	if (fd < 0)
		return;
	if (server->count == SERVER_CONNECTIONS) {
		log_warn("there are %u connections already, ignoring another one", server->count);
		close(fd);
	} else if (server_connect(server, fd, &err) < 0) {
		log_error(&err, "cannot serve a connection");
	}
}

/* ---- beginning and end ---- */

int server_open(int loop, const char *path, const struct server_method *methods, void *argument, struct server **ret,
		struct error *err)
{
	struct server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return error_no_memory(err);
	*server = (struct server){ .loop = loop, .methods = methods, .argument = argument, .path = strdup(path) };
	server->watch = (struct loop_watch){ -1, server_on_listener, server };
	r = server->path ? socket_listen(path, &server->watch.fd, err) : error_no_memory(err);
	if (r == 0)
		r = loop_add(loop, &server->watch, EPOLLIN, err);
	if (r < 0) {
		close_fd(&server->watch.fd);
		free(server->path);
		free(server);
		return r;
	}
	*ret = server;
	return 0;
}

void server_close(struct server *server)
{
	if (!server)
		return;
	(void)unlink(server->path);
	while (server->connections)
		server_hang_up(server->connections);
	loop_remove(server->loop, &server->watch);
	free(server->path);
	free(server);
}
