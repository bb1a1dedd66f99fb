/* SPDX-License-Identifier: Apache-2.0 */
/* The list of callers, and callers_file. Each error names the line of its value, since the file may
 * have a thousand callers. */
#include "daemon/config/callers.h"

#include "base/text.h"
#include "daemon/config/config_parts.h"

#include <gnutls/crypto.h>

#include <grp.h>
#include <pwd.h>
#include <time.h>

#define FILE_MAX_BYTES ((size_t)1024 * 1024)

void vbd_caller_list_fini(struct vbd_caller_list *list)
{
	free(list->entries);
	free(list->credentials);
	*list = (struct vbd_caller_list){0};
}

struct vbd_caller_entry *vbd_caller_list_add(
	struct vbd_caller_list *list, const char *name, enum vbd_role role)
{
	struct vbd_caller_entry *entries = NULL;
	struct vbd_caller_entry *entry;

	if (list->n_entries < VBD_CALLERS_MAX)
		entries = reallocarray(
			list->entries, list->n_entries + 1, sizeof(struct vbd_caller_entry));
	if (!entries)
		return NULL;
	list->entries = entries;
	entry = &entries[list->n_entries++];
	*entry = (struct vbd_caller_entry){.role = role};
	(void)snprintf(entry->name, sizeof(entry->name), "%s", name);
	return entry;
}

struct vbd_credential *vbd_caller_list_know(
	struct vbd_caller_list *list, enum vbd_credential_kind kind)
{
	struct vbd_credential *credentials = NULL;
	struct vbd_credential *credential;

	if (list->n_credentials < VBD_CREDENTIALS_MAX)
		credentials = reallocarray(
			list->credentials, list->n_credentials + 1, sizeof(struct vbd_credential));
	if (!credentials)
		return NULL;
	list->credentials = credentials;
	credential = &credentials[list->n_credentials++];
	*credential = (struct vbd_credential){.kind = kind, .caller = list->n_entries - 1};
	return credential;
}

bool vbd_token_hash(const char *token, uint8_t ret_sha256[VBD_SHA256_BYTES])
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, token, strlen(token), ret_sha256) == 0;
}

enum vbd_status vbd_callers_find_group(
	const char *key, const char *name, uint32_t *ret_gid, struct vbd_error *err)
{
	struct group group, *found = NULL;
	char room[16384];

	/* A group whose members do not fit into `room` is found too: only its id is needed. */
	if (getgrnam_r(name, &group, room, sizeof(room), &found) == 0 && found) {
		*ret_gid = found->gr_gid;
		return VBD_OK;
	}
	return vbd_error_input(
		err, VBD_E_BAD_VALUE, key, "%s: there is no group '%.40s'", key, name);
}

/* --- values of the file ---------------------------------------------------------------------- */

struct reader;

/* A member of a caller: @set gets its text, or each text of its list. */
struct member {
	const char *name;
	enum vbd_status (*set)(struct reader *reader, const yaml_node_t *value, const char *text);
	bool is_list;
};

struct reader {
	struct vbd_yaml yaml;
	struct vbd_caller_list *list;
	const struct member *member; /* the member that is being read */
	uint64_t expires_wall_s;     /* of the tokens of the caller that is being read; 0: never */
};

#define BAD_VALUE(reader, value, ...) \
	vbd_yaml_refuse(&(reader)->yaml, value, VBD_E_BAD_VALUE, NULL, __VA_ARGS__)

static struct vbd_caller_entry *newest_entry(const struct reader *reader)
{
	return &reader->list->entries[reader->list->n_entries - 1];
}

static bool name_valid(const char *name)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-";
	size_t len = strspn(name, letters);

	return len > 0 && len < VBD_CALLER_NAME_BYTES && name[len] == '\0';
}

static enum vbd_status set_name(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_caller_list *list = reader->list;

	if (!name_valid(text))
		return BAD_VALUE(
			reader, value, "a name has 1 to 63 characters of A-Z a-z 0-9 . _ @ -");
	if (strncmp(text, VBD_CALLER_UID_PREFIX, strlen(VBD_CALLER_UID_PREFIX)) == 0)
		return BAD_VALUE(reader, value,
			"names that begin with " VBD_CALLER_UID_PREFIX
			" are for the members of operate_group");
	for (size_t i = 0; i + 1 < list->n_entries; i++) {
		if (strcmp(list->entries[i].name, text) == 0)
			return BAD_VALUE(reader, value, "there is a caller '%s' already", text);
	}
	(void)snprintf(newest_entry(reader)->name, VBD_CALLER_NAME_BYTES, "%s", text);
	return VBD_OK;
}

static enum vbd_status set_role(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_caller_entry *entry = newest_entry(reader);

	if (!vbd_role_parse(text, &entry->role) || entry->role == VBD_ROLE_NONE)
		return BAD_VALUE(
			reader, value, "the role '%.20s' is not read, operate or control", text);
	return VBD_OK;
}

static bool same_credential(const struct vbd_credential *a, const struct vbd_credential *b)
{
	return a->kind == b->kind && a->id == b->id && strcmp(a->cert_name, b->cert_name) == 0 &&
	       memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0;
}

/* A credential must not belong to two callers, nor twice to one. */
static enum vbd_status add_credential(
	struct reader *reader, const yaml_node_t *value, struct vbd_credential wanted)
{
	struct vbd_caller_list *list = reader->list;
	struct vbd_credential *credential;

	for (size_t i = 0; i < list->n_credentials; i++) {
		const struct vbd_credential *other = &list->credentials[i];

		if (same_credential(other, &wanted))
			return BAD_VALUE(reader, value, "the caller '%s' has the same already",
				list->entries[other->caller].name);
	}
	credential = vbd_caller_list_know(list, wanted.kind);
	if (!credential)
		return vbd_yaml_refuse(&reader->yaml, value, VBD_E_TOO_LONG, NULL,
			"there are more than %d tokens, certificates, users and groups",
			VBD_CREDENTIALS_MAX);
	wanted.caller = credential->caller;
	*credential = wanted;
	return VBD_OK;
}

static enum vbd_status add_token(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_credential wanted = {.kind = VBD_CREDENTIAL_TOKEN};

	if (strlen(text) != 2 * VBD_SHA256_BYTES ||
		strspn(text, "0123456789abcdef") != 2 * VBD_SHA256_BYTES)
		return BAD_VALUE(reader, value,
			"token_sha256 has 64 characters of 0-9 a-f, as of verbsd --make-token");
	for (size_t i = 0; i < VBD_SHA256_BYTES; i++)
		(void)sscanf(text + 2 * i, "%2" SCNx8, &wanted.sha256[i]);
	return add_credential(reader, value, wanted);
}

static bool cert_name_has_kind(const char *cert_name)
{
	static const char *const kinds[] = {"CN:", "DNS:", "email:", "URI:"};

	for (size_t i = 0; i < VBD_ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i]);

		if (strncmp(cert_name, kinds[i], len) == 0 && cert_name[len])
			return true;
	}
	return false;
}

static enum vbd_status add_cert(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_credential wanted = {.kind = VBD_CREDENTIAL_CERT};

	if (!cert_name_has_kind(text) || strlen(text) >= sizeof(wanted.cert_name))
		return BAD_VALUE(reader, value,
			"a name in a certificate is CN:NAME, DNS:NAME, email:ADDRESS or URI:URI, "
			"with %zu characters at most",
			sizeof(wanted.cert_name) - 1);
	(void)snprintf(wanted.cert_name, sizeof(wanted.cert_name), "%s", text);
	return add_credential(reader, value, wanted);
}

static enum vbd_status add_uid(struct reader *reader, const yaml_node_t *value, const char *text)
{
	uint64_t uid = UINT64_MAX;

	/* UINT32_MAX is the kernel's uid for an unknown user. */
	if (!vbd_parse_uint(text, &uid) || uid >= UINT32_MAX)
		return BAD_VALUE(reader, value, "'%.20s' is not the number of a user", text);
	return add_credential(reader, value,
		(struct vbd_credential){.kind = VBD_CREDENTIAL_UID, .id = (uint32_t)uid});
}

static enum vbd_status add_user(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct passwd user, *found = NULL;
	char room[16384];

	if (getpwnam_r(text, &user, room, sizeof(room), &found) != 0 || !found)
		return BAD_VALUE(reader, value, "there is no user '%.40s'", text);
	return add_credential(reader, value,
		(struct vbd_credential){.kind = VBD_CREDENTIAL_UID, .id = found->pw_uid});
}

static enum vbd_status add_group(struct reader *reader, const yaml_node_t *value, const char *text)
{
	struct vbd_credential wanted = {.kind = VBD_CREDENTIAL_GID};
	struct vbd_error cause = {0};

	if (vbd_callers_find_group("groups", text, &wanted.id, &cause) != VBD_OK)
		return BAD_VALUE(reader, value, "%s", cause.text);
	return add_credential(reader, value, wanted);
}

/* Parse "+01:00" or "Z" into the seconds that this zone is ahead of UTC. */
static bool parse_zone(const char *zone, long *ret_ahead_s)
{
	int hours = 0, minutes = 0, end = 0;

	*ret_ahead_s = 0;
	if (strcmp(zone, "Z") == 0)
		return true;
	if ((zone[0] != '+' && zone[0] != '-') ||
		sscanf(zone + 1, "%2d:%2d%n", &hours, &minutes, &end) != 2 || end != 5 ||
		zone[6] != '\0' || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
		return false;
	*ret_ahead_s = (zone[0] == '-' ? -1L : 1L) * (hours * 3600L + minutes * 60L);
	return true;
}

/* RFC 3339, without fractions of seconds. */
static bool parse_time(const char *text, uint64_t *ret_wall_s)
{
	struct tm tm = {0}, known;
	const char *zone = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	long ahead_s;
	time_t wall_s;

	if (!zone || zone - text != 19 || strspn(text, "0123456789-T:Z+") != strlen(text) ||
		!parse_zone(zone, &ahead_s) || tm.tm_year < 70 || tm.tm_sec > 60)
		return false;
	known = tm;
	known.tm_sec = 0;
	wall_s = timegm(&known) + tm.tm_sec - ahead_s;
	*ret_wall_s = wall_s > 0 ? (uint64_t)wall_s : 1; /* 0 is for never */
	/* timegm(3) moves a day that the month does not have into the next month. */
	return known.tm_mday == tm.tm_mday;
}

static enum vbd_status set_expires(
	struct reader *reader, const yaml_node_t *value, const char *text)
{
	return parse_time(text, &reader->expires_wall_s)
		       ? VBD_OK
		       : BAD_VALUE(reader, value, "expires is a time as in 2027-01-31T12:00:00Z");
}

/* --- callers of the file --------------------------------------------------------------------- */

static enum vbd_status set_member_text(struct vbd_yaml *yaml, const yaml_node_t *value, void *arg)
{
	struct reader *reader = arg;
	const char *text = vbd_yaml_text(value);

	if (!text)
		return vbd_yaml_refuse_shape(yaml, value, reader->member->name, "a text");
	return reader->member->set(reader, value, text);
}

static enum vbd_status set_quota(
	struct vbd_yaml *yaml, const struct vbd_yaml_pair *pair, void *quotas)
{
	static const struct {
		const char *name;
		size_t offset;
		uint64_t max;
	} rows[] = {
#define QUOTA_ROW(name, max) {#name, offsetof(struct vbd_quotas, name), max},
		VBD_QUOTA_MAP(QUOTA_ROW)
#undef QUOTA_ROW
	};
	const char *text = vbd_yaml_text(pair->value);

	for (size_t i = 0; i < VBD_ARRAY_LEN(rows); i++) {
		uint64_t number = 0;

		if (strcmp(rows[i].name, pair->name) != 0)
			continue;
		if (!text || !vbd_parse_size(text, &number) || number < 1 || number > rows[i].max)
			return vbd_yaml_refuse(yaml, pair->value, VBD_E_OUT_OF_RANGE, NULL,
				"%s is a number from 1 to %" PRIu64, pair->name, rows[i].max);
		*(uint64_t *)(void *)((char *)quotas + rows[i].offset) = number;
		return VBD_OK;
	}
	return vbd_yaml_refuse(yaml, pair->key, VBD_E_UNKNOWN_FIELD, NULL,
		"there is no quota '%.40s'", pair->name);
}

static enum vbd_status set_member(
	struct vbd_yaml *yaml, const struct vbd_yaml_pair *pair, void *arg)
{
	static const struct member members[] = {
		{"name", set_name, false},
		{"role", set_role, false},
		{"token_sha256", add_token, false},
		{"expires", set_expires, false},
		{"certificates", add_cert, true},
		{"uids", add_uid, true},
		{"users", add_user, true},
		{"groups", add_group, true},
	};
	struct reader *reader = arg;

	if (strcmp(pair->name, "quotas") == 0)
		return vbd_yaml_each_pair(
			yaml, pair->value, pair->name, set_quota, &newest_entry(reader)->quotas);
	for (size_t i = 0; i < VBD_ARRAY_LEN(members); i++) {
		if (strcmp(members[i].name, pair->name) != 0)
			continue;
		reader->member = &members[i];
		return members[i].is_list ? vbd_yaml_each_item(yaml, pair->value, pair->name,
						    set_member_text, reader)
					  : set_member_text(yaml, pair->value, reader);
	}
	return vbd_yaml_refuse(
		yaml, pair->key, VBD_E_UNKNOWN_FIELD, NULL, "a caller has no '%.40s'", pair->name);
}

static enum vbd_status read_caller(struct vbd_yaml *yaml, const yaml_node_t *node, void *arg)
{
	struct reader *reader = arg;
	struct vbd_caller_list *list = reader->list;
	size_t first = list->n_credentials;
	enum vbd_status status;

	reader->expires_wall_s = 0;
	if (!vbd_caller_list_add(list, "", VBD_ROLE_NONE))
		return vbd_yaml_refuse(&reader->yaml, node, VBD_E_TOO_LONG, NULL,
			"there are more than %d callers", VBD_CALLERS_MAX - 2);
	status = vbd_yaml_each_pair(yaml, node, "a caller", set_member, reader);
	if (status == VBD_OK &&
		(!newest_entry(reader)->name[0] || newest_entry(reader)->role == VBD_ROLE_NONE))
		return vbd_yaml_refuse(&reader->yaml, node, VBD_E_MISSING_FIELD, NULL,
			"a caller has a name and a role");
	for (size_t i = first; i < list->n_credentials; i++) {
		if (list->credentials[i].kind == VBD_CREDENTIAL_TOKEN)
			list->credentials[i].expires_wall_s = reader->expires_wall_s;
	}
	return status;
}

static enum vbd_status parse_callers(struct reader *reader, const char *text, size_t len_bytes)
{
	enum vbd_status status = vbd_yaml_parse(&reader->yaml, text, len_bytes);
	const yaml_node_t *root;

	if (status != VBD_OK)
		return status;
	root = yaml_document_get_root_node(&reader->yaml.document);
	if (root) /* an empty file has no callers */
		status = vbd_yaml_each_item(&reader->yaml, root, "", read_caller, reader);
	yaml_document_delete(&reader->yaml.document);
	return status;
}

static enum vbd_status read_callers_file(
	const char *path, struct vbd_caller_list *list, struct vbd_error *err)
{
	struct reader reader = {
		.yaml = {.path = path, .key = "callers_file", .err = err}, .list = list};
	struct vbd_error cause = {0};
	char *text = malloc(FILE_MAX_BYTES);
	enum vbd_status status;
	size_t len = 0;

	if (!text)
		return vbd_error_set(
			err, VBD_E_NO_MEMORY, "no memory to read %s", vbd_text_path(path).text);
	status = vbd_secret_file_read(path, text, FILE_MAX_BYTES, &len, &cause);
	if (status == VBD_OK)
		status = parse_callers(&reader, text, len);
	else
		status = vbd_error_input(
			err, status, "callers_file", "callers_file: %s", cause.text);
	free(text);
	return status;
}

/* --- all callers ----------------------------------------------------------------------------- */

/* The token of a file of its own: a caller that has the name of its role. */
static enum vbd_status add_token_file(
	struct vbd_caller_list *list, enum vbd_role role, const char *token, struct vbd_error *err)
{
	struct vbd_credential *credential;

	if (!vbd_caller_list_add(list, vbd_role_name(role), role))
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the callers");
	if (!token[0])
		return VBD_OK;
	credential = vbd_caller_list_know(list, VBD_CREDENTIAL_TOKEN);
	if (!credential)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for the callers");
	if (!vbd_token_hash(token, credential->sha256))
		return vbd_error_set(err, VBD_E_INTERNAL, "there is no SHA-256");
	return VBD_OK;
}

static enum vbd_status load_callers(
	const struct vbd_config *config, struct vbd_caller_list *list, struct vbd_error *err)
{
	const struct {
		const char *key, *name;
		struct vbd_caller_group *group;
	} groups[] = {
		{"control_group", config->control_group, &list->control_group},
		{"operate_group", config->operate_group, &list->operate_group},
		{"read_group", config->read_group, &list->read_group},
	};
	enum vbd_status status = add_token_file(list, VBD_ROLE_CONTROL, config->control_token, err);

	if (status == VBD_OK)
		status = add_token_file(list, VBD_ROLE_READ, config->read_token, err);
	for (size_t i = 0; i < VBD_ARRAY_LEN(groups) && status == VBD_OK; i++) {
		groups[i].group->is_set = groups[i].name[0] != '\0';
		if (groups[i].group->is_set)
			status = vbd_callers_find_group(
				groups[i].key, groups[i].name, &groups[i].group->gid, err);
	}
	if (status == VBD_OK && config->callers_file[0])
		status = read_callers_file(config->callers_file, list, err);
	return status;
}

/* FNV-1a */
static void add_to_sum(uint64_t *sum, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*sum = (*sum ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void set_entry_sums(struct vbd_caller_list *list)
{
	for (size_t i = 0; i < list->n_entries; i++) {
		struct vbd_caller_entry *entry = &list->entries[i];

		entry->sum = UINT64_C(0xcbf29ce484222325);
		add_to_sum(&entry->sum, &entry->role, sizeof(entry->role));
		add_to_sum(&entry->sum, &entry->quotas, sizeof(entry->quotas));
	}
	for (size_t i = 0; i < list->n_credentials; i++) {
		const struct vbd_credential *from = &list->credentials[i];
		uint64_t *sum = &list->entries[from->caller].sum;

		add_to_sum(sum, &from->kind, sizeof(from->kind));
		add_to_sum(sum, &from->expires_wall_s, sizeof(from->expires_wall_s));
		add_to_sum(sum, &from->id, sizeof(from->id));
		add_to_sum(sum, from->sha256, sizeof(from->sha256));
		add_to_sum(sum, from->cert_name, sizeof(from->cert_name));
	}
	for (size_t i = 0; i < list->n_entries; i++)
		list->entries[i].sum |= 1;
}

enum vbd_status vbd_caller_list_load(
	const struct vbd_config *config, struct vbd_caller_list *ret, struct vbd_error *err)
{
	struct vbd_caller_list list = {0};
	enum vbd_status status = load_callers(config, &list, err);

	if (status != VBD_OK) {
		vbd_caller_list_fini(&list);
		return status;
	}
	set_entry_sums(&list);
	*ret = list;
	return VBD_OK;
}

VBD_ENUM_NAMES(vbd_role_name, enum vbd_role, VBD_ROLE_MAP)
VBD_ENUM_PARSE(vbd_role_parse, enum vbd_role, 0, VBD_ROLE_COUNT, vbd_role_name)
