/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/caps.h"

#include "rdma/device/device.h"
#include "rdma/device/mem.h"
#include "rdma/device/pd.h"
#include "tests/unit/openapi.h"
#include "tests/unit/rig.h"

static struct vbd_device *device_of(struct rig *rig)
{
	return vbd_fabric_device(rig->fabric, "fake0");
}

/* Replaces the rig's device by one with the test's changes. */
static struct vbd_device *opened_again(struct rig *rig)
{
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	rig_settle(rig);
	rig->device->plugged = true;
	unit_rescan(rig->fabric);
	return device_of(rig);
}

TEST(test_caps__the_contract_names_them)
{
	struct openapi_enum names;

	openapi_read_enum("Capability", &names);
	assert_int_equal(names.count, VBD_CAP_COUNT);
	for (unsigned int cap = 0; cap < VBD_CAP_COUNT; cap++)
		assert_true(openapi_enum_has(&names, vbd_cap_name((enum vbd_cap)cap)));
}

RIG_TEST(test_caps__a_device_that_says_so_can_do_all)
{
	struct vbd_device *device = device_of(rig);

	for (unsigned int cap = 0; cap < VBD_CAP_COUNT; cap++)
		assert_int_equal(vbd_device_require(device, (enum vbd_cap)cap, NULL), VBD_OK);
}

RIG_TEST(test_caps__what_is_missing_is_refused_by_name)
{
	struct vbd_error err = {0};
	struct vbd_device *device;

	rig->device->attr = (struct ibv_device_attr){.phys_port_cnt = 1, .vendor_id = 0xffffff};
	rig->device->odp_caps.general_caps = 0;
	rig->device->cq_mod_caps.max_cq_count = 0;
	rig->device->resizes_cqs = false;
	device = opened_again(rig);
	assert_false(vbd_device_can(device, VBD_CAP_SRQ));
	assert_false(vbd_device_can(device, VBD_CAP_MULTICAST));
	assert_false(vbd_device_can(device, VBD_CAP_ATOMICS));
	assert_false(vbd_device_can(device, VBD_CAP_MW_TYPE_1));
	assert_false(vbd_device_can(device, VBD_CAP_MW_TYPE_2));
	assert_false(vbd_device_can(device, VBD_CAP_ON_DEMAND_PAGING));
	assert_false(vbd_device_can(device, VBD_CAP_RELAXED_ORDERING));
	assert_false(vbd_device_can(device, VBD_CAP_CQ_RESIZE));
	assert_true(vbd_device_can(device, VBD_CAP_UD));
	assert_int_equal(
		vbd_device_require(device, VBD_CAP_CQ_MODERATION, &err), VBD_E_NOT_SUPPORTED);
	assert_string_equal(err.text, "device fake0 (roce) lacks cq_moderation");
	assert_string_equal(err.device, "fake0");
	assert_string_equal(err.capability, "cq_moderation");
}

RIG_TEST(test_caps__iwarp_has_what_its_standard_has)
{
	static const enum vbd_cap absent[] = {VBD_CAP_UC, VBD_CAP_UD, VBD_CAP_MULTICAST,
		VBD_CAP_ATOMICS, VBD_CAP_WRITE_IMM, VBD_CAP_SEND_IMM, VBD_CAP_MANUAL_BRINGUP,
		VBD_CAP_SQD, VBD_CAP_WRITE_ACK};
	struct vbd_device *device;

	rig->device->ibv.transport_type = IBV_TRANSPORT_IWARP;
	device = opened_again(rig);
	for (size_t i = 0; i < VBD_ARRAY_LEN(absent); i++)
		assert_false(vbd_device_can(device, absent[i]));
	assert_true(vbd_device_can(device, VBD_CAP_RC));
	assert_true(vbd_device_can(device, VBD_CAP_SRQ));
}

RIG_TEST(test_caps__domains_do_not_mix)
{
	struct vbd_device *device = device_of(rig);
	struct vbd_error err = {0};
	struct vbd_pd *pd;

	assert_true(device->pd->is_default);
	assert_int_equal(vbd_pd_create(device, &pd, &rig->err), VBD_OK);
	assert_false(pd->is_default);
	assert_int_equal(vbd_pd_require_same(pd, "buffer 1", pd, "connection 2", &err), VBD_OK);
	pd->id = 7;
	assert_int_equal(vbd_pd_require_same(pd, "buffer 1", device->pd, "connection 2", &err),
		VBD_E_PD_MISMATCH);
	assert_string_equal(
		err.text, "buffer 1 is in pd 7, and connection 2 is in the default pd of fake0");
	vbd_pd_destroy(pd);
	fake_fail_next("ibv_alloc_pd", EAGAIN);
	assert_int_equal(vbd_pd_create(device, &pd, NULL), VBD_E_DEVICE_LIMIT);
	vbd_pd_destroy(NULL);
}

RIG_TEST(test_caps__a_domain_holds_its_device_as_long_as_it_is_used)
{
	struct vbd_device *device = device_of(rig);
	struct vbd_pd *idle, *used;
	struct vbd_slab_range range;

	assert_int_equal(vbd_pd_create(device, &idle, &rig->err), VBD_OK);
	assert_int_equal(vbd_pd_create(device, &used, &rig->err), VBD_OK);
	assert_int_equal(vbd_message_take(used, 100, &range, &rig->err), VBD_OK);
	vbd_message_give(used, &range);
	vbd_pd_ref(used);
	assert_int_equal(used->refs, 1);
	fake_device_unplug(rig->device);
	unit_rescan(rig->fabric);
	vbd_pd_revoke(idle);
	vbd_pd_revoke(used);
	assert_null(idle->ibv_pd);
	assert_non_null(used->ibv_pd);
	rig_settle(rig);
	assert_int_equal(device->state, VBD_DEVICE_REMOVING);
	vbd_pd_unref(used);
	assert_null(used->ibv_pd);
	rig_finish_calls(rig);
	assert_int_equal(device->state, VBD_DEVICE_REMOVED);
	/* The device has freed both. */
	assert_int_equal(fake_live().pds, 0);
}
