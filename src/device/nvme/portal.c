/* SPDX-License-Identifier: MIT */
/* Parses and formats portals. */
#include "device/nvme/portal.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/text/parse.h"

/* Finds the end of the address in "ADDRESS", "ADDRESS:PORT", "[ADDRESS]" or "[ADDRESS]:PORT"; NULL if malformed. */
static const char *portal_address_end(const char *address)
{
	const char *end;

	if (address[0] != '[')
		return address + strcspn(address, ":");
	end = strchr(address, ']');
	return end && (!end[1] || end[1] == ':') ? end : NULL;
}

static int portal_parse_address(const char *text, struct portal *portal, struct error *err)
{
	const char *end = portal_address_end(text), *start = text + (text[0] == '['), *port;
	uint64_t number;

	if (!end || end == start || (size_t)(end - start) >= sizeof(portal->address) || strpbrk(text, ", /"))
		return error_set(err, -EINVAL, "'%s' is not ADDRESS or ADDRESS:PORT (IPv6: [ADDRESS]:PORT)", text);
	port = end + (*end == ']');
	if (*port == ':' && strchr(port + 1, ':'))
		return error_set(err, -EINVAL, "'%s': write an IPv6 address in brackets", text);
	if (*port == ':' && parse_u64(port + 1, 1, 65535, &number, err) < 0)
		return -EINVAL;
	snprintf(portal->address, sizeof(portal->address), "%.*s", (int)(end - start), start);
	snprintf(portal->service, sizeof(portal->service), "%s", *port ? port + 1 : PORTAL_PORT);
	return 0;
}

int portal_parse(const char *text, struct portal *ret, struct error *err)
{
	static const char *const transports[] = { "tcp", "rdma" };
	struct portal portal = { 0 };
	int r;

	if (!strcmp(text, "loop")) {
		*ret = (struct portal){ .transport = "loop" };
		return 0;
	}
	for (size_t i = 0; i < sizeof(transports) / sizeof(*transports); i++) {
		size_t length = strlen(transports[i]);

		if (strncmp(text, transports[i], length) != 0 || strncmp(text + length, "://", 3) != 0)
			continue;
		snprintf(portal.transport, sizeof(portal.transport), "%s", transports[i]);
		r = portal_parse_address(text + length + 3, &portal, err);
		if (r == 0)
			*ret = portal;
		return r;
	}
	return error_set(err, -EINVAL, "'%s' is not tcp://ADDRESS[:PORT], rdma://ADDRESS[:PORT] or loop", text);
}

int portal_resolve(const struct portal *portal, struct portal *ret, struct error *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct portal resolved = *portal;
	struct addrinfo *found = NULL;
	int r = 0;

	if (portal->address[0]) {
		r = getaddrinfo(portal->address, NULL, &hints, &found);
		if (r == 0)
			r = getnameinfo(found->ai_addr, found->ai_addrlen, resolved.address, sizeof(resolved.address),
					NULL, 0, NI_NUMERICHOST);
		if (found)
			freeaddrinfo(found);
	}
	if (r != 0)
		return error_set(err, -EHOSTUNREACH, "'%s' has no address: %s", portal->address, gai_strerror(r));
	*ret = resolved;
	return 0;
}

const char *portal_text(const struct portal *portal, char text[PORTAL_TEXT_SIZE])
{
	bool brackets = strchr(portal->address, ':') != NULL;

	if (portal->address[0])
		snprintf(text, PORTAL_TEXT_SIZE, "%s://%s%s%s:%s", portal->transport, brackets ? "[" : "",
			 portal->address, brackets ? "]" : "", portal->service);
	else
		snprintf(text, PORTAL_TEXT_SIZE, "%s", portal->transport);
	return text;
}

bool portal_is(const struct portal *portal, const char *transport, const char *address, const char *service)
{
	return !strcmp(portal->transport, transport) && !strcmp(portal->address, address) &&
	       !strcmp(portal->service, service);
}
