/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpus.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read a number; returns what follows, NULL if there is none. */
static const char *parse_cpu_number(const char *at, unsigned long *ret_number)
{
	char *end;

	if (!isdigit((unsigned char)*at))
		return NULL;
	*ret_number = strtoul(at, &end, 10);
	return *ret_number < VBD_CPU_NUMBERS ? end : NULL;
}

/* Read "3" or "2-5"; returns what follows, NULL if it is neither. */
static const char *parse_cpu_range(const char *at, struct vbd_cpus *cpus)
{
	unsigned long first, last;

	at = parse_cpu_number(at, &first);
	last = first;
	if (at && *at == '-')
		at = parse_cpu_number(at + 1, &last);
	if (!at || last < first || last - first >= VBD_CPUS_MAX - cpus->count)
		return NULL;
	for (unsigned long number = first; number <= last; number++)
		cpus->numbers[cpus->count++] = (unsigned int)number;
	return at;
}

bool vbd_cpus_parse(const char *text, struct vbd_cpus *ret_cpus)
{
	struct vbd_cpus cpus = {0};
	const char *at = text;

	if (strlen(text) >= sizeof(cpus.text))
		return false;
	while (at && *at) {
		at = parse_cpu_range(at, &cpus);
		if (at && *at)
			at = *at == ',' && at[1] ? at + 1 : NULL;
	}
	if (!at)
		return false;
	(void)snprintf(cpus.text, sizeof(cpus.text), "%s", text);
	*ret_cpus = cpus;
	return true;
}
