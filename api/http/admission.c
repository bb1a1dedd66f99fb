/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/admission.h"

#include <netinet/in.h>

#define BUCKETS 256 /* a power of two */

struct vbd_source {
	struct vbd_link link; /* in its bucket */
	struct vbd_source_key key;
	unsigned int clients;		      /* with a seat, those in the reserve included */
	unsigned int seats;		      /* without the reserve */
	struct vbd_link strangers;	      /* of the seats, likewise; by age */
	unsigned int shares[VBD_SHARE_COUNT]; /* not of the role "control" */
};

struct vbd_admission {
	struct vbd_admission_limits limits;
	unsigned int seats;
	unsigned int reserve;
	struct vbd_link strangers;	      /* not in the reserve; by age */
	struct vbd_link strangers_in_reserve; /* by age */
	unsigned int shares[VBD_SHARE_COUNT];
	unsigned int shares_of_others[VBD_SHARE_COUNT]; /* not of the role "control" */
	struct vbd_link buckets[BUCKETS];
};

/* --- sources --------------------------------------------------------------------------------- */

enum { KEY_LOOPBACK = 1, KEY_V4, KEY_V6, KEY_UID };

struct vbd_source_key vbd_source_of_address(const struct sockaddr *addr)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)addr;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)addr;
	struct vbd_source_key key = {{0}};
	const uint8_t *bytes = (const uint8_t *)&v4->sin_addr;

	if (addr->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)) {
		key.bytes[0] = KEY_LOOPBACK;
		return key;
	}
	if (addr->sa_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		key.bytes[0] = KEY_V6;
		memcpy(key.bytes + 1, v6->sin6_addr.s6_addr, 8);
		return key;
	}
	if (addr->sa_family == AF_INET6)
		bytes = &v6->sin6_addr.s6_addr[12];
	/* Any of the 16 million addresses of 127/8 is there for every local user. */
	key.bytes[0] = bytes[0] == 127 ? KEY_LOOPBACK : KEY_V4;
	if (bytes[0] != 127)
		memcpy(key.bytes + 1, bytes, 4);
	return key;
}

struct vbd_source_key vbd_source_of_uid(uid_t uid)
{
	struct vbd_source_key key = {{KEY_UID}};

	memcpy(key.bytes + 1, &uid, sizeof(uid));
	return key;
}

static struct vbd_link *bucket_of(struct vbd_admission *admission, const struct vbd_source_key *key)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < sizeof(key->bytes); i++)
		hash = (hash ^ key->bytes[i]) * 16777619u;
	return &admission->buckets[(hash ^ hash >> 16) % BUCKETS];
}

static struct vbd_source *find_source(
	struct vbd_admission *admission, const struct vbd_source_key *key)
{
	struct vbd_link *bucket = bucket_of(admission, key);
	struct vbd_source *source;

	vbd_list_for_each (link, bucket) {
		source = VBD_CONTAINER_OF(link, struct vbd_source, link);
		if (memcmp(&source->key, key, sizeof(*key)) == 0)
			return source;
	}
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->key = *key;
	vbd_list_init(&source->strangers);
	vbd_list_append(bucket, &source->link);
	return source;
}

static void drop_source(struct vbd_source *source)
{
	if (source->clients)
		return;
	vbd_list_remove(&source->link);
	free(source);
}

/* --- seats ----------------------------------------------------------------------------------- */

struct vbd_admission *vbd_admission_create(const struct vbd_admission_limits *limits)
{
	struct vbd_admission *admission = calloc(1, sizeof(*admission));

	if (!admission)
		return NULL;
	admission->limits = *limits;
	vbd_list_init(&admission->strangers);
	vbd_list_init(&admission->strangers_in_reserve);
	for (size_t i = 0; i < BUCKETS; i++)
		vbd_list_init(&admission->buckets[i]);
	return admission;
}

void vbd_admission_destroy(struct vbd_admission *admission)
{
	free(admission);
}

void vbd_seat_set_known(struct vbd_seat *seat)
{
	seat->known = true;
	vbd_list_remove(&seat->by_age);
	vbd_list_remove(&seat->by_age_in_source);
}

void vbd_seat_set_tried(struct vbd_admission *admission, struct vbd_seat *seat)
{
	if (seat->known || !seat->source)
		return;
	vbd_list_remove(&seat->by_age);
	if (seat->in_reserve) {
		vbd_list_prepend(&admission->strangers_in_reserve, &seat->by_age);
		return;
	}
	vbd_list_prepend(&admission->strangers, &seat->by_age);
	vbd_list_remove(&seat->by_age_in_source);
	vbd_list_prepend(&seat->source->strangers, &seat->by_age_in_source);
}

void vbd_seat_give_up(struct vbd_admission *admission, struct vbd_seat *seat)
{
	struct vbd_source *source = seat->source;

	if (!source)
		return;
	vbd_seat_set_known(seat);
	seat->source = NULL;
	if (seat->in_reserve) {
		admission->reserve--;
	} else {
		admission->seats--;
		source->seats--;
	}
	source->clients--;
	drop_source(source);
}

static struct vbd_seat *send_away(struct vbd_admission *admission, struct vbd_seat *victim)
{
	if (victim)
		vbd_seat_give_up(admission, victim);
	return victim;
}

static bool has_room(const struct vbd_admission *admission, const struct vbd_source *source)
{
	return admission->seats < admission->limits.seats &&
	       source->seats < admission->limits.seats_per_source;
}

/*
 * Give up the seat of a stranger to make room for a client of @source; NULL if there is none. A
 * stranger of the same source goes first, so that a flood from one address does not reach others.
 */
static struct vbd_seat *make_room(struct vbd_admission *admission, struct vbd_source *source)
{
	struct vbd_seat *victim =
		VBD_LIST_FIRST(&source->strangers, struct vbd_seat, by_age_in_source);

	if (!victim && source->seats < admission->limits.seats_per_source)
		victim = VBD_LIST_FIRST(&admission->strangers, struct vbd_seat, by_age);
	return send_away(admission, victim);
}

static void sit(struct vbd_admission *admission, struct vbd_source *source, struct vbd_seat *seat)
{
	admission->seats++;
	source->seats++;
	seat->in_reserve = false;
	if (seat->known)
		return;
	vbd_list_remove(&seat->by_age);
	vbd_list_append(&admission->strangers, &seat->by_age);
	vbd_list_append(&source->strangers, &seat->by_age_in_source);
}

/* Take a seat of the reserve; false if all its seats have clients that are known. */
static bool sit_in_reserve(
	struct vbd_admission *admission, struct vbd_seat *seat, struct vbd_seat **ret_victim)
{
	if (admission->reserve >= admission->limits.reserve) {
		*ret_victim = send_away(admission,
			VBD_LIST_FIRST(&admission->strangers_in_reserve, struct vbd_seat, by_age));
		if (!*ret_victim)
			return false;
	}
	admission->reserve++;
	seat->in_reserve = true;
	vbd_list_append(&admission->strangers_in_reserve, &seat->by_age);
	return true;
}

bool vbd_seat_take(struct vbd_admission *admission, const struct vbd_source_key *key,
	struct vbd_seat *seat, struct vbd_seat **ret_victim)
{
	struct vbd_source *source = find_source(admission, key);
	bool seated = true;

	*seat = (struct vbd_seat){0};
	vbd_list_init(&seat->by_age);
	vbd_list_init(&seat->by_age_in_source);
	*ret_victim = NULL;
	if (!source)
		return false;
	source->clients++; /* the source must outlive a victim of its own */
	if (!has_room(admission, source))
		*ret_victim = make_room(admission, source);
	if (has_room(admission, source))
		sit(admission, source, seat);
	else
		seated = sit_in_reserve(admission, seat, ret_victim);
	if (seated) {
		seat->source = source;
		return true;
	}
	source->clients--;
	drop_source(source);
	return false;
}

struct vbd_seat *vbd_seat_oldest_stranger(struct vbd_admission *admission)
{
	struct vbd_seat *seat = VBD_LIST_FIRST(&admission->strangers, struct vbd_seat, by_age);

	if (!seat)
		seat = VBD_LIST_FIRST(&admission->strangers_in_reserve, struct vbd_seat, by_age);
	return send_away(admission, seat);
}

bool vbd_seat_may_ask(struct vbd_admission *admission, struct vbd_seat *seat)
{
	if (!seat->source || !seat->in_reserve)
		return true;
	if (!has_room(admission, seat->source))
		return false;
	admission->reserve--;
	sit(admission, seat->source, seat);
	return true;
}

/* --- shares ---------------------------------------------------------------------------------- */

unsigned int vbd_share_max(
	const struct vbd_admission *admission, enum vbd_share share, enum vbd_share_refusal refusal)
{
	const unsigned int max =
		share == VBD_SHARE_FEEDS ? admission->limits.feeds : admission->limits.waiting;

	if (refusal == VBD_SHARE_KEPT)
		return max - max / 4;
	return refusal == VBD_SHARE_USED_UP ? max : max - max / 2;
}

enum vbd_share_refusal vbd_share_take(struct vbd_admission *admission, struct vbd_seat *seat,
	enum vbd_share share, bool control, uint32_t *of_caller)
{
	const unsigned int of_source = seat->source ? seat->source->shares[share] : 0;

	if (admission->shares[share] >= vbd_share_max(admission, share, VBD_SHARE_USED_UP))
		return VBD_SHARE_USED_UP;
	if (!control && admission->shares_of_others[share] >=
				vbd_share_max(admission, share, VBD_SHARE_KEPT))
		return VBD_SHARE_KEPT;
	if (!control && of_source >= vbd_share_max(admission, share, VBD_SHARE_OF_SOURCE))
		return VBD_SHARE_OF_SOURCE;
	if (!control && of_caller &&
		*of_caller >= vbd_share_max(admission, share, VBD_SHARE_OF_CALLER))
		return VBD_SHARE_OF_CALLER;
	admission->shares[share]++;
	if (control)
		return VBD_SHARE_GRANTED;
	admission->shares_of_others[share]++;
	if (of_caller)
		(*of_caller)++;
	if (seat->source)
		seat->source->shares[share]++;
	return VBD_SHARE_GRANTED;
}

void vbd_share_give_back(struct vbd_admission *admission, struct vbd_seat *seat,
	enum vbd_share share, bool control, uint32_t *of_caller)
{
	admission->shares[share]--;
	if (control)
		return;
	admission->shares_of_others[share]--;
	if (of_caller)
		(*of_caller)--;
	if (seat->source)
		seat->source->shares[share]--;
}

unsigned int vbd_share_count(const struct vbd_admission *admission, enum vbd_share share)
{
	return admission->shares[share];
}
