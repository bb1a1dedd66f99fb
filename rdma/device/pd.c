/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma/device/pd.h"

#include "rdma/device/device.h"
#include "rdma/provider/provider.h"

enum vbd_status vbd_pd_make(
	struct ibv_context *context, struct vbd_pd **ret_pd, struct vbd_error *err)
{
	struct vbd_pd *pd = calloc(1, sizeof(*pd));
	enum vbd_status status;

	if (!pd)
		return vbd_error_set(err, VBD_E_NO_MEMORY, "no memory for a protection domain");
	status = vbd_pv_alloc_pd(&pd->account, context, &pd->ibv_pd, err);
	if (status)
		free(pd);
	else
		*ret_pd = pd;
	return status;
}

void vbd_pd_add(struct vbd_device *device, struct vbd_pd *pd)
{
	pd->device = device;
	pd->is_default = vbd_list_empty(&device->pds);
	vbd_list_append(&device->pds, &pd->link);
	if (!pd->is_default)
		vbd_device_ref(device);
}

enum vbd_status vbd_pd_create(
	struct vbd_device *device, struct vbd_pd **ret_pd, struct vbd_error *err)
{
	enum vbd_status status = vbd_pd_make(device->context, ret_pd, err);

	if (!status)
		vbd_pd_add(device, *ret_pd);
	return status;
}

static void dealloc_pd(struct vbd_pd *pd)
{
	if (!pd->ibv_pd)
		return;
	if (pd->slabs)
		pd->destroy_slabs(pd->slabs);
	if (pd->messages)
		pd->destroy_slabs(pd->messages);
	pd->slabs = pd->messages = NULL;
	vbd_pv_dealloc_pd(&pd->account, pd->ibv_pd);
	pd->ibv_pd = NULL;
	pd->device->ops->pd_gone(pd, pd->device->ops_arg);
	if (!pd->is_default)
		vbd_device_unref(pd->device);
}

void vbd_pd_destroy(struct vbd_pd *pd)
{
	if (!pd)
		return;
	pd->losing = false;
	dealloc_pd(pd);
	vbd_list_remove(&pd->link);
	vbd_account_close(&pd->account);
	free(pd);
}

void vbd_pd_delete(struct vbd_pd *pd)
{
	pd->delete_pending = true;
	if (pd->refs == 0)
		vbd_pd_destroy(pd);
	else
		pd->losing = true;
}

void vbd_pd_revoke(struct vbd_pd *pd)
{
	pd->losing = pd->refs > 0;
	if (!pd->losing)
		dealloc_pd(pd);
}

void vbd_pd_ref(struct vbd_pd *pd)
{
	pd->refs++;
	vbd_device_ref(pd->device);
}

void vbd_pd_unref(struct vbd_pd *pd)
{
	struct vbd_device *device = pd->device;

	pd->refs--;
	if (pd->losing && pd->refs == 0) {
		if (pd->delete_pending)
			vbd_pd_destroy(pd);
		else
			vbd_pd_revoke(pd);
	}
	vbd_device_unref(device);
}

/* "pd 3 (video)", or "the default pd of rxe0" */
static void describe_pd(const struct vbd_pd *pd, char text[static 160])
{
	if (pd->is_default)
		(void)snprintf(text, 160, "the default pd of %s", pd->device->name);
	else if (pd->name[0])
		(void)snprintf(text, 160, "pd %llu (%s)", (unsigned long long)pd->id, pd->name);
	else
		(void)snprintf(text, 160, "pd %llu", (unsigned long long)pd->id);
}

enum vbd_status vbd_pd_require_same(const struct vbd_pd *a, const char *one, const struct vbd_pd *b,
	const char *other, struct vbd_error *err)
{
	char pd_a[160], pd_b[160];

	if (a == b)
		return VBD_OK;
	describe_pd(a, pd_a);
	describe_pd(b, pd_b);
	return vbd_error_set(
		err, VBD_E_PD_MISMATCH, "%s is in %s, and %s is in %s", one, pd_a, other, pd_b);
}
