/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device by which contracts of NEAR find each other: find(account) gives the root object of
 * the static vat of that name, or undefined.
 */
#include <string.h>

#include "kernel/devices/device.h"
#include "kernel/graph/clist.h"
#include "kernel/records/capdata.h"
#include "kernel/records/vat_record.h"

static int device_accounts_find(struct kernel *kernel, struct device_call *call,
                                struct error *error)
{
    const char *name = capdata_text(json_array_get(call->arguments, 0));
    char kref[KERNEL_REF_SIZE];
    int64_t vat;
    bool found;

    if (name == NULL || strlen(name) > KERNEL_NAME_LIMIT)
        return device_refuse(call, error, "an account is a text of at most %d bytes",
                             KERNEL_NAME_LIMIT);
    if (vat_record_named(kernel, name, &vat, &found, error) != 0)
        return -1;
    if (!found)
        return 0;
    if (clist_export_root(kernel, vat, kref, error) != 0)
        return -1;
    call->result = json_string("$0");
    if (call->result == NULL || json_array_append_new(call->result_slots, json_string(kref)) != 0)
        return error_memory(error, "an answer");
    return 0;
}

int device_accounts(struct kernel *kernel, struct device_call *call, struct error *error)
{
    if (strcmp(call->method, "find") == 0)
        return device_accounts_find(kernel, call, error);
    return device_refuse(call, error, "it has no such method");
}
