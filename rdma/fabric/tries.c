/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/fabric/tries.h"

#include "base/clock.h"
#include "rdma/provider/provider.h"

#include <netdb.h>

void vbd_tries_init(struct vbd_tries *tries, uint64_t began_ns, uint64_t timeout_ms)
{
	*tries = (struct vbd_tries){.began_ns = began_ns, .timeout_ms = timeout_ms, .furthest = -1};
}

void vbd_tries_set(
	struct vbd_tries *tries, const struct sockaddr_storage *addrs, size_t count, bool named)
{
	memcpy(tries->addrs, addrs, count * sizeof(addrs[0]));
	tries->addr_count = count;
	tries->at = 0;
	tries->named = named;
}

const struct sockaddr_storage *vbd_tries_addr(const struct vbd_tries *tries)
{
	return tries->at < tries->addr_count ? &tries->addrs[tries->at] : NULL;
}

uint64_t vbd_tries_left_ms(const struct vbd_tries *tries)
{
	uint64_t passed_ms = (vbd_clock_mono_ns() - tries->began_ns) / VBD_NS_PER_MS;

	return passed_ms < tries->timeout_ms ? tries->timeout_ms - passed_ms : 0;
}

/* Each address of the round has its part of the time that is left, the last one all of it. */
uint64_t vbd_tries_begin(struct vbd_tries *tries)
{
	uint64_t left_ms = vbd_tries_left_ms(tries), addrs_left = tries->addr_count - tries->at;

	tries->count++;
	tries->slice_ms = addrs_left > 1 ? left_ms / addrs_left + 1 : 0;
	if (tries->slice_ms)
		return tries->slice_ms;
	return left_ms ? left_ms : 1;
}

/* Nobody has answered, so the host may answer later. */
static bool may_answer(const struct vbd_error *error)
{
	if (error->source == VBD_SOURCE_GAI)
		return error->raw == EAI_AGAIN;
	if (error->status == VBD_E_ADDR_ERROR || error->status == VBD_E_ROUTE_ERROR)
		return error->source == VBD_SOURCE_CM_EVENT && error->raw == -ETIMEDOUT;
	return error->status == VBD_E_UNREACHABLE;
}

/* This host has no route to the address. If an earlier try got no answer, there was a route: then
 * an interface of this host may be down for a moment only. */
static bool has_no_route(const struct vbd_error *error)
{
	int64_t raw = error->raw < 0 ? -error->raw : error->raw;

	return (error->source == VBD_SOURCE_ERRNO || error->source == VBD_SOURCE_CM_EVENT) &&
	       error->status != VBD_E_REJECTED &&
	       (raw == ENETUNREACH || raw == EHOSTUNREACH || raw == EADDRNOTAVAIL || raw == ENODEV);
}

static bool has_more_addrs(const struct vbd_tries *tries)
{
	return tries->at + 1 < tries->addr_count;
}

bool vbd_tries_is_given_up(const struct vbd_error *why)
{
	return why && why->source == VBD_SOURCE_CM_EVENT &&
	       (why->kind == RDMA_CM_EVENT_ADDR_ERROR || why->kind == RDMA_CM_EVENT_ROUTE_ERROR ||
		       why->kind == RDMA_CM_EVENT_CONNECT_ERROR ||
		       why->kind == RDMA_CM_EVENT_UNREACHABLE ||
		       why->kind == RDMA_CM_EVENT_REJECTED);
}

bool vbd_tries_go_on(struct vbd_tries *tries, bool late, const struct vbd_error *error)
{
	if (late && !tries->slice_ms)
		return false;
	tries->ever_away = tries->ever_away || late || (error && may_answer(error));
	tries->away = tries->away || late ||
		      (error && (may_answer(error) || (tries->ever_away && has_no_route(error))));
	return (has_more_addrs(tries) || tries->away) && vbd_tries_left_ms(tries) > 0;
}

bool vbd_tries_keep(struct vbd_tries *tries, int far, bool late, const struct vbd_error *error)
{
	const struct sockaddr_storage *addr = vbd_tries_addr(tries);

	if (tries->furthest > far)
		return false;
	tries->furthest = far;
	tries->late = late;
	tries->error = *error;
	tries->error_addr = addr ? *addr : (struct sockaddr_storage){0};
	return true;
}

/* Does the kept error say more than that of the last try? A timeout says less than any other
 * error. */
static bool kept_error_stands(const struct vbd_tries *tries, int far, bool late)
{
	return tries->furthest > far || (tries->furthest == far && late && !tries->late);
}

uint64_t vbd_tries_rest_ms(const struct vbd_tries *tries)
{
	return has_more_addrs(tries) ? 0 : VBD_TRIES_REST_MS;
}

bool vbd_tries_next(struct vbd_tries *tries, bool look_up)
{
	tries->resting = false;
	if (has_more_addrs(tries)) {
		tries->at++;
		return true;
	}
	tries->away = false;
	tries->at = 0;
	if (!tries->named || !look_up)
		return true;
	/* Another host may have the name by now. */
	tries->addr_count = 0;
	tries->slice_ms = 0;
	return false;
}

/* Add the address, for a host name, and the number of tries. */
static void complete_error_text(struct vbd_tries *tries)
{
	char why[sizeof(tries->error.text)], of[VBD_ADDR_TEXT_BYTES] = "", tried[64] = "";

	memcpy(why, tries->error.text, sizeof(why));
	if (tries->named)
		(void)vbd_addr_format(&tries->error_addr, of);
	if (tries->count > 1)
		(void)snprintf(tried, sizeof(tried), "; %u tries in %llu ms", tries->count,
			(unsigned long long)(tries->timeout_ms - vbd_tries_left_ms(tries)));
	(void)snprintf(tries->error.text, sizeof(tries->error.text), "%s%s%.*s%s", of,
		*of ? ": " : "", (int)(sizeof(why) - sizeof(of) - sizeof(tried) - 2), why, tried);
}

bool vbd_tries_end(
	struct vbd_tries *tries, int far, bool late, bool over, const struct vbd_error **why)
{
	bool kept = over || kept_error_stands(tries, far, late);

	if ((tries->count < 2 && !tries->named && !over) || (!kept && !*why))
		return false;
	if (!kept)
		(void)vbd_tries_keep(tries, far, late, *why);
	complete_error_text(tries);
	*why = &tries->error;
	return kept;
}
