/* SPDX-License-Identifier: Apache-2.0 */
#include "base/planted.h"

int planted_sign(int value)
{
	if (value < 0)
		return -1;
	return value > 0;
}

int planted_more(int value)
{
	if (value > 100)
		return 100;
	return value + 3;
}
