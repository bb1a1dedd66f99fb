/* SPDX-License-Identifier: Apache-2.0 */
/* The main() of each test program that has none of its own. */
#include "tests/unit/unit.h"

int main(int argc, char **argv)
{
	return unit_run(argc, argv, NULL, NULL);
}
