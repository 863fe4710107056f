/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/retire.h"

#include <inttypes.h>

#include "kernel/graph/clist.h"
#include "kernel/graph/gc_action.h"
#include "kernel/graph/object.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"

int retire_abandon(struct kernel *kernel, const char *koid, int64_t vat, struct error *error)
{
    int64_t owner;

    if (object_owner(kernel, koid, &owner, error) != 0)
        return -1;
    if (owner != vat)
        return error_set(error, ERROR_INPUT, "%s is not an object of v%" PRId64, koid, vat);
    if (object_disown(kernel, koid, error) != 0 || clist_forget(kernel, vat, koid, error) != 0)
        return -1;
    return reference_set_add(&kernel->maybe_free, koid, error);
}

static int retire_import_of_all(struct kernel *kernel, const char *koid, json_t *actions,
                                struct error *error)
{
    int64_t vat = 0;
    bool found, imports;

    for (;;) {
        if (vat_record_next(kernel, vat, &vat, &found, error) != 0)
            return -1;
        if (!found)
            return 0;
        if (clist_imports(kernel, vat, koid, &imports, error) != 0)
            return -1;
        if (imports && gc_action_append(actions, vat, GC_RETIRE_IMPORT, koid, error) != 0)
            return -1;
    }
}

int retire_objects(struct kernel *kernel, const json_t *koids, struct error *error)
{
    json_t *actions = json_array();
    const json_t *koid;
    int result = 0;
    size_t i;

    json_array_foreach(koids, i, koid)
    {
        if (retire_import_of_all(kernel, json_string_value(koid), actions, error) != 0 ||
            object_delete(kernel, json_string_value(koid), error) != 0) {
            result = -1;
            goto out;
        }
    }
    result = gc_action_add(kernel, actions, error);
out:
    json_decref(actions);
    return result;
}
