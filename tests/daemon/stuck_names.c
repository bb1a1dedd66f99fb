/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For LD_PRELOAD: no name but localhost is ever resolved, as with a DNS server that does not
 * answer.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

typedef int (*resolve_fn)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *restrict node, const char *restrict service,
	const struct addrinfo *restrict hints, struct addrinfo **restrict ret_found)
{
	void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
	resolve_fn real;

	while (strcmp(node, "localhost") != 0 && (!hints || !(hints->ai_flags & AI_NUMERICHOST)))
		(void)pause();
	memcpy(&real, &symbol, sizeof(real)); /* ISO C has no cast to a function */
	return real(node, service, hints, ret_found);
}
