/* SPDX-License-Identifier: Apache-2.0 */
#include "api/http/idempotency.h"

#include "api/http/problem.h"
#include "api/http/uri.h"
#include "api/json/writer.h"
#include "base/clock.h"
#include "daemon/core/watch.h"
#include "daemon/store/keeper.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

/* The keys of a caller. A caller with few loses none to one with many. */
struct owner {
	UT_hash_handle hh;
	struct vbd_link answered; /* entries whose request is over, the oldest first */
	size_t count, bytes;	  /* of `answered`, and of their bodies */
	size_t all;		  /* also those whose request runs */
	char name[VBD_NAME_BYTES];
};

struct vbd_idem_entry {
	struct vbd_idem *idem;
	struct owner *owner;
	struct vbd_link link; /* on no list while the request runs */
	UT_hash_handle hh;
	uint64_t begun_ns;
	uint64_t ticket; /* of the newest row */
	bool running;
	uint8_t print[VBD_IDEM_PRINT_BYTES];
	struct vbd_reply reply;
	char key[];
};

struct vbd_idem {
	struct vbd_idem_entry *by_key;
	struct owner *owners; /* that had entries */
	size_t max;
	size_t count;
	size_t bytes;		   /* of all kept bodies */
	const char *server_id;	   /* of this run */
	struct vbd_keeper *keeper; /* NULL: no answer outlives the daemon */
	struct vbd_watch news;	   /* of the keeper */
	struct vbd_words words; /* texts in answers of earlier runs; those of this run are static */
};

static void free_entry(struct vbd_idem_entry *entry)
{
	struct vbd_idem *idem = entry->idem;
	struct owner *owner = entry->owner;

	HASH_DEL(idem->by_key, entry);
	idem->count--;
	owner->all--;
	if (!entry->running) {
		vbd_list_remove(&entry->link);
		owner->count--;
		owner->bytes -= entry->reply.body_bytes;
		idem->bytes -= entry->reply.body_bytes;
	}
	vbd_reply_fini(&entry->reply);
	free(entry);
}

/* Delete the entry and its row in the store. */
static uint64_t delete_entry(struct vbd_idem_entry *entry)
{
	const struct vbd_answer none = {
		.key = entry->key, .code = "", .content_type = "", .headers = ""};
	uint64_t ticket = VBD_TICKET_NONE;

	if (entry->idem->keeper)
		ticket = vbd_keeper_put_answer(entry->idem->keeper, &none);
	free_entry(entry);
	return ticket;
}

void vbd_idem_destroy(struct vbd_idem *idem)
{
	struct vbd_idem_entry *entry, *next;
	struct owner *owner, *next_owner;

	if (!idem)
		return;
	HASH_ITER (hh, idem->by_key, entry, next)
		free_entry(entry);
	HASH_ITER (hh, idem->owners, owner, next_owner) {
		HASH_DEL(idem->owners, owner);
		free(owner);
	}
	vbd_watch_remove(&idem->news);
	vbd_words_free(&idem->words);
	free(idem);
}

static void forget_expired(struct vbd_idem *idem, uint64_t now_ns)
{
	for (struct owner *owner = idem->owners; owner; owner = owner->hh.next) {
		struct vbd_idem_entry *entry;

		while ((entry = VBD_LIST_FIRST(&owner->answered, struct vbd_idem_entry, link)) &&
			now_ns - entry->begun_ns >= VBD_IDEM_AGE_MAX_NS)
			(void)delete_entry(entry);
	}
}

/* Delete the oldest entries of the caller that has most until there is room for one more. Call this
 * only for a new key, else the entry that a repeat looks for may be the one deleted. Returns false
 * if the requests of @owner run and leave no room. */
static bool make_room(struct vbd_idem *idem, const struct owner *owner)
{
	while (idem->count >= idem->max || idem->bytes >= VBD_IDEM_BYTES_MAX) {
		bool by_bytes = idem->count < idem->max;
		struct owner *most = NULL;

		for (struct owner *one = idem->owners; one; one = one->hh.next) {
			if (!most || (by_bytes ? one->bytes > most->bytes : one->all > most->all))
				most = one;
		}
		if (!most || !most->count)
			return most != owner;
		(void)delete_entry(VBD_LIST_FIRST(&most->answered, struct vbd_idem_entry, link));
	}
	return true;
}

static enum vbd_status check_key(const char *key, struct vbd_error *err)
{
	size_t len = strlen(key);

	if (len > VBD_IDEM_KEY_MAX)
		return vbd_error_input(err, VBD_E_TOO_LONG, "Idempotency-Key",
			"the Idempotency-Key has %zu characters; at most %d are allowed", len,
			VBD_IDEM_KEY_MAX);
	if (!len)
		return vbd_error_input(
			err, VBD_E_BAD_VALUE, "Idempotency-Key", "the Idempotency-Key is empty");
	for (size_t i = 0; i < len; i++) {
		if (key[i] < '!' || key[i] > '~')
			return vbd_error_input(err, VBD_E_BAD_VALUE, "Idempotency-Key",
				"the Idempotency-Key has characters other than visible ASCII");
	}
	return VBD_OK;
}

/* Hash each part with its NUL: else parts of different requests could concatenate to one text. How
 * long a request waits does not decide what is done. */
static bool fingerprint(const struct vbd_idem_request *request, uint8_t print[VBD_IDEM_PRINT_BYTES])
{
	const char *parts[3 + 2 * VBD_URI_PARAMS_MAX] = {request->method, request->target};
	size_t count = 2;
	gnutls_hash_hd_t hash;
	int rc = 0;

	for (size_t i = 0; request->uri && i < request->uri->n_params; i++) {
		const struct vbd_uri_param *param = &request->uri->params[i];

		if (strcmp(param->name, "wait_ms") == 0)
			continue;
		parts[count++] = param->name;
		parts[count++] = param->value;
	}
	if (request->if_match)
		parts[count++] = request->if_match;
	if (gnutls_hash_init(&hash, GNUTLS_DIG_SHA256) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		rc |= gnutls_hash(hash, parts[i], strlen(parts[i]) + 1);
	if (request->body_bytes)
		rc |= gnutls_hash(hash, request->body, request->body_bytes);
	gnutls_hash_deinit(hash, print);
	return rc == 0;
}

static bool copy_reply(struct vbd_reply *copy, const struct vbd_reply *reply)
{
	char *body = NULL;

	if (reply->body_bytes) {
		body = malloc(reply->body_bytes);
		if (!body)
			return false;
		memcpy(body, reply->body ? reply->body : reply->static_body, reply->body_bytes);
	}
	*copy = *reply;
	copy->body = body;
	copy->static_body = NULL;
	copy->public_body = NULL;
	return true;
}

/* Keep an answer that needs no memory: without any, a repeat would do everything again. */
static void copy_no_memory(struct vbd_reply *copy, const struct vbd_reply *reply)
{
	*copy = *reply;
	copy->body = NULL;
	copy->public_body = NULL;
	copy->has_secrets = false;
	vbd_reply_no_memory(copy);
}

static enum vbd_status answer_repeat(struct vbd_idem_entry *entry,
	const uint8_t print[VBD_IDEM_PRINT_BYTES], struct vbd_reply *ret_reply,
	struct vbd_error *err)
{
	if (memcmp(entry->print, print, VBD_IDEM_PRINT_BYTES) != 0)
		return vbd_error_set(err, VBD_E_IDEMPOTENCY_MISMATCH,
			"the Idempotency-Key was used for a request with another path or "
			"body");
	if (entry->running)
		return vbd_error_set(err, VBD_E_IDEMPOTENCY_CONFLICT,
			"the first request with this Idempotency-Key has no answer yet");
	if (!copy_reply(ret_reply, &entry->reply))
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the answer");
	return VBD_OK;
}

/* NULL without memory. */
static struct owner *find_or_make_owner(struct vbd_idem *idem, const char *key)
{
	size_t len = strcspn(key, " ");
	struct owner *owner;

	HASH_FIND(hh, idem->owners, key, len, owner);
	if (owner || len >= sizeof(owner->name))
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	memcpy(owner->name, key, len);
	vbd_list_init(&owner->answered);
	HASH_ADD_KEYPTR(hh, idem->owners, owner->name, len, owner);
	if (owner->hh.tbl)
		return owner;
	free(owner);
	return NULL;
}

/* The request of the entry is over. */
static void set_answered(struct vbd_idem_entry *entry)
{
	entry->running = false;
	vbd_list_append(&entry->owner->answered, &entry->link);
	entry->owner->count++;
	entry->owner->bytes += entry->reply.body_bytes;
	entry->idem->bytes += entry->reply.body_bytes;
}

static struct vbd_idem_entry *make_entry(struct vbd_idem *idem, const char *key,
	const uint8_t print[VBD_IDEM_PRINT_BYTES], uint64_t now_ns)
{
	size_t len = strlen(key);
	struct vbd_idem_entry *entry = calloc(1, sizeof(*entry) + len + 1);

	if (!entry)
		return NULL;
	memcpy(entry->key, key, len + 1);
	memcpy(entry->print, print, VBD_IDEM_PRINT_BYTES);
	entry->idem = idem;
	entry->begun_ns = now_ns;
	entry->running = true;
	entry->owner = find_or_make_owner(idem, key);
	if (entry->owner)
		HASH_ADD_KEYPTR(hh, idem->by_key, entry->key, len, entry);
	if (!entry->hh.tbl) { /* HASH_NONFATAL_OOM: no memory */
		free(entry);
		return NULL;
	}
	idem->count++;
	entry->owner->all++;
	return entry;
}

/* --- over a restart -------------------------------------------------------------------------- */

#define HEADERS_BYTES \
	(VBD_REPLY_HEADERS_MAX * (sizeof(((struct vbd_reply_header *)NULL)->value) + 64))

bool vbd_idem_keeps(const struct vbd_idem_entry *entry)
{
	return entry->idem->keeper;
}

static void format_headers(const struct vbd_reply *reply, char text[HEADERS_BYTES])
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < reply->n_headers; i++)
		len += (size_t)snprintf(text + len, HEADERS_BYTES - len, "%.60s: %s\n",
			reply->headers[i].name, reply->headers[i].value);
}

/* @reply: the answer to the first client; the entry has a copy of it for repeats in this run. */
static void store_answer(struct vbd_idem_entry *entry, const struct vbd_reply *reply)
{
	const struct vbd_reply *copy = &entry->reply;
	const char *body = copy->body ? copy->body : copy->static_body;
	char headers[HEADERS_BYTES];
	struct vbd_answer answer = {
		.key = entry->key,
		.begun_wall_ns = vbd_clock_wall_of_ns(entry->begun_ns),
		.status = copy->status,
		.code = copy->code ? copy->code : "",
		.content_type = copy->content_type ? copy->content_type : "",
		.headers = headers,
		.body = copy->has_secrets ? reply->public_body : body,
		.body_bytes = copy->has_secrets ? reply->public_bytes : copy->body_bytes,
	};

	if (copy->has_secrets && !reply->public_body)
		return;
	memcpy(answer.print, entry->print, sizeof(answer.print));
	format_headers(copy, headers);
	entry->ticket = vbd_keeper_put_answer(entry->idem->keeper, &answer);
}

/* The row of a request that runs is the answer for its repeats in the next run, unless this run
 * replaces it: the request may have done anything. False without memory. */
static bool store_claim(struct vbd_idem_entry *entry)
{
	const enum vbd_status status = VBD_E_OUTCOME_UNKNOWN;
	struct vbd_encoder out = vbd_encode_begin();
	struct vbd_reply reply = {.status = vbd_status_http(status),
		.code = vbd_status_code(status),
		.content_type = "application/problem+json"};
	struct vbd_error err = {0};

	(void)vbd_error_set(&err, status,
		"verbsd was killed while the first request with this Idempotency-Key ran");
	vbd_put_problem(&out, &err, NULL);
	reply.body = vbd_encode_end_line(&out, &reply.body_bytes);
	if (!reply.body)
		return false;
	entry->reply = reply;
	store_answer(entry, &reply);
	vbd_reply_fini(&entry->reply);
	return true;
}

/* False without memory. */
static bool restore_headers(struct vbd_reply *reply, struct vbd_words *words, const char *headers)
{
	while (*headers) {
		size_t len = strcspn(headers, "\n");
		size_t name_len = strcspn(headers, ":");
		char name[64], value[sizeof(reply->headers[0].value)];
		const char *kept;

		if (name_len + 2 > len)
			return false;
		(void)snprintf(name, sizeof(name), "%.*s", (int)name_len, headers);
		(void)snprintf(value, sizeof(value), "%.*s", (int)(len - name_len - 2),
			headers + name_len + 2);
		kept = vbd_words_get(words, name);
		if (!kept)
			return false;
		vbd_reply_add_header(reply, kept, value);
		headers += len + (headers[len] == '\n');
	}
	return true;
}

static bool restore_reply(
	struct vbd_reply *reply, struct vbd_words *words, const struct vbd_answer *answer)
{
	reply->status = answer->status;
	reply->code = answer->code[0] ? vbd_words_get(words, answer->code) : NULL;
	reply->content_type =
		answer->content_type[0] ? vbd_words_get(words, answer->content_type) : NULL;
	if (answer->body_bytes) {
		reply->body = malloc(answer->body_bytes);
		if (!reply->body)
			return false;
		memcpy(reply->body, answer->body, answer->body_bytes);
	}
	reply->body_bytes = answer->body_bytes;
	return (!answer->body_bytes || reply->content_type) &&
	       restore_headers(reply, words, answer->headers);
}

/* Leave out an answer without memory for it, or whose key this run has used. An answer of a later
 * date, since the clock was set back, counts as begun now. */
static void restore_entry(const struct vbd_answer *answer, void *arg)
{
	uint64_t begun_ns = vbd_clock_mono_of_wall_ns(answer->begun_wall_ns);
	uint64_t now_ns = vbd_clock_mono_ns();
	struct vbd_idem *idem = arg;
	struct vbd_reply reply = {0};
	struct vbd_idem_entry *entry = NULL;

	HASH_FIND_STR(idem->by_key, answer->key, entry);
	if (entry || !restore_reply(&reply, &idem->words, answer)) {
		vbd_reply_fini(&reply);
		return;
	}
	(void)make_room(idem, NULL);
	entry = make_entry(idem, answer->key, answer->print,
		(int64_t)(now_ns - begun_ns) < 0 ? now_ns : begun_ns);
	if (!entry) {
		vbd_reply_fini(&reply);
		return;
	}
	entry->reply = reply;
	entry->ticket = VBD_TICKET_KNOWN;
	set_answered(entry);
}

/* If the daemon started without the database, read the stored answers when the database opens. */
static void on_keeper_news(struct vbd_watch *watch, bool gone)
{
	struct vbd_idem *idem = VBD_CONTAINER_OF(watch, struct vbd_idem, news);

	if (!gone)
		vbd_keeper_take_answers(idem->keeper, restore_entry, idem);
}

struct vbd_idem *vbd_idem_create(size_t max, const char *server_id, struct vbd_keeper *keeper)
{
	struct vbd_idem *idem = calloc(1, sizeof(*idem));

	if (!idem)
		return NULL;
	idem->max = max;
	idem->server_id = server_id;
	idem->keeper = keeper;
	idem->news.cb = on_keeper_news;
	vbd_list_init(&idem->news.link);
	if (keeper) {
		vbd_keeper_take_answers(keeper, restore_entry, idem);
		vbd_watch_add(vbd_keeper_watches(keeper), &idem->news);
	}
	return idem;
}

enum vbd_status vbd_idem_begin(struct vbd_idem *idem, const struct vbd_idem_request *request,
	uint64_t now_ns, struct vbd_idem_entry **ret_entry, struct vbd_reply *ret_reply,
	uint64_t *ret_ticket, struct vbd_error *err)
{
	uint8_t print[VBD_IDEM_PRINT_BYTES];
	char key[VBD_NAME_BYTES + VBD_IDEM_KEY_MAX + 2];
	struct vbd_idem_entry *entry;
	enum vbd_status status = check_key(request->key, err);

	if (status != VBD_OK)
		return status;
	if (!fingerprint(request, print))
		return vbd_error_set(err, VBD_E_INTERNAL, "SHA-256 is not available");
	forget_expired(idem, now_ns);
	/* A caller must neither get the answer of another one, nor find its keys in use. */
	(void)snprintf(key, sizeof(key), "%s %s", request->caller, request->key);
	HASH_FIND_STR(idem->by_key, key, entry);
	if (entry) {
		status = answer_repeat(entry, print, ret_reply, err);
		if (status == VBD_OK) {
			*ret_entry = NULL;
			*ret_ticket = entry->ticket;
		}
		return status;
	}
	if (!make_room(idem, find_or_make_owner(idem, key)))
		return vbd_error_set(err, VBD_E_TOO_MANY_REQUESTS,
			"%zu requests with an Idempotency-Key are still running", idem->max);
	entry = make_entry(idem, key, print, now_ns);
	if (entry && idem->keeper && !store_claim(entry)) {
		free_entry(entry);
		entry = NULL;
	}
	if (!entry)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for an Idempotency-Key");
	*ret_entry = entry;
	*ret_ticket = entry->ticket;
	return VBD_OK;
}

uint64_t vbd_idem_store(struct vbd_idem_entry *entry, const struct vbd_reply *reply)
{
	if (!copy_reply(&entry->reply, reply))
		copy_no_memory(&entry->reply, reply);
	vbd_reply_add_header(&entry->reply, "Idempotency-Replayed", "true");
	vbd_reply_add_header(&entry->reply, "Idempotency-Server", entry->idem->server_id);
	set_answered(entry);
	if (entry->idem->keeper)
		store_answer(entry, reply);
	return entry->ticket;
}

uint64_t vbd_idem_delete(struct vbd_idem_entry *entry)
{
	return entry ? delete_entry(entry) : VBD_TICKET_NONE;
}

size_t vbd_idem_count(const struct vbd_idem *idem)
{
	return idem->count;
}
