/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/admission.h"

#include "base/addr.h"
#include "daemon/core/registry.h"

#include <netinet/in.h>

struct vbd_source {
	UT_hash_handle hh;
	struct vbd_source_key key;
	unsigned int clients;		      /* with a seat, those in the reserve included */
	unsigned int seats;		      /* without the reserve */
	struct vbd_link strangers;	      /* with a seat outside the reserve; by age */
	unsigned int shares[VBD_SHARE_COUNT]; /* not of the role "control" */
};

/* The seats, or those of the reserve; indexed by `in_reserve`. */
struct part {
	unsigned int taken;
	struct vbd_link strangers; /* by age */
};

struct vbd_admission {
	struct vbd_admission_limits limits;
	struct part parts[2];
	unsigned int shares[VBD_SHARE_COUNT];
	unsigned int shares_of_others[VBD_SHARE_COUNT]; /* not of the role "control" */
	struct vbd_source *sources;			/* that have clients */
};

/* --- sources --------------------------------------------------------------------------------- */

enum { KEY_LOOPBACK = 1, KEY_V4, KEY_V6, KEY_UID };

/* Any of the 16 million addresses of 127/8 is there for every local user. */
struct vbd_source_key vbd_source_of_address(const struct sockaddr_storage *addr)
{
	struct vbd_source_key key = {{KEY_LOOPBACK}};

	if (vbd_sockaddr_is_loopback((const struct sockaddr *)addr))
		return key;
	key.bytes[0] = addr->ss_family == AF_INET6 ? KEY_V6 : KEY_V4;
	if (addr->ss_family == AF_INET6)
		memcpy(key.bytes + 1, &((const struct sockaddr_in6 *)addr)->sin6_addr, 8);
	else
		memcpy(key.bytes + 1, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	return key;
}

struct vbd_source_key vbd_source_of_uid(uid_t uid)
{
	struct vbd_source_key key = {{KEY_UID}};

	memcpy(key.bytes + 1, &uid, sizeof(uid));
	return key;
}

/* NOLINTBEGIN(readability-function-size): the length comes from uthash's macros */
static struct vbd_source *find_or_make_source(
	struct vbd_admission *admission, const struct vbd_source_key *key)
{
	struct vbd_source *source;

	HASH_FIND(hh, admission->sources, key, sizeof(*key), source);
	if (source)
		return source;
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->key = *key;
	vbd_list_init(&source->strangers);
	HASH_ADD(hh, admission->sources, key, sizeof(*key), source);
	if (source->hh.tbl)
		return source;
	free(source);
	return NULL;
}
/* NOLINTEND(readability-function-size) */

static void uncount_client(struct vbd_admission *admission, struct vbd_source *source)
{
	if (--source->clients)
		return;
	HASH_DEL(admission->sources, source);
	free(source);
}

/* --- seats ----------------------------------------------------------------------------------- */

struct vbd_admission *vbd_admission_create(const struct vbd_admission_limits *limits)
{
	struct vbd_admission *admission = calloc(1, sizeof(*admission));

	if (!admission)
		return NULL;
	admission->limits = *limits;
	vbd_list_init(&admission->parts[false].strangers);
	vbd_list_init(&admission->parts[true].strangers);
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
	vbd_list_prepend(&admission->parts[seat->in_reserve].strangers, &seat->by_age);
	if (seat->in_reserve)
		return;
	vbd_list_remove(&seat->by_age_in_source);
	vbd_list_prepend(&seat->source->strangers, &seat->by_age_in_source);
}

static void uncount_seat(struct vbd_admission *admission, struct vbd_seat *seat)
{
	admission->parts[seat->in_reserve].taken--;
	seat->source->seats -= !seat->in_reserve;
	vbd_list_remove(&seat->by_age);
	vbd_list_remove(&seat->by_age_in_source);
}

static void count_seat(struct vbd_admission *admission, struct vbd_seat *seat, bool in_reserve)
{
	admission->parts[in_reserve].taken++;
	seat->source->seats += !in_reserve;
	seat->in_reserve = in_reserve;
	if (seat->known)
		return;
	vbd_list_append(&admission->parts[in_reserve].strangers, &seat->by_age);
	if (!in_reserve)
		vbd_list_append(&seat->source->strangers, &seat->by_age_in_source);
}

void vbd_seat_give_up(struct vbd_admission *admission, struct vbd_seat *seat)
{
	if (!seat->source)
		return;
	uncount_seat(admission, seat);
	uncount_client(admission, seat->source);
	seat->source = NULL;
}

static bool has_free_seat(const struct vbd_admission *admission, const struct vbd_source *source)
{
	return admission->parts[false].taken < admission->limits.seats &&
	       source->seats < admission->limits.seats_per_source;
}

static struct vbd_seat *first_stranger(struct vbd_admission *admission, bool in_reserve)
{
	return VBD_LIST_FIRST(&admission->parts[in_reserve].strangers, struct vbd_seat, by_age);
}

/* The stranger who makes room for a client of @source; NULL if there is none. One of the same
 * source goes first, so that a flood from one address does not reach others. */
static struct vbd_seat *find_victim(struct vbd_admission *admission, struct vbd_source *source)
{
	struct vbd_seat *own =
		VBD_LIST_FIRST(&source->strangers, struct vbd_seat, by_age_in_source);

	if (own || source->seats >= admission->limits.seats_per_source)
		return own;
	return first_stranger(admission, false);
}

bool vbd_seat_take(struct vbd_admission *admission, const struct vbd_source_key *key,
	struct vbd_seat *seat, struct vbd_seat **ret_victim)
{
	struct vbd_source *source = find_or_make_source(admission, key);
	bool in_reserve;

	*seat = (struct vbd_seat){.source = source};
	vbd_list_init(&seat->by_age);
	vbd_list_init(&seat->by_age_in_source);
	*ret_victim = NULL;
	if (!source)
		return false;
	source->clients++; /* the source must outlive a victim of its own */
	if (!has_free_seat(admission, source))
		*ret_victim = find_victim(admission, source);
	in_reserve = !*ret_victim && !has_free_seat(admission, source);
	if (in_reserve && admission->parts[true].taken >= admission->limits.reserve) {
		*ret_victim = first_stranger(admission, true);
		if (!*ret_victim) {
			seat->source = NULL;
			uncount_client(admission, source);
			return false;
		}
	}
	if (*ret_victim)
		vbd_seat_give_up(admission, *ret_victim);
	count_seat(admission, seat, in_reserve);
	return true;
}

struct vbd_seat *vbd_seat_oldest_stranger(struct vbd_admission *admission)
{
	struct vbd_seat *seat = first_stranger(admission, false);

	if (!seat)
		seat = first_stranger(admission, true);
	if (seat)
		vbd_seat_give_up(admission, seat);
	return seat;
}

bool vbd_seat_may_ask(struct vbd_admission *admission, struct vbd_seat *seat)
{
	if (!seat->source || !seat->in_reserve)
		return true;
	if (!has_free_seat(admission, seat->source))
		return false;
	uncount_seat(admission, seat);
	count_seat(admission, seat, false);
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
