/* SPDX-License-Identifier: Apache-2.0 */
#include "base/planted.h"

int main(void)
{
	for (int value = -2; value <= 2; value++) {
		int sign = value == 0 ? 0 : value / (value < 0 ? -value : value);

		if (planted_sign(value) != sign)
			return 1;
	}
	return 0;
}
