/* SPDX-License-Identifier: MIT */
/* Finds the other end of a local connection in the kernel's table of sockets, by one exact query. */
#include "exporter/peer.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An end of a connection in the form of a query. */
struct peer_end {
	sa_family_t family;
	in_port_t port;
	uint32_t words[4]; /* the address; of IPv4 the first */
};

struct peer_question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 request;
};

struct peer_reply {
	struct nlmsghdr header;
	union {
		struct inet_diag_msg found;
		uint8_t room[512]; /* for attributes, which the query does not ask for */
	};
};

static struct peer_end peer_end_of(const struct sockaddr_storage *address)
{
	struct peer_end end = { .family = address->ss_family };

	if (end.family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)address;

		end.port = six->sin6_port;
		memcpy(end.words, &six->sin6_addr, sizeof(end.words));
	} else if (end.family == AF_INET) {
		const struct sockaddr_in *four = (const void *)address;

		end.port = four->sin_port;
		memcpy(end.words, &four->sin_addr, sizeof(four->sin_addr));
	}
	return end;
}

/* Makes an IPv4 end of a mapped address: a client that speaks IPv4 to a socket for both has a socket of IPv4. */
static void peer_unmap(struct peer_end *end)
{
	if (end->family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)end->words))
		return;
	end->family = AF_INET;
	end->words[0] = end->words[3];
	end->words[1] = end->words[2] = end->words[3] = 0;
}

static bool peer_ask(int diag, const struct peer_end *theirs, const struct peer_end *ours, uint32_t *ret_uid)
{
	struct peer_question question = {
		.header = { .nlmsg_len = sizeof(question), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		.request = { .sdiag_family = (uint8_t)theirs->family, .sdiag_protocol = IPPROTO_TCP,
			     .idiag_states = ~0u },
	};
	struct inet_diag_sockid *id = &question.request.id;
	struct peer_reply reply;
	ssize_t n;

	id->idiag_sport = theirs->port;
	id->idiag_dport = ours->port;
	memcpy(id->idiag_src, theirs->words, sizeof(id->idiag_src));
	memcpy(id->idiag_dst, ours->words, sizeof(id->idiag_dst));
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (send(diag, &question, sizeof(question), 0) < 0)
		return false;
	n = recv(diag, &reply, sizeof(reply), MSG_DONTWAIT);
	if (n < (ssize_t)(sizeof(reply.header) + sizeof(reply.found)) || reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return false;
	if (!reply.found.idiag_inode) /* closed: the kernel says root, whatever the user was */
		return false;
	*ret_uid = reply.found.idiag_uid;
	return true;
}

int peer_open(void)
{
	return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

struct peer peer_of(int diag, int fd)
{
	struct sockaddr_storage remote = { 0 }, local = { 0 };
	socklen_t remote_size = sizeof(remote), local_size = sizeof(local);
	struct peer peer = { .uid = PEER_NOBODY };
	struct peer_end theirs, ours;

	if (getpeername(fd, (struct sockaddr *)&remote, &remote_size) < 0 ||
	    getsockname(fd, (struct sockaddr *)&local, &local_size) < 0)
		return peer;
	theirs = peer_end_of(&remote);
	ours = peer_end_of(&local);
	memcpy(peer.address, theirs.words, sizeof(peer.address));
	peer_unmap(&theirs);
	peer_unmap(&ours);
	if (diag < 0 || !peer_ask(diag, &theirs, &ours, &peer.uid))
		peer.uid = PEER_NOBODY;
	return peer;
}

bool peer_is_same(const struct peer *a, const struct peer *b)
{
	if (a->uid != PEER_NOBODY || b->uid != PEER_NOBODY)
		return a->uid == b->uid;
	return !memcmp(a->address, b->address, sizeof(a->address));
}

bool peer_is_gone(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}
