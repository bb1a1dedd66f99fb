/* SPDX-License-Identifier: Apache-2.0 */

#include "base/clock.h"
#include "rdma/provider/ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* errqueue.h needs struct timespec. */
#include <linux/errqueue.h>

#define WAIT_MS 1000

/* PORT_ROCE is that of RoCE v2; traceroute(8) begins with PORT_CLOSED, and relies on it and those
 * after it being closed. */
enum { PORT_ROCE = 4791, PORT_CLOSED = 33434, PORT_LARGE = 33435 };

/* Hosts limit the rate of such answers: if one is left out, then not the one about LARGE alone. */
enum { ROCE, LARGE, CLOSED, DOORS };

/* The longest path MTU of InfiniBand, and what RoCE v2 has in a datagram besides. */
#define LARGE_BYTES_MAX (4096 + 16)

static void set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

/* The second send may report the answer to the first datagram, which is read later. */
static bool send_datagrams(int fd, size_t large_bytes)
{
	static const char zeros[LARGE_BYTES_MAX];

	if (send(fd, zeros, large_bytes, 0) < 0)
		return false;
	if (large_bytes)
		(void)send(fd, zeros, large_bytes, 0);
	return true;
}

/* No router may cut a packet of RoCE v2 in parts, nor one of these. */
static void refuse_parts(int fd, bool six)
{
	int probe = six ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;

	(void)setsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP,
		six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, &probe, sizeof(probe));
}

/* Without IP_RECVERR a socket is not told of a packet that a queueing discipline dropped. */
static int send_to(const struct sockaddr_storage *src, const struct sockaddr_storage *dst,
	uint16_t port, size_t large_bytes, int *ret_errnum)
{
	int fd = socket(dst->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage from = *src;
	struct sockaddr_storage to = *dst;
	bool six = dst->ss_family == AF_INET6;
	int on = 1;

	*ret_errnum = 0;
	if (fd < 0)
		return fd;
	set_port(&from, 0);
	set_port(&to, port);
	(void)setsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_RECVERR : IP_RECVERR, &on,
		sizeof(on));
	refuse_parts(fd, six);
	if (src->ss_family == dst->ss_family)
		(void)bind(fd, (struct sockaddr *)&from, sizeof(from));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
		!send_datagrams(fd, large_bytes))
		*ret_errnum = errno;
	return fd;
}

/* The answer of a host on the way, or of the last one, to a datagram. */
struct answer {
	struct sock_extended_err error;
	struct sockaddr_storage from;
};

static void take_answer(const struct cmsghdr *part, struct answer *answer)
{
	const struct sock_extended_err *error = (const void *)CMSG_DATA(part);
	const struct sockaddr *from = SO_EE_OFFENDER(error);

	memcpy(&answer->error, error, sizeof(*error));
	if (from->sa_family == AF_INET)
		memcpy(&answer->from, from, sizeof(struct sockaddr_in));
	else if (from->sa_family == AF_INET6)
		memcpy(&answer->from, from, sizeof(struct sockaddr_in6));
}

static bool read_answer(int fd, struct answer *ret_answer)
{
	_Alignas(struct cmsghdr) char control[512];
	struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
	struct answer answer = {0};

	if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part;
		part = CMSG_NXTHDR(&message, part)) {
		if ((part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) ||
			(part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR))
			take_answer(part, &answer);
	}
	*ret_answer = answer;
	return answer.error.ee_origin == SO_EE_ORIGIN_ICMP ||
	       answer.error.ee_origin == SO_EE_ORIGIN_ICMP6;
}

static bool is_forbidden(const struct sock_extended_err *error)
{
	if (error->ee_origin == SO_EE_ORIGIN_ICMP6)
		return error->ee_type == ICMP6_DST_UNREACH &&
		       error->ee_code == ICMP6_DST_UNREACH_ADMIN;
	return error->ee_type == ICMP_DEST_UNREACH &&
	       (error->ee_code == ICMP_NET_ANO || error->ee_code == ICMP_HOST_ANO ||
		       error->ee_code == ICMP_PKT_FILTERED);
}

static void name_firewall(const struct sockaddr_storage *from, struct vbd_pv_knock *knock)
{
	const void *bytes = from->ss_family == AF_INET6
				    ? (const void *)&((const struct sockaddr_in6 *)from)->sin6_addr
				    : (const void *)&((const struct sockaddr_in *)from)->sin_addr;

	if (from->ss_family)
		(void)inet_ntop(from->ss_family, bytes, knock->firewall, sizeof(knock->firewall));
}

/* Returns when a port was answered to be closed; 0 for any other answer. */
static uint64_t hear(int fd, bool roce, struct vbd_pv_knock *knock)
{
	struct answer answer;

	if (!read_answer(fd, &answer))
		return 0;
	if (roce && is_forbidden(&answer.error))
		name_firewall(&answer.from, knock);
	return answer.error.ee_errno == ECONNREFUSED ? vbd_clock_mono_ns() : 0;
}

/* An answer about one port says nothing yet about the other one. */
static void await(
	struct pollfd doors[DOORS], uint64_t refused_ns[DOORS], struct vbd_pv_knock *knock)
{
	uint64_t end_ns = vbd_clock_mono_ns() + (uint64_t)WAIT_MS * VBD_NS_PER_MS;

	while (doors[ROCE].fd >= 0 || doors[LARGE].fd >= 0 || doors[CLOSED].fd >= 0) {
		uint64_t now_ns = vbd_clock_mono_ns();
		int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / VBD_NS_PER_MS) + 1 : 0;

		if (poll(doors, DOORS, left_ms) <= 0)
			return;
		for (unsigned int i = 0; i < DOORS; i++) {
			if (doors[i].fd < 0 || !doors[i].revents)
				continue;
			refused_ns[i] = hear(doors[i].fd, i == ROCE, knock);
			doors[i].fd = -1;
		}
	}
}

static void take_answers(
	uint64_t began_ns, const uint64_t refused_ns[DOORS], struct vbd_pv_knock *knock)
{
	uint64_t first_ns = UINT64_MAX;

	for (unsigned int i = 0; i < DOORS; i++) {
		if (refused_ns[i] && refused_ns[i] < first_ns)
			first_ns = refused_ns[i];
	}
	knock->refused = refused_ns[ROCE];
	knock->answered = first_ns != UINT64_MAX;
	knock->rtt_ns = knock->answered ? first_ns - began_ns : 0;
}

void vbd_pv_knock(const struct vbd_pv_question *question, bool own, size_t large_bytes,
	struct vbd_pv_knock *ret_knock, struct vbd_pv_answer *ret_answer)
{
	const struct sockaddr_storage *src = &question->src;
	const struct sockaddr_storage *dst = &question->dst;
	uint64_t began_ns = vbd_clock_mono_ns();
	int errnums[DOORS] = {0};
	int fds[DOORS] = {-1, -1, -1};
	uint64_t refused_ns[DOORS] = {0};
	struct pollfd doors[DOORS];
	struct vbd_pv_ask *ask = NULL;

	if (!own) {
		fds[ROCE] = send_to(src, dst, PORT_ROCE, 0, &errnums[ROCE]);
		if (large_bytes && large_bytes <= LARGE_BYTES_MAX)
			fds[LARGE] = send_to(src, dst, PORT_LARGE, large_bytes, &errnums[LARGE]);
		fds[CLOSED] = send_to(src, dst, PORT_CLOSED, 0, &errnums[CLOSED]);
	}
	*ret_knock = (struct vbd_pv_knock){
		.done = fds[ROCE] >= 0 && fds[CLOSED] >= 0,
		.forbidden = errnums[ROCE] == EPERM || errnums[ROCE] == ENOBUFS,
	};
	/* A message of the connection manager that can't leave does harm: see
	 * rdma/device/port_counters.h. */
	if (!ret_knock->forbidden)
		ask = vbd_pv_ask_begin(question);
	for (unsigned int i = 0; i < DOORS; i++)
		doors[i] = (struct pollfd){.fd = errnums[i] ? -1 : fds[i], .events = POLLERR};
	await(doors, refused_ns, ret_knock);
	for (unsigned int i = 0; i < DOORS; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
	}
	/* A queueing discipline or a tunnel of this host may have dropped them as well. With
	 * EMSGSIZE the interface here is the one that carries less. */
	ret_knock->large_lost = fds[LARGE] >= 0 && errnums[LARGE] != EMSGSIZE &&
				refused_ns[CLOSED] && !refused_ns[LARGE];
	take_answers(began_ns, refused_ns, ret_knock);
	vbd_pv_ask_end(ask, ret_answer);
	ret_knock->asked = ret_answer->asked;
	ret_knock->cm_answered = ret_answer->answered;
}
