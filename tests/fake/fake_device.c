/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked to the sources of verbsd, this makes a verbsd over the scripted provider: it has the
 * device fake0 with the address 10.0.0.1, over which it can connect to itself. VBD_FAKE_BLOCK is
 * the name of a call that does not return, once at a time; FAKE_WITNESS is the name of a file that
 * gets each message that was delivered.
 */
#include "tests/fake/provider_fake.h"

__attribute__((constructor)) static void plug_in(void)
{
	fake_loopback(true);
	fake_record_calls(false);
	fake_receives_optional(true);
	(void)fake_device_add("fake0");
	if (getenv("VBD_FAKE_BLOCK"))
		fake_block_one(getenv("VBD_FAKE_BLOCK"));
	fake_witness(getenv("FAKE_WITNESS"));
}
