/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connections/gate.h"

#include "base/addr.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <search.h>

/* --- networks -------------------------------------------------------------------------------- */

static bool in_net(const struct vbd_gate_net *net, const uint8_t addr[16])
{
	size_t whole = net->prefix_bits / 8u;
	unsigned int bits = net->prefix_bits % 8u;

	if (memcmp(net->addr, addr, whole) != 0)
		return false;
	return !bits || (net->addr[whole] ^ addr[whole]) >> (8 - bits) == 0;
}

/* Parse the length behind '/', 0 to @max; an absent one is @max. */
static bool parse_prefix_bits(const char *text, unsigned int max, unsigned int *ret_bits)
{
	char *end;
	unsigned long bits;

	*ret_bits = max;
	if (!text)
		return true;
	if (*text < '0' || *text > '9')
		return false;
	bits = strtoul(text, &end, 10);
	*ret_bits = (unsigned int)bits;
	return !*end && bits <= max;
}

static bool has_bits_after_prefix(const struct vbd_gate_net *net)
{
	for (unsigned int bit = net->prefix_bits; bit < 128; bit++) {
		if (net->addr[bit / 8] & 0x80u >> bit % 8)
			return true;
	}
	return false;
}

bool vbd_gate_net_parse(const char *text, struct vbd_gate_net *ret_net)
{
	struct vbd_gate_net net = {0};
	char addr[VBD_GATE_NET_TEXT_BYTES];
	unsigned int bits;
	char *slash;
	bool is_v4;

	if (strlen(text) >= sizeof(addr))
		return false;
	memcpy(addr, text, strlen(text) + 1);
	slash = strchr(addr, '/');
	if (slash)
		*slash++ = '\0';
	if (!vbd_addr_parse_bytes(addr, net.addr))
		return false;
	is_v4 = !strchr(addr, ':');
	if (!parse_prefix_bits(slash, is_v4 ? 32 : 128, &bits))
		return false;
	net.prefix_bits = (uint8_t)(is_v4 ? 96 + bits : bits);
	if (has_bits_after_prefix(&net) || (net.prefix_bits == 128 && !vbd_addr_is_host(addr)))
		return false;
	*ret_net = net;
	return true;
}

const char *vbd_gate_net_format(const struct vbd_gate_net *net, char text[VBD_GATE_NET_TEXT_BYTES])
{
	bool is_v4 = vbd_addr_of_bytes(net->addr).ss_family == AF_INET;
	size_t len;

	(void)inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? net->addr + 12 : net->addr, text,
		VBD_GATE_NET_TEXT_BYTES);
	len = strlen(text);
	if (net->prefix_bits < 128)
		(void)snprintf(text + len, VBD_GATE_NET_TEXT_BYTES - len, "/%u",
			net->prefix_bits - (is_v4 ? 96u : 0u));
	return text;
}

/* --- peers ----------------------------------------------------------------------------------- */

struct peer {
	uint8_t addr[16]; /* first: tsearch(3) compares it */
	uint32_t connections;
};

static int compare_addresses(const void *one, const void *other)
{
	return memcmp(one, other, 16);
}

static struct peer *find_peer(const struct vbd_gate *gate, const uint8_t addr[16])
{
	struct peer *const *node = tfind(addr, &gate->peers, compare_addresses);

	return node ? *node : NULL;
}

bool vbd_gate_enter(struct vbd_gate *gate, const struct sockaddr *peer)
{
	uint8_t addr[16];
	struct peer *entry;

	vbd_addr_to_bytes(peer, addr);
	entry = find_peer(gate, addr);
	if (!entry) {
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			return false;
		memcpy(entry->addr, addr, sizeof(addr));
		if (!tsearch(entry, &gate->peers, compare_addresses)) {
			free(entry);
			return false;
		}
	}
	entry->connections++;
	gate->connections++;
	return true;
}

void vbd_gate_leave(struct vbd_gate *gate, const struct sockaddr *peer)
{
	uint8_t addr[16];
	struct peer *entry;

	vbd_addr_to_bytes(peer, addr);
	entry = find_peer(gate, addr);
	if (!entry)
		return;
	gate->connections--;
	if (--entry->connections)
		return;
	(void)tdelete(entry, &gate->peers, compare_addresses);
	free(entry);
}

void vbd_gate_fini(struct vbd_gate *gate)
{
	while (gate->peers) {
		struct peer *entry = *(struct peer **)gate->peers;

		(void)tdelete(entry, &gate->peers, compare_addresses);
		free(entry);
	}
}

/* --- the check ------------------------------------------------------------------------------- */

static bool is_peer_allowed(
	const struct vbd_gate_rules *rules, const uint8_t addr[16], const uint8_t *gid)
{
	for (uint32_t i = 0; i < rules->allow_count; i++) {
		if (in_net(&rules->allow[i], addr) || (gid && in_net(&rules->allow[i], gid)))
			return true;
	}
	return !rules->allow_count;
}

bool vbd_gate_allows(const struct vbd_gate_rules *rules, const struct sockaddr *peer)
{
	uint8_t addr[16];

	vbd_addr_to_bytes(peer, addr);
	return is_peer_allowed(rules, addr, NULL);
}

/* Returns when the bucket would be full again after one more request; 0 if it is empty. */
static uint64_t take_rate_token(const struct vbd_gate *gate, uint64_t now_ns)
{
	const struct vbd_gate_rules *rules = &gate->rules;
	uint32_t burst = rules->connects_burst ? rules->connects_burst : rules->connects_per_s;

	return vbd_bucket_take(gate->full_ns, rules->connects_per_s, burst, now_ns);
}

enum vbd_connect_refusal vbd_gate_check(
	struct vbd_gate *gate, const struct sockaddr *peer, const uint8_t gid[16], uint64_t now_ns)
{
	const struct vbd_gate_rules *rules = &gate->rules;
	const struct peer *entry;
	uint64_t full_ns = 0;
	uint8_t addr[16];

	vbd_addr_to_bytes(peer, addr);
	if (!is_peer_allowed(rules, addr, gid))
		return VBD_CONNECT_REFUSAL_NOT_ALLOWED;
	if (rules->connects_per_s && !(full_ns = take_rate_token(gate, now_ns)))
		return VBD_CONNECT_REFUSAL_RATE;
	entry = rules->max_per_peer ? find_peer(gate, addr) : NULL;
	if (entry && entry->connections >= rules->max_per_peer)
		return VBD_CONNECT_REFUSAL_PER_PEER;
	if (rules->max_connections && gate->connections >= rules->max_connections)
		return VBD_CONNECT_REFUSAL_CONNECTIONS;
	gate->full_ns = full_ns;
	return VBD_CONNECT_REFUSAL_NONE;
}
