/* SPDX-License-Identifier: MIT */
/* Calls a method of a gRPC server on a unix socket, as the kubelet does, and prints "STATUS MESSAGE" and the fields of
 * the answer.
 * usage: csi-call [-a AUTHORITY] [-n CALLS] [-q] [-t FILE] SOCKET METHOD [WORD…]
 * Words make up the request: N=TEXT, N:NUMBER, N{ to begin a message in it, } to end it, @HEX for any bytes. With -n
 * the call is made so many times at once, over one connection; with -q, nothing waits for the answer; with -t, a line
 * of the file says how long the answer took, in microseconds. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "csi/wire.h"

struct request {
	const uint8_t *bytes;
	size_t length, sent;
};

struct answer {
	struct answer *next;
	struct request request;
	char status[16], message[4096];
	uint8_t body[65536];
	size_t length;
};

static struct answer *answers;
static unsigned open_calls, failed;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "csi-call: %s: %s\n", what, strerror(errno));
	exit(3);
}

/* ---- messages ---- */

/* Writes bytes that are no field, by way of a message whose tag is taken off. */
static void put_hex(struct wire_message *message, const char *hex)
{
	char text[3] = { 0 };

	for (; hex[0] && hex[1]; hex += 2) {
		memcpy(text, hex, 2);
		wire_put_number(message, 1, 0);
		message->length -= 2;
		message->bytes[message->length++] = (uint8_t)strtoul(text, NULL, 16);
	}
}

static char **put_words(struct wire_message *message, char **words)
{
	for (; *words && strcmp(*words, "}") != 0; words++) {
		struct wire_message inner = { 0 };
		char *end;
		uint32_t number = (uint32_t)strtoul(*words, &end, 10);

		if (**words == '@') {
			put_hex(message, *words + 1);
		} else if (*end == '=') {
			wire_put_text(message, number, end + 1);
		} else if (*end == ':') {
			wire_put_number(message, number, strtoull(end + 1, NULL, 0));
		} else {
			words = put_words(&inner, words + 1);
			wire_put_message(message, number, &inner);
			wire_free(&inner);
		}
		if (!*words)
			break;
	}
	return words;
}

static bool is_text(struct span bytes)
{
	for (uint64_t i = 0; i < bytes.size; i++)
		if (bytes.base[i] < ' ')
			return false;
	return true;
}

/* Our texts have no control characters, and our messages begin with one. */
static void print_message(struct span message, unsigned depth)
{
	struct wire_field field;
	struct error err = { 0 };

	while (wire_next(&message, &field, &err) > 0) {
		printf("%*s%u", (int)depth * 2, "", field.number);
		if (field.kind != WIRE_BYTES) {
			printf(": %llu\n", (unsigned long long)field.value);
		} else if (is_text(field.bytes)) {
			printf("=%.*s\n", (int)field.bytes.size, (const char *)field.bytes.base);
		} else {
			printf("{\n");
			print_message(field.bytes, depth + 1);
		}
	}
	if (err.code)
		printf("bad answer: %s\n", err.reason);
}

/* ---- HTTP/2 ---- */

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags,
			    nghttp2_data_source *source, void *argument)
{
	struct request *request = source->ptr;

	(void)session;
	(void)stream;
	(void)argument;
	if (length > request->length - request->sent)
		length = request->length - request->sent;
	memcpy(buffer, request->bytes + request->sent, length);
	request->sent += length;
	if (request->sent == request->length)
		*flags = NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)length;
}

static void take(char *place, size_t size, const uint8_t *value, size_t length)
{
	snprintf(place, size, "%.*s", (int)length, (const char *)value);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
		     const uint8_t *value, size_t length, uint8_t flags, void *argument)
{
	struct answer *answer = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	(void)argument;
	if (name_length == 11 && !memcmp(name, "grpc-status", 11))
		take(answer->status, sizeof(answer->status), value, length);
	if (name_length == 12 && !memcmp(name, "grpc-message", 12))
		take(answer->message, sizeof(answer->message), value, length);
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t length,
		   void *argument)
{
	struct answer *answer = nghttp2_session_get_stream_user_data(session, stream);

	(void)flags;
	(void)argument;
	if (length > sizeof(answer->body) - answer->length)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	memcpy(answer->body + answer->length, bytes, length);
	answer->length += length;
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *argument)
{
	const struct answer *answer = nghttp2_session_get_stream_user_data(session, stream);

	(void)argument;
	open_calls--;
	if (!*answer->status)
		printf("reset %u\n", code);
	else
		printf("%s %s\n", answer->status, answer->message);
	if (answer->length >= 5)
		print_message(span_of(answer->body + 5, answer->length - 5), 0);
	failed |= strcmp(answer->status, "0") != 0;
	return 0;
}

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name, .namelen = strlen(name),
			     .value = (uint8_t *)(uintptr_t)value, .valuelen = strlen(value) };
}

static void submit(nghttp2_session *session, const char *authority, const char *path, const struct wire_message *body)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	nghttp2_data_provider provider = { .read_callback = read_request };
	const nghttp2_nv headers[] = { header(":method", "POST"), header(":scheme", "http"), header(":path", path),
				       header(":authority", authority), header("content-type", "application/grpc"),
				       header("te", "trailers") };

	if (!answer)
		die("no memory");
	answer->next = answers;
	answers = answer;
	answer->request = (struct request){ body->bytes, body->length, 0 };
	provider.source.ptr = &answer->request;
	if (nghttp2_submit_request(session, NULL, headers, 6, &provider, answer) < 0)
		die("cannot call");
	open_calls++;
}

static void talk(nghttp2_session *session, int fd)
{
	const uint8_t *out;
	uint8_t in[16384];
	ssize_t n;

	while ((n = nghttp2_session_mem_send(session, &out)) > 0)
		if (send(fd, out, (size_t)n, MSG_NOSIGNAL) != n)
			die("cannot send");
	if (!open_calls)
		return;
	n = recv(fd, in, sizeof(in), 0);
	if (n <= 0) {
		printf("closed\n");
		exit(2);
	}
	if (nghttp2_session_mem_recv(session, in, (size_t)n) != n)
		die("the server does not speak HTTP/2");
}

static void end(nghttp2_session *session)
{
	struct answer *answer;

	nghttp2_session_del(session);
	while ((answer = answers)) {
		answers = answer->next;
		free(answer);
	}
}

static nghttp2_session *begin(void)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;

	if (nghttp2_session_callbacks_new(&callbacks) < 0)
		die("no memory");
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	if (nghttp2_session_client_new(&session, callbacks, NULL) < 0 ||
	    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0) < 0)
		die("no memory");
	nghttp2_session_callbacks_del(callbacks);
	return session;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die(path);
	return fd;
}

/* Makes the request, with its prefix. */
static struct wire_message frame(char **words)
{
	struct wire_message message = { 0 }, framed = { 0 };
	size_t length;

	put_words(&message, words);
	length = message.length;
	put_hex(&framed, "0000000000");
	for (unsigned i = 0; i < 4; i++)
		framed.bytes[1 + i] = (uint8_t)(length >> (24 - 8 * i));
	for (size_t i = 0; i < length; i++) {
		char hex[3];

		snprintf(hex, sizeof(hex), "%02x", message.bytes[i]);
		put_hex(&framed, hex);
	}
	wire_free(&message);
	return framed;
}

/* Hangs up, and waits until the other side has done so, too: it has read the request by then. If the socket were closed
 * at once, it could fail to send before it has read all. */
static void leave(int fd)
{
	char bytes[256];

	shutdown(fd, SHUT_WR);
	while (read(fd, bytes, sizeof(bytes)) > 0)
		continue;
}

static void note_time(const char *path, int64_t nanoseconds)
{
	FILE *file = fopen(path, "a");

	if (!file || fprintf(file, "%lld\n", (long long)(nanoseconds / 1000)) < 0 || fclose(file) != 0)
		die(path);
}

int main(int argc, char **argv)
{
	const char *authority = "localhost", *times = NULL;
	int64_t began = clock_now();
	struct wire_message body;
	nghttp2_session *session;
	unsigned calls = 1;
	bool leaves = false;
	int fd, option;

	while ((option = getopt(argc, argv, "+a:n:qt:")) != -1) {
		if (option == 'a')
			authority = optarg;
		else if (option == 'n')
			calls = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 't')
			times = optarg;
		else
			leaves = true;
	}
	if (argc - optind < 2)
		return 3;
	fd = connect_to(argv[optind]);
	session = begin();
	body = frame(argv + optind + 2);
	for (unsigned i = 0; i < calls; i++)
		submit(session, authority, argv[optind + 1], &body);
	do
		talk(session, fd);
	while (open_calls && !leaves);
	if (leaves)
		leave(fd);
	if (times)
		note_time(times, clock_now() - began);
	end(session);
	wire_free(&body);
	close(fd);
	return failed ? 1 : 0;
}
