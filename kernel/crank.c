/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/crank.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/deliver.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/lifecycle/operate.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/keys.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "kernel/work_item.h"
#include "store/store.h"

static int set_savepoint(struct kernel *kernel, struct error *error)
{
    struct crank_state *crank = &kernel->crank;

    if (store_savepoint_set(kernel->store, error) != 0)
        return -1;
    crank->changes_before[crank->savepoints] = spool_length(&kernel->changes);
    crank->state_before[crank->savepoints++] = kernel->state;
    return 0;
}

static int undo_savepoint(struct kernel *kernel, struct error *error)
{
    struct crank_state *crank = &kernel->crank;

    kernel->no_vat_held = kernel->no_operation = false; /* what was deleted may be back */
    if (store_savepoint_undo(kernel->store, error) != 0)
        return -1;
    spool_truncate(&kernel->changes, crank->changes_before[--crank->savepoints]);
    kernel->state = crank->state_before[crank->savepoints];
    return 0;
}

int crank_undo(struct kernel *kernel, bool all, struct error *error)
{
    if (undo_savepoint(kernel, error) != 0)
        return -1;
    if (!all)
        return 0;
    return undo_savepoint(kernel, error) != 0 ? -1 : set_savepoint(kernel, error);
}

static int release_savepoints(struct kernel *kernel, struct error *error)
{
    for (; kernel->crank.savepoints > 0; kernel->crank.savepoints--) {
        if (store_savepoint_release(kernel->store, error) != 0)
            return -1;
    }
    return 0;
}

static void forget_work(struct kernel *kernel)
{
    struct crank_state *crank = &kernel->crank;

    deliver_forget(kernel);
    json_decref(crank->message);
    crank->message = NULL;
    json_decref(crank->results.info);
    memset(&crank->results, 0, sizeof crank->results);
    crank->under_way = false;
    crank->vat = 0;
}

int crank_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error)
{
    struct crank_state *crank = &kernel->crank;

    end->crank = crank->view;
    end->undone = crank->results.undo;
    end->cleaned_up = crank->cleaned_up;
    end->stopped = crank->stopped;
    end->stopped_count = crank->stopped_count;
    if (collect_unreferenced(kernel, error) != 0 ||
        keys_set_number(kernel, "crankNumber", crank->view.number + 1, error) != 0 ||
        crank_hash_finish(kernel, end, error) != 0 || release_savepoints(kernel, error) != 0)
        return -1;
    forget_work(kernel);
    return 0;
}

void kernel_abandon_crank(struct kernel *kernel)
{
    struct error ignored;

    if (!kernel->crank.under_way)
        return;
    /* If the store fails here, the transaction can only be rolled back, which undoes all. */
    while (kernel->crank.savepoints > 0 && undo_savepoint(kernel, &ignored) == 0)
        ;
    kernel->crank.savepoints = 0;
    reference_set_clear(&kernel->maybe_free);
    forget_work(kernel);
}

/* ---- taking work ---- */

static int next_clean_up(struct kernel *kernel, json_t **item, struct error *error)
{
    int64_t vat;

    *item = NULL;
    if (vat_record_first_terminated(kernel, &vat, error) != 0)
        return -1;
    if (vat == 0)
        return 0;
    *item = json_pack("{s:s,s:o,s:{s:n}}", "type", "cleanup-terminated-vat", "vatID",
                      json_sprintf("v%" PRId64, vat), "budget", "default");
    return *item != NULL ? 0 : error_memory(error, "work");
}

static int next_run(struct kernel *kernel, json_t **item, struct error *error)
{
    return queue_take(kernel, QUEUE_RUN, item, &kernel->crank.message_text, error);
}

/* In the order of what is most urgent; *routing: it is only to be routed. What comes from a queue
 * brings its text along. */
static int take_work(struct kernel *kernel, bool *routing, struct error *error)
{
    static int (*const sources[])(struct kernel *, json_t **, struct error *) = {
        next_clean_up, gc_action_next, reap_next, next_run};
    json_t **item = &kernel->crank.message;

    *routing = false;
    buf_clear(&kernel->crank.message_text);
    if (operate_next(kernel, item, error) != 0)
        return -1;
    if (*item == NULL) {
        if (queue_take(kernel, QUEUE_ACCEPTANCE, item, &kernel->crank.message_text, error) != 0)
            return -1;
        *routing = *item != NULL;
    }
    for (size_t i = 0; *item == NULL && i < sizeof sources / sizeof *sources; i++) {
        if (sources[i](kernel, item, error) != 0)
            return -1;
    }
    return 0;
}

static int begin_crank(struct kernel *kernel, bool routing, struct error *error)
{
    struct crank_state *crank = &kernel->crank;

    if (work_item_read(crank->message, &crank->kind, error) != 0 ||
        keys_get_number(kernel, "crankNumber", &crank->view.number, error) != 0 ||
        (crank->message_text.length == 0 &&
         keys_json_text(&crank->message_text, crank->message, error) != 0))
        return -1;
    crank->view.type = routing ? "routing" : "delivery";
    crank->view.message_type = work_item_name(crank->kind);
    crank->view.message = buf_string(&crank->message_text);
    if (crank->view.message == NULL)
        return error_memory(error, "work");
    if (kernel->listener.crank_started != NULL)
        kernel->listener.crank_started(kernel->listener.context, &crank->view);
    return 0;
}

/* ---- routing ---- */

/* The target of a message was a promise for an object: from now on it is the object. */
static int retarget(struct kernel *kernel, const char *before, const char *target,
                    struct error *error)
{
    json_t *item = kernel->crank.message;

    if (refcount_decrement(kernel, before, REFCOUNT_KERNEL, error) != 0 ||
        refcount_increment(kernel, target, REFCOUNT_KERNEL, error) != 0)
        return -1;
    return json_object_set_new(item, "target", json_string(target)) == 0
               ? 0
               : error_memory(error, "work");
}

static int to_run_queue(struct kernel *kernel, const char *target, struct error *error)
{
    json_t *item = kernel->crank.message;
    const char *before = json_string_value(json_object_get(item, "target"));

    if (strcmp(before, target) == 0)
        return queue_add_text(kernel, QUEUE_RUN, item, &kernel->crank.message_text, error);
    if (retarget(kernel, before, target, error) != 0)
        return -1;
    return queue_add(kernel, QUEUE_RUN, item, error);
}

static int route_message(struct kernel *kernel, struct error *error)
{
    json_t *item = kernel->crank.message;
    struct routed routed;

    if (route_send(kernel, item, &routed, error) != 0)
        return -1;
    switch (routed.route) {
    case ROUTE_NOWHERE:
        break;
    case ROUTE_VAT:
        return to_run_queue(kernel, routed.target, error);
    case ROUTE_PROMISE:
        return promise_add_message(kernel, routed.target, json_object_get(item, "msg"), error);
    }
    return queue_release_send(kernel, item, error);
}

static int route(struct kernel *kernel, struct kernel_step *step, struct error *error)
{
    struct crank_state *crank = &kernel->crank;
    int result = crank->kind == CRANK_SEND ? route_message(kernel, error)
                                           : queue_add_text(kernel, QUEUE_RUN, crank->message,
                                                            &crank->message_text, error);

    step->work = KERNEL_ROUTED;
    return result == 0 ? crank_finish(kernel, &step->end, error) : -1;
}

static bool is_held_back(enum crank_kind kind)
{
    return kind != CRANK_CLEAN_UP && kind < CRANK_QUARANTINE;
}

/* The work, or what keeps it for later: its vat is in quarantine. */
static int do_or_hold(struct kernel *kernel, struct error *error)
{
    int64_t vat = 0;

    if (is_held_back(kernel->crank.kind) &&
        held_vat_of(kernel, kernel->crank.message, &vat, error) != 0)
        return -1;
    if (vat == 0)
        return deliver_work(kernel, error);
    return operate_is_upgrade(kernel->crank.message)
               ? operate_upgrade(kernel, vat, error)
               : held_add(kernel, vat, kernel->crank.message, error);
}

static int deliver(struct kernel *kernel, struct kernel_step *step, struct error *error)
{
    if (set_savepoint(kernel, error) != 0 || do_or_hold(kernel, error) != 0)
        return -1;
    if (kernel->crank.delivery.under_way) {
        step->work = KERNEL_DELIVERY;
        step->delivery = kernel->crank.delivery.view;
        return 0;
    }
    step->work = KERNEL_ROUTED;
    return crank_finish(kernel, &step->end, error);
}

int kernel_next(struct kernel *kernel, struct kernel_step *step, struct error *error)
{
    bool routing;

    memset(step, 0, sizeof *step);
    if (kernel->crank.under_way)
        return error_set(error, ERROR_SYSTEM, "a delivery is under way");
    kernel->crank.stopped_count = 0;
    kernel->crank.cleaned_up = 0;
    kernel->crank.under_way = true;
    if (set_savepoint(kernel, error) != 0 || take_work(kernel, &routing, error) != 0)
        return -1;
    if (kernel->crank.message == NULL) {
        forget_work(kernel);
        return release_savepoints(kernel, error);
    }
    if (begin_crank(kernel, routing, error) != 0)
        return -1;
    return routing ? route(kernel, step, error) : deliver(kernel, step, error);
}
