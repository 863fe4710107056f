/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/gc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/format.h"
#include "kernel/graph/clist.h"
#include "kernel/graph/object.h"
#include "kernel/graph/promise.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"

static const char actions_key[] = "gcActions";

static const struct {
    const char *name; /* of the action */
    const char *type; /* of the delivery */
} words[] = {
    [GC_DROP_EXPORT] = {"dropExport", "dropExports"},
    [GC_RETIRE_EXPORT] = {"retireExport", "retireExports"},
    [GC_RETIRE_IMPORT] = {"retireImport", "retireImports"},
};

enum { ACTIONS = sizeof words / sizeof *words };

/* Appends an action to an array of these texts. */
static int gc_action_append(json_t *actions, int64_t vat, enum gc_action action, const char *koid,
                            struct error *error)
{
    json_t *text = json_sprintf("v%" PRId64 " %s %s", vat, words[action].name, koid);

    return json_array_append_new(actions, text) == 0 ? 0 : error_memory(error, "garbage");
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A sorted copy of an array of texts, each once. */
static json_t *sorted(const json_t *texts)
{
    size_t count = json_array_size(texts);
    const char **pointers = malloc((count + 1) * sizeof *pointers);
    json_t *copy = json_array();

    if (pointers == NULL || copy == NULL)
        goto failed;
    for (size_t i = 0; i < count; i++)
        pointers[i] = json_string_value(json_array_get(texts, i));
    qsort(pointers, count, sizeof *pointers, compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(pointers[i], pointers[i - 1]) == 0)
            continue;
        if (json_array_append_new(copy, json_string(pointers[i])) != 0)
            goto failed;
    }
    free(pointers);
    return copy;
failed:
    json_decref(copy);
    free(pointers);
    return NULL;
}

static int set_actions(struct kernel *kernel, const json_t *actions, struct error *error)
{
    json_t *in_order = sorted(actions);
    int result;

    if (in_order == NULL)
        return error_memory(error, "garbage");
    result = keys_set_json(kernel, actions_key, in_order, error);
    json_decref(in_order);
    return result;
}

/* Adds an array of actions to `gcActions`. */
static int gc_action_add(struct kernel *kernel, const json_t *actions, struct error *error)
{
    json_t *all;
    int result;

    if (json_array_size(actions) == 0)
        return 0;
    if (keys_get_json(kernel, actions_key, &all, error) != 0)
        return -1;
    result = json_array_extend(all, (json_t *)(uintptr_t)actions) != 0
                 ? error_memory(error, "garbage")
                 : set_actions(kernel, all, error);
    json_decref(all);
    return result;
}

struct parsed_action {
    char vat_id[32];
    int64_t vat;
    enum gc_action action;
    char koid[KERNEL_REF_SIZE];
};

static int parse_action(const json_t *text, struct parsed_action *parsed, struct error *error)
{
    char name[16], rest;
    enum reference_kind kind;

    if (json_is_string(text) &&
        sscanf(json_string_value(text), "%31s %15s %31s%c", parsed->vat_id, name, parsed->koid,
               &rest) == 3 &&
        reference_read_number(parsed->vat_id, 'v', &parsed->vat) &&
        reference_read_kref(&kind, parsed->koid)) {
        for (size_t i = 0; i < ACTIONS; i++) {
            parsed->action = (enum gc_action)i;
            if (strcmp(name, words[i].name) == 0)
                return 0;
        }
    }
    return error_set(error, ERROR_SYSTEM,
                     "the store is damaged: %s has something that is not an action", actions_key);
}

/* Returns true in *right if the action still applies. */
static int still_right(struct kernel *kernel, const struct parsed_action *action, bool *right,
                       struct error *error)
{
    struct clist_entry entry = {0};
    struct object_counts counts;
    bool exists, listed;

    if (clist_find(kernel, action->vat, action->koid, &entry, &listed, error) != 0 ||
        refcount_of_object(kernel, action->koid, &counts, &exists, error) != 0)
        return -1;
    *right = listed;
    if (action->action == GC_DROP_EXPORT)
        *right = listed && exists && counts.reachable == 0 && entry.reachable;
    else if (action->action == GC_RETIRE_EXPORT)
        *right = listed && exists && counts.recognizable == 0;
    return 0;
}

/* Finds the first group, one vat and kind: by vatID as text, then by kind. */
static int first_group(const json_t *actions, struct parsed_action *group, struct error *error)
{
    struct parsed_action action;
    const json_t *text;
    size_t i;

    json_array_foreach(actions, i, text)
    {
        int order;

        if (parse_action(text, &action, error) != 0)
            return -1;
        order = i == 0 ? -1 : strcmp(action.vat_id, group->vat_id);
        if (order < 0 || (order == 0 && action.action < group->action))
            *group = action;
    }
    return 0;
}

/* Removes the group from the actions; those that still apply go into krefs. */
static int take_group(struct kernel *kernel, json_t *actions, const struct parsed_action *group,
                      json_t *krefs, struct error *error)
{
    struct parsed_action action;
    bool right;

    for (size_t i = 0; i < json_array_size(actions);) {
        if (parse_action(json_array_get(actions, i), &action, error) != 0)
            return -1;
        if (action.vat != group->vat || action.action != group->action) {
            i++;
            continue;
        }
        if (still_right(kernel, &action, &right, error) != 0)
            return -1;
        if (right && json_array_append_new(krefs, json_string(action.koid)) != 0)
            return error_memory(error, "garbage");
        json_array_remove(actions, i);
    }
    return 0;
}

static int make_item(const struct parsed_action *group, const json_t *krefs, json_t **item,
                     struct error *error)
{
    json_t *in_order = sorted(krefs);

    *item = json_pack("{s:s,s:s,s:o}", "type", words[group->action].type, "vatID", group->vat_id,
                      "krefs", in_order);
    return *item != NULL ? 0 : error_memory(error, "garbage");
}

static int next_group(struct kernel *kernel, json_t *actions, json_t **item, struct error *error)
{
    struct parsed_action group = {0};
    json_t *krefs = json_array();
    int result = -1;

    while (json_array_size(actions) > 0 && json_array_size(krefs) == 0) {
        if (first_group(actions, &group, error) != 0 ||
            take_group(kernel, actions, &group, krefs, error) != 0)
            goto out;
    }
    if (json_array_size(krefs) > 0) {
        if (make_item(&group, krefs, item, error) != 0)
            goto out;
    } else {
        *item = json_pack("{s:s}", "type", "negated-gc-action");
    }
    result = set_actions(kernel, actions, error);
out:
    json_decref(krefs);
    return result;
}

int gc_action_next(struct kernel *kernel, json_t **item, struct error *error)
{
    json_t *actions;
    bool none;
    int result;

    *item = NULL;
    if (keys_is(kernel, actions_key, "[]", &none, error) != 0)
        return -1;
    if (none)
        return 0;
    if (keys_get_json(kernel, actions_key, &actions, error) != 0)
        return -1;
    result = next_group(kernel, actions, item, error);
    json_decref(actions);
    return result;
}

int gc_action_vats(struct kernel *kernel, json_t **vat_ids, struct error *error)
{
    struct parsed_action action;
    json_t *actions;
    const json_t *text;
    int result = 0;
    size_t i;

    if (keys_get_json(kernel, actions_key, &actions, error) != 0)
        return -1;
    *vat_ids = json_array();
    json_array_foreach(actions, i, text)
    {
        if (result == 0)
            result = parse_action(text, &action, error);
        if (result == 0 && json_array_append_new(*vat_ids, json_string(action.vat_id)) != 0)
            result = error_memory(error, "garbage");
    }
    json_decref(actions);
    if (result != 0)
        json_decref(*vat_ids);
    return result;
}

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

/* Releases the promise's data. Objects that lose their last reference are collected later in
 * this loop. */
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

/* Queues actions for the living vat that owns an unreachable object. */
static int queue_owner_actions(struct kernel *kernel, const char *koid, int64_t owner,
                               bool recognizable, json_t *actions, struct error *error)
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

/* Orphans an object of a vat that ended, as cleaning up the vat would. */
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
        return queue_owner_actions(kernel, koid, owner, counts.recognizable > 0, actions, error);
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

static const char queue_key[] = "reapQueue";
static const char default_key[] = "kernel.defaultReapDirtThreshold";

static json_t *threshold(int64_t value)
{
    return value > 0 ? json_integer(value) : json_string("never");
}

json_t *reap_threshold(const json_t *options)
{
    json_t *interval = json_object_get(options, "reapInterval");
    json_t *references = json_object_get(options, "reapGCKrefs");
    json_t *thresholds = json_object();

    if (json_is_true(json_object_get(options, "neverReap"))) {
        json_decref(thresholds);
        return json_pack("{s:s,s:s}", "deliveries", "never", "gcKrefs", "never");
    }
    if ((interval != NULL && json_object_set(thresholds, "deliveries", interval) != 0) ||
        (references != NULL && json_object_set(thresholds, "gcKrefs", references) != 0)) {
        json_decref(thresholds);
        return NULL;
    }
    return thresholds;
}

int reap_init(struct kernel *kernel, const struct kernel_options *options, struct error *error)
{
    json_t *thresholds = json_pack("{s:o,s:o}", "deliveries", threshold(options->reap_interval),
                                   "gcKrefs", threshold(options->reap_gc_references));
    int result = thresholds == NULL ? error_memory(error, "a kernel")
                                    : keys_set_json(kernel, default_key, thresholds, error);

    json_decref(thresholds);
    return result == 0 ? keys_set(kernel, queue_key, "[]", error) : -1;
}

int reap_schedule(struct kernel *kernel, int64_t vat, struct error *error)
{
    char id[32];
    bool queued;

    format_text(id, sizeof id, "v%" PRId64, vat);
    if (keys_has_text(kernel, queue_key, id, &queued, error) != 0)
        return -1;
    return queued ? 0 : keys_append_text(kernel, queue_key, id, error);
}

static json_t *make_reap_item(const json_t *vat_id)
{
    return json_pack("{s:s,s:O}", "type", "bringOutYourDead", "vatID", vat_id);
}

int reap_look(struct kernel *kernel, int64_t index, json_t **item, struct error *error)
{
    json_t *queue;
    int result = 0;

    *item = NULL;
    if (keys_get_json(kernel, queue_key, &queue, error) != 0)
        return -1;
    if (index < (int64_t)json_array_size(queue)) {
        *item = make_reap_item(json_array_get(queue, (size_t)index));
        result = *item != NULL ? 0 : error_memory(error, "work");
    }
    json_decref(queue);
    return result;
}

int reap_next(struct kernel *kernel, json_t **item, struct error *error)
{
    json_t *queue;
    int result;
    bool none;

    *item = NULL;
    if (keys_is(kernel, queue_key, "[]", &none, error) != 0)
        return -1;
    if (none)
        return 0;
    if (keys_get_json(kernel, queue_key, &queue, error) != 0)
        return -1;
    *item = make_reap_item(json_array_get(queue, 0));
    json_array_remove(queue, 0);
    result = *item != NULL ? keys_set_json(kernel, queue_key, queue, error)
                           : error_memory(error, "work");
    json_decref(queue);
    return result;
}

static const char *dirt_key(char key[KEYS_NAME_SIZE], int64_t vat)
{
    return keys_name(key, "v%" PRId64 ".reapDirt", vat);
}

/* Adds to a counter that has a threshold. Returns true if the threshold is reached. */
static bool add_dirt_counter(json_t *dirt, const json_t *own, const json_t *defaults,
                             const char *name, int64_t more)
{
    const json_t *limit = json_object_get(own, name);
    int64_t sum = json_integer_value(json_object_get(dirt, name)) + more;

    if (limit == NULL)
        limit = json_object_get(defaults, name);
    if (more == 0 || !json_is_integer(limit) || json_integer_value(limit) <= 0)
        return false;
    json_object_set_new(dirt, name, json_integer(sum));
    return sum >= json_integer_value(limit);
}

static int add_dirt(struct kernel *kernel, int64_t vat, const struct vat_record *record,
                    int64_t gc_references, struct error *error)
{
    char key[KEYS_NAME_SIZE];
    json_t *defaults = NULL, *dirt = NULL;
    bool due;
    int result = -1;

    if (keys_get_shared_json(kernel, default_key, &defaults, error) != 0 ||
        keys_get_json(kernel, dirt_key(key, vat), &dirt, error) != 0)
        goto out;
    due = add_dirt_counter(dirt, record->reap_threshold, defaults, "deliveries", 1);
    due = add_dirt_counter(dirt, record->reap_threshold, defaults, "gcKrefs", gc_references) || due;
    result = keys_set_json(kernel, key, dirt, error);
    if (result == 0 && due)
        result = reap_schedule(kernel, vat, error);
out:
    json_decref(dirt);
    json_decref(defaults);
    return result;
}

int reap_add_dirt(struct kernel *kernel, int64_t vat, int64_t gc_references, struct error *error)
{
    struct vat_reading reading;
    int result = 0;

    if (vat_record_read(kernel, vat, &reading, error) != 0)
        return -1;
    if (reading.record.runtime == KERNEL_VAT_LIVESLOTS)
        result = add_dirt(kernel, vat, &reading.record, gc_references, error);
    vat_record_free(&reading);
    return result;
}

int reap_clear_dirt(struct kernel *kernel, int64_t vat, struct error *error)
{
    char key[KEYS_NAME_SIZE];

    return keys_set(kernel, dirt_key(key, vat), "{}", error);
}
