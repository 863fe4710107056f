/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/object.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"

static int set_owner(struct kernel *kernel, const char *kref, char letter, int64_t number,
                     struct error *error)
{
    char key[KEYS_NAME_SIZE], owner[32];

    snprintf(owner, sizeof owner, "%c%" PRId64, letter, number);
    return keys_set(kernel, keys_part(key, kref, ".owner"), owner, error);
}

int object_add(struct kernel *kernel, int64_t owner, char koid[KERNEL_REF_SIZE],
               struct error *error)
{
    int64_t id;

    if (keys_take_number(kernel, "ko.nextID", &id, error) != 0)
        return -1;
    reference_make_kref(koid, REFERENCE_OBJECT, id);
    if (keys_note_new(kernel, koid, error) != 0)
        return -1;
    if (set_owner(kernel, koid, 'v', owner, error) != 0)
        return -1;
    return refcount_set_object(kernel, koid, &(struct object_counts){0}, error);
}

int object_add_device_node(struct kernel *kernel, int64_t device, char kdid[KERNEL_REF_SIZE],
                           struct error *error)
{
    int64_t id;

    if (keys_take_number(kernel, "kd.nextID", &id, error) != 0)
        return -1;
    reference_make_kref(kdid, REFERENCE_DEVICE, id);
    return set_owner(kernel, kdid, 'd', device, error);
}

static int get_owner(struct kernel *kernel, const char *kref, char letter, int64_t *number,
                     struct error *error)
{
    char key[KEYS_NAME_SIZE];
    bool found;

    *number = 0;
    keys_part(key, kref, ".owner");
    if (keys_get(kernel, key, &kernel->value, &found, error) != 0)
        return -1;
    if (found && !reference_read_number(buf_string(&kernel->value), letter, number))
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s names no owner", key);
    return 0;
}

int object_owner(struct kernel *kernel, const char *koid, int64_t *vat, struct error *error)
{
    return get_owner(kernel, koid, 'v', vat, error);
}

int object_living_owner(struct kernel *kernel, const char *koid, int64_t *vat, struct error *error)
{
    bool ended;

    if (object_owner(kernel, koid, vat, error) != 0)
        return -1;
    if (*vat == 0)
        return 0;
    if (vat_record_is_terminated(kernel, *vat, &ended, error) != 0)
        return -1;
    if (ended)
        *vat = 0;
    return 0;
}

int object_device_of(struct kernel *kernel, const char *kdid, int64_t *device, struct error *error)
{
    if (get_owner(kernel, kdid, 'd', device, error) != 0)
        return -1;
    if (*device == 0)
        return error_set(error, ERROR_SYSTEM, "the store is damaged: %s has no device", kdid);
    return 0;
}

int object_disown(struct kernel *kernel, const char *koid, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_delete(kernel, keys_part(key, koid, ".owner"), error);
}

int object_delete(struct kernel *kernel, const char *koid, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    if (object_disown(kernel, koid, error) != 0)
        return -1;
    return keys_delete(kernel, keys_part(key, koid, ".refCount"), error);
}

int object_pin(struct kernel *kernel, const char *koid, struct error *error)
{
    bool added;

    if (keys_add_to_list(kernel, "pinnedObjects", koid, &added, error) != 0)
        return -1;
    return added ? refcount_increment(kernel, koid, REFCOUNT_KERNEL, error) : 0;
}
