/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/collect.h"

#include <string.h>

#include "kernel/graph/clist.h"
#include "kernel/graph/gc_action.h"
#include "kernel/graph/object.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/retire.h"
#include "kernel/records/keys.h"
#include "kernel/records/refcount.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"

/* What its data held may come to nought by this, and is looked at in its turn. */
static int release_data(struct kernel *kernel, const char *kpid, struct error *error)
{
    enum kernel_promise state;
    json_t *slots;
    int result;

    if (promise_state(kernel, kpid, &state, error) != 0)
        return -1;
    if (state == KERNEL_PROMISE_UNRESOLVED)
        return 0;
    if (promise_slots(kernel, kpid, &slots, error) != 0)
        return -1;
    result = refcount_decrement_all(kernel, slots, error);
    json_decref(slots);
    return result;
}

static int look_at_promise(struct kernel *kernel, const char *kpid, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    int64_t count;
    bool exists;

    if (promise_exists(kernel, kpid, &exists, error) != 0)
        return -1;
    if (!exists)
        return 0;
    if (keys_get_number(kernel, keys_part(key, kpid, ".refCount"), &count, error) != 0)
        return -1;
    if (count > 0)
        return 0;
    if (release_data(kernel, kpid, error) != 0)
        return -1;
    return promise_delete(kernel, kpid, error);
}

/* Nobody reaches it, and it belongs to a vat that lives. */
static int tell_owner(struct kernel *kernel, const char *koid, int64_t owner, bool recognizable,
                      json_t *actions, struct error *error)
{
    struct clist_entry entry = {0};
    bool found;

    if (clist_find(kernel, owner, koid, &entry, &found, error) != 0)
        return -1;
    if (found && entry.reachable &&
        gc_action_append(actions, owner, GC_DROP_EXPORT, koid, error) != 0)
        return -1;
    return recognizable ? 0 : gc_action_append(actions, owner, GC_RETIRE_EXPORT, koid, error);
}

static int retire_orphan(struct kernel *kernel, const char *koid, bool recognizable,
                         struct error *error)
{
    json_t *koids;
    int result;

    if (!recognizable)
        return object_delete(kernel, koid, error);
    koids = json_pack("[s]", koid);
    if (koids == NULL)
        return error_memory(error, "garbage");
    result = retire_objects(kernel, koids, error);
    json_decref(koids);
    return result;
}

/* The vat that owns it has ended: what cleaning up will do to it is done now. */
static int make_orphan(struct kernel *kernel, const char *koid, int64_t owner, struct error *error)
{
    return object_disown(kernel, koid, error) != 0 ? -1 : clist_forget(kernel, owner, koid, error);
}

static int look_at_object(struct kernel *kernel, const char *koid, json_t *actions,
                          struct error *error)
{
    struct object_counts counts;
    int64_t owner;
    bool exists, ended = false;

    if (refcount_of_object(kernel, koid, &counts, &exists, error) != 0)
        return -1;
    if (!exists || counts.reachable > 0)
        return 0;
    if (object_owner(kernel, koid, &owner, error) != 0 ||
        (owner != 0 && vat_record_is_terminated(kernel, owner, &ended, error) != 0))
        return -1;
    if (owner != 0 && !ended)
        return tell_owner(kernel, koid, owner, counts.recognizable > 0, actions, error);
    if (ended && make_orphan(kernel, koid, owner, error) != 0)
        return -1;
    return retire_orphan(kernel, koid, counts.recognizable > 0, error);
}

int collect_unreferenced(struct kernel *kernel, struct error *error)
{
    json_t *actions;
    int result = 0;

    if (kernel->maybe_free.count == 0)
        return 0;
    actions = json_array();
    for (size_t i = 0; i < kernel->maybe_free.count && result == 0; i++) {
        char kref[KERNEL_REF_SIZE];

        /* A copy: the set may move when it grows. */
        memcpy(kref, kernel->maybe_free.items[i], sizeof kref);
        if (reference_kref_kind(kref) == REFERENCE_PROMISE)
            result = look_at_promise(kernel, kref, error);
        else
            result = look_at_object(kernel, kref, actions, error);
    }
    if (result == 0)
        result = gc_action_add(kernel, actions, error);
    reference_set_clear(&kernel->maybe_free);
    json_decref(actions);
    return result;
}
