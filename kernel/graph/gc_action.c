/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/graph/gc_action.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/graph/clist.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
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

int gc_action_append(json_t *actions, int64_t vat, enum gc_action action, const char *koid,
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

int gc_action_add(struct kernel *kernel, const json_t *actions, struct error *error)
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

/* Whether it is still to be done. */
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

/* The group of one vat and kind that comes first: by vatID as text, then by kind. */
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

/* Takes the group out of the actions; those that are still right go into krefs. */
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
