/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes as the file of callers. */
#include "daemon/config/callers.h"
#include "daemon/config/config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* 1 January 10001: beyond any time of four digits for the year. */
#define TOO_LATE_S UINT64_C(253433923200)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static bool ends(const char *text, size_t room_bytes)
{
	return memchr(text, '\0', room_bytes) != NULL;
}

static void check_entry(const struct vbd_caller_list *list, size_t index)
{
	const struct vbd_caller_entry *entry = &list->entries[index];

	must(entry->name[0] && ends(entry->name, sizeof(entry->name)));
	must(entry->role != VBD_ROLE_NONE);
	for (size_t i = 0; i < index; i++)
		must(strcmp(list->entries[i].name, entry->name) != 0);
}

static void check_credential(
	const struct vbd_caller_list *list, const struct vbd_credential *credential)
{
	must(credential->caller < list->n_entries);
	must(credential->expires_wall_s < TOO_LATE_S);
	must(ends(credential->cert_name, sizeof(credential->cert_name)));
	must((credential->kind == VBD_CREDENTIAL_CERT) == (credential->cert_name[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct vbd_config config;
	static const struct vbd_caller_list nobody;
	struct vbd_caller_list list = {0};
	struct vbd_error err = {0};
	int fd = memfd_create("callers", MFD_CLOEXEC);

	must(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t)size);
	vbd_config_init(&config);
	(void)snprintf(config.callers_file, sizeof(config.callers_file), "/proc/self/fd/%d", fd);
	if (vbd_caller_list_load(&config, &list, &err) == VBD_OK) {
		for (size_t i = 0; i < list.n_entries; i++)
			check_entry(&list, i);
		for (size_t i = 0; i < list.n_credentials; i++)
			check_credential(&list, &list.credentials[i]);
	} else {
		must(*err.text && memcmp(&list, &nobody, sizeof(list)) == 0);
	}
	vbd_caller_list_fini(&list);
	(void)close(fd);
	return 0;
}
