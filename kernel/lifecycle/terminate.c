/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/lifecycle/terminate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "kernel/graph/clist.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/object.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/records/capdata.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "store/store.h"

static void say(struct kernel *kernel, int64_t vat, bool reject)
{
    char line[96];

    if (kernel->listener.console == NULL)
        return;
    snprintf(line, sizeof line, "kernel terminating vat v%" PRId64 " (failure=%s)", vat,
             reject ? "true" : "false");
    kernel->listener.console(kernel->listener.context, line);
}

int terminate_stop_worker(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct crank_state *crank = &kernel->crank;
    int64_t *stopped;

    for (size_t i = 0; i < crank->stopped_count; i++) {
        if (crank->stopped[i] == vat)
            return 0;
    }
    stopped = array_reserve(crank->stopped, &crank->stopped_capacity, crank->stopped_count + 1,
                            sizeof *stopped);
    if (stopped == NULL)
        return error_memory(error, "workers to stop");
    crank->stopped = stopped;
    crank->stopped[crank->stopped_count++] = vat;
    return 0;
}

/* A message of the kernel's own; its result's promise logs a failure. Takes `methargs` over. */
static int send_from_kernel(struct kernel *kernel, const char *target, json_t *methargs,
                            struct error *error)
{
    char kpid[KERNEL_REF_SIZE];
    json_t *message = NULL;
    int result = -1;

    if (methargs == NULL) {
        error_memory(error, "a message of the kernel");
        return -1;
    }
    if (promise_add(kernel, 0, "logFailure", kpid, error) != 0)
        goto out;
    message = json_pack("{s:O,s:s}", "methargs", methargs, "result", kpid);
    if (message == NULL)
        error_memory(error, "a message of the kernel");
    else
        result = queue_new_send(kernel, target, message, error);
out:
    json_decref(message);
    json_decref(methargs);
    return result;
}

int terminate_tell_vat_admin(struct kernel *kernel, const char *method, json_t *arguments,
                             json_t *slots, struct error *error)
{
    struct buf root = {0};
    json_t *tree;
    bool found;
    int result;

    if (keys_get(kernel, "vatAdminRootKref", &root, &found, error) != 0 || !found) {
        result = found ? -1 : 0;
        json_decref(arguments);
        json_decref(slots);
        buf_free(&root);
        return result;
    }
    tree = json_pack("[s,o]", method, arguments);
    result = send_from_kernel(kernel, buf_string(&root), capdata_make(tree, slots), error);
    buf_free(&root);
    return result;
}

/* What a vat made in a delivery that was undone is not there any more. */
static int all_exist(struct kernel *kernel, const json_t *krefs, bool *exist, struct error *error)
{
    struct object_counts counts;
    const json_t *element;
    size_t i;

    *exist = true;
    json_array_foreach(krefs, i, element)
    {
        const char *kref = json_string_value(element);
        bool one = true;

        if (reference_kref_kind(kref) == REFERENCE_PROMISE) {
            if (promise_exists(kernel, kref, &one, error) != 0)
                return -1;
        } else if (reference_kref_kind(kref) == REFERENCE_OBJECT) {
            if (refcount_of_object(kernel, kref, &counts, &one, error) != 0)
                return -1;
        }
        *exist = *exist && one;
    }
    return 0;
}

static int tell_ended(struct kernel *kernel, int64_t vat, bool reject, const json_t *info,
                      struct error *error)
{
    const json_t *krefs = json_object_get(info, "slots");
    json_t *tree, *moved = NULL, *slots = json_array();
    bool exist;

    if (all_exist(kernel, krefs, &exist, error) != 0) {
        json_decref(slots);
        return -1;
    }
    tree = capdata_tree(info);
    if (exist)
        moved = capdata_move(tree, krefs, slots, error);
    json_decref(tree);
    /* What a vat says as its reason may be no value at all. */
    if (moved == NULL) {
        json_array_clear(slots);
        moved = capdata_error_tree("vat terminated for a reason that cannot be told");
    }
    return terminate_tell_vat_admin(
        kernel, "vatTerminated",
        json_pack("[o,b,o]", json_sprintf("v%" PRId64, vat), reject, moved), slots, error);
}

static int reject_promises(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct reference_set kpids = {0};
    int result = promise_all_decided_by(kernel, vat, &kpids, error);

    for (size_t i = 0; i < kpids.count && result == 0; i++)
        result = promise_reject(kernel, kpids.items[i], "vat terminated", error);
    reference_set_free(&kpids);
    return result;
}

int terminate_vat(struct kernel *kernel, int64_t vat, bool reject, const json_t *info,
                  struct error *error)
{
    bool lives;

    say(kernel, vat, reject);
    if (vat_record_lives(kernel, vat, &lives, error) != 0)
        return -1;
    if (lives && (vat_record_mark_terminated(kernel, vat, error) != 0 ||
                  reject_promises(kernel, vat, error) != 0))
        return -1;
    if (held_release(kernel, vat, error) != 0 || tell_ended(kernel, vat, reject, info, error) != 0)
        return -1;
    return terminate_stop_worker(kernel, vat, error);
}

/* ---- cleaning up ---- */

struct cleanup {
    int64_t vat;
    int64_t exports, imports, promises, keys;
};

typedef int (*clean_entry)(struct kernel *kernel, int64_t vat, const char *key, const char *kref,
                           struct error *error);

static int clean_export(struct kernel *kernel, int64_t vat, const char *key, const char *kref,
                        struct error *error)
{
    (void)key;
    return retire_abandon(kernel, kref, vat, error);
}

static int clean_import(struct kernel *kernel, int64_t vat, const char *key, const char *kref,
                        struct error *error)
{
    (void)key;
    return clist_delete(kernel, vat, kref, error);
}

static int clean_key(struct kernel *kernel, int64_t vat, const char *key, const char *value,
                     struct error *error)
{
    (void)vat;
    (void)value;
    return keys_delete(kernel, key, error);
}

/* Does it with each key that begins so; each goes away by that. */
static int clean_all(struct kernel *kernel, int64_t vat, const char *kind, clean_entry clean,
                     int64_t *count, struct error *error)
{
    char prefix[KEYS_NAME_SIZE];
    struct buf key = {0}, value = {0};
    bool found = true;
    int result = 0;

    keys_name(prefix, "v%" PRId64 ".%s", vat, kind);
    while (result == 0 && found) {
        result = keys_next(kernel, prefix, "", &key, &found, error);
        if (result != 0 || !found)
            break;
        result = keys_require(kernel, key.data, &value, error);
        if (result == 0)
            result = clean(kernel, vat, key.data, value.data, error);
        (*count)++;
    }
    buf_free(&value);
    buf_free(&key);
    return result;
}

static int clean_rows(struct kernel *kernel, int64_t vat, struct error *error)
{
    if (store_vat_delete_all(kernel->store, vat, error) != 0 ||
        store_snapshot_delete_all(kernel->store, vat, error) != 0)
        return -1;
    return store_transcript_delete_all(kernel->store, vat, error);
}

static void tell_cleaned_up(struct kernel *kernel, const struct cleanup *work)
{
    char text[160];

    if (kernel->listener.vat_cleaned_up == NULL)
        return;
    snprintf(text, sizeof text,
             "{\"exports\":%" PRId64 ",\"imports\":%" PRId64 ",\"promises\":%" PRId64
             ",\"kv\":%" PRId64 "}",
             work->exports, work->imports, work->promises, work->keys);
    kernel->listener.vat_cleaned_up(kernel->listener.context, work->vat, text);
}

int terminate_clean_up(struct kernel *kernel, int64_t vat, struct error *error)
{
    struct cleanup work = {.vat = vat};

    if (clean_all(kernel, vat, "c.o+", clean_export, &work.exports, error) != 0 ||
        clean_all(kernel, vat, "c.o-", clean_import, &work.imports, error) != 0 ||
        clean_all(kernel, vat, "c.p", clean_import, &work.promises, error) != 0 ||
        clean_all(kernel, vat, "", clean_key, &work.keys, error) != 0 ||
        clean_rows(kernel, vat, error) != 0 ||
        vat_record_forget_terminated(kernel, vat, error) != 0)
        return -1;
    kernel->crank.cleaned_up = vat;
    tell_cleaned_up(kernel, &work);
    return 0;
}
