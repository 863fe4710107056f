/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "kernel/deliver.h"
#include "kernel/graph/gc.h"
#include "kernel/graph/promise.h"
#include "kernel/graph/queue.h"
#include "kernel/kernel.h"
#include "kernel/lifecycle/operator_work.h"
#include "kernel/lifecycle/vat_lifecycle.h"
#include "kernel/records/capdata.h"
#include "kernel/records/crank_hash.h"
#include "kernel/records/keys.h"
#include "kernel/records/limits.h"
#include "kernel/records/reference.h"
#include "kernel/records/vat_record.h"
#include "kernel/state.h"
#include "store/store.h"

/* A crank's beginning, its work and its end. */

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

    kernel->no_quarantine = kernel->no_operator_work = false; /* undoing may restore deleted rows */
    if (store_savepoint_undo(kernel->store, error) != 0)
        return -1;
    spool_truncate(&kernel->changes, crank->changes_before[--crank->savepoints]);
    kernel->state = crank->state_before[crank->savepoints];
    return 0;
}

/* Undoes the delivery's changes; with `all` also puts the crank's work back into its queue. */
static int crank_undo(struct kernel *kernel, bool all, struct error *error)
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
    crank->in_progress = false;
    crank->vat = 0;
}

/* Collects unreferenced objects, counts the crank, and fills `end`. The crank is over. */
static int crank_finish(struct kernel *kernel, struct kernel_crank_end *end, struct error *error)
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

    if (!kernel->crank.in_progress)
        return;
    /*
     * If the store fails here, only a rollback of the transaction helps, which undoes
     * everything.
     */
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

/*
 * Takes the most urgent work; *routing: the item is only routed. Queued items come with
 * their text.
 */
static int take_work(struct kernel *kernel, bool *routing, struct error *error)
{
    static int (*const sources[])(struct kernel *, json_t **, struct error *) = {
        next_clean_up, gc_action_next, reap_next, next_run};
    json_t **item = &kernel->crank.message;

    *routing = false;
    buf_clear(&kernel->crank.message_text);
    if (operator_work_next(kernel, item, error) != 0)
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

/* The target was a promise that has resolved to an object: address the object. */
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

static bool is_quarantinable(enum crank_kind kind)
{
    return kind != CRANK_CLEAN_UP && kind < CRANK_QUARANTINE;
}

/* Does the work, or holds it if its vat is in quarantine. */
static int do_or_hold(struct kernel *kernel, struct error *error)
{
    int64_t vat = 0;

    if (is_quarantinable(kernel->crank.kind) &&
        quarantine_vat_of(kernel, kernel->crank.message, &vat, error) != 0)
        return -1;
    if (vat == 0)
        return deliver_work(kernel, error);
    return operator_work_is_upgrade(kernel->crank.message)
               ? operator_work_upgrade(kernel, vat, error)
               : quarantine_hold(kernel, vat, kernel->crank.message, error);
}

static int start_crank_delivery(struct kernel *kernel, struct kernel_step *step,
                                struct error *error)
{
    if (set_savepoint(kernel, error) != 0 || do_or_hold(kernel, error) != 0)
        return -1;
    if (kernel->crank.delivery.in_progress) {
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
    if (kernel->crank.in_progress)
        return error_set(error, ERROR_SYSTEM, "a delivery is in progress");
    kernel->crank.stopped_count = 0;
    kernel->crank.cleaned_up = 0;
    kernel->crank.in_progress = true;
    if (set_savepoint(kernel, error) != 0 || take_work(kernel, &routing, error) != 0)
        return -1;
    if (kernel->crank.message == NULL) {
        forget_work(kernel);
        return release_savepoints(kernel, error);
    }
    if (begin_crank(kernel, routing, error) != 0)
        return -1;
    return routing ? route(kernel, step, error) : start_crank_delivery(kernel, step, error);
}

/* Ends deliveries, and applies the consequences to their vats. */

/* ---- judging one delivery ---- */

/* Terminates the vat with a failure, and undoes the delivery. */
static int fail_vat(struct crank_results *results, const char *problem, struct error *error)
{
    results->undo = results->terminate = results->reject = true;
    json_decref(results->info);
    results->info = capdata_error(problem);
    return results->info != NULL ? 0 : error_memory(error, "an outcome");
}

/* A plain vat's error only rejects the message's result. */
static bool spares_vat(const struct kernel *kernel)
{
    return kernel->crank.delivery.runtime == KERNEL_VAT_PLAIN &&
           (kernel->crank.kind == CRANK_SEND || kernel->crank.kind == CRANK_NOTIFY);
}

/* The kernel pays for garbage collection and options; bringOutYourDead runs no user code. */
static bool uses_meter(const struct kernel *kernel)
{
    switch (kernel->crank.kind) {
    case CRANK_SEND:
    case CRANK_NOTIFY:
    case CRANK_START_VAT:
    case CRANK_CREATE_VAT:
    case CRANK_UPGRADE_VAT:
        return kernel->crank.delivery.view.metered;
    default:
        return false;
    }
}

static int meter_suffices(struct kernel *kernel, int64_t compute, bool *suffices,
                          struct error *error)
{
    struct vat_reading reading;
    struct vat_meter meter;
    bool found;
    int result;

    *suffices = true;
    if (compute <= 0 || !uses_meter(kernel) || kernel->crank.delivery.is_reap)
        return 0;
    if (vat_record_read(kernel, kernel->crank.vat, &reading, error) != 0)
        return -1;
    result = vat_meter_get(kernel, reading.record.meter_id, &meter, &found, error);
    vat_record_free(&reading);
    if (result == 0 && found)
        *suffices = meter.remaining == VAT_METER_UNLIMITED || meter.remaining >= compute;
    return result;
}

/* exit() with failure undoes this delivery. */
static void take_exit(struct delivery_state *delivery, struct crank_results *results)
{
    results->terminate = true;
    results->reject = results->undo = delivery->exit_failure;
    json_decref(results->info);
    results->info = delivery->exit_info;
    delivery->exit_info = NULL;
}

/* Checks the gravest outcomes first. */
static int end_delivery_judge(struct kernel *kernel, const struct kernel_outcome *outcome,
                              struct error *error)
{
    struct delivery_state *delivery = &kernel->crank.delivery;
    struct crank_results *results = &kernel->crank.results;
    const char *problem = outcome->problem != NULL ? outcome->problem : "it failed";
    bool suffices;

    if (outcome->compute > 0 && !delivery->is_before_snapshot)
        results->compute += outcome->compute;
    if (delivery->illegal.length > 0)
        return fail_vat(results, buf_string(&delivery->illegal), error);
    if (outcome->came == KERNEL_CAME_ERROR && spares_vat(kernel)) {
        if (delivery->exit_failure && delivery->exit_info != NULL)
            take_exit(delivery, results);
        results->undo = results->rejects_message = true;
        return 0;
    }
    if (outcome->came != KERNEL_CAME_OK)
        return fail_vat(results, problem, error);
    if (meter_suffices(kernel, outcome->compute, &suffices, error) != 0)
        return -1;
    if (!suffices)
        return fail_vat(results, "meter underflow, vat terminated", error);
    if (delivery->exit_info != NULL)
        take_exit(delivery, results);
    return 0;
}

/* ---- keeping the delivery ---- */

static int advance(struct kernel *kernel, struct error *error)
{
    /* SwingSet's transcript has entries for writing and loading the snapshot. */
    enum { PSEUDO_DELIVERIES = 2 };
    const struct delivery_state *delivery = &kernel->crank.delivery;
    struct vat_position position = {
        .incarnation = delivery->view.incarnation,
        .position = delivery->view.position + 1,
        .delivery_num = delivery->view.delivery_num + 1 +
                        (delivery->is_before_snapshot ? PSEUDO_DELIVERIES : 0),
    };

    return vat_record_set_position(kernel, delivery->view.vat, &position, error);
}

static int end_delivery_keep(struct kernel *kernel, const struct kernel_outcome *outcome,
                             struct error *error)
{
    if (transcript_item_keep(kernel, outcome, error) != 0 || advance(kernel, error) != 0)
        return -1;
    return kernel->crank.delivery.is_reap ? reap_clear_dirt(kernel, kernel->crank.vat, error) : 0;
}

static bool has_stopped(const struct kernel *kernel, int64_t vat)
{
    for (size_t i = 0; i < kernel->crank.stopped_count; i++) {
        if (kernel->crank.stopped[i] == vat)
            return true;
    }
    return false;
}

/* Begins the crank's second delivery, if it needs one. */
static int continue_crank(struct kernel *kernel, const struct kernel_outcome *outcome, bool *again,
                          struct error *error)
{
    const struct delivery_state *delivery = &kernel->crank.delivery;
    bool upgrades = kernel->crank.kind == CRANK_UPGRADE_VAT;

    *again = false;
    if (kernel->crank.results.undo || has_stopped(kernel, kernel->crank.vat))
        return 0;
    if (upgrades && !delivery->is_upgrade_end && !kernel->crank.results.terminate) {
        *again = true;
        return deliver_upgraded(kernel, error);
    }
    if (!upgrades && outcome->snapshot_follows && !delivery->is_before_snapshot &&
        delivery->runtime != KERNEL_VAT_PLAIN) {
        *again = true;
        return deliver_before_snapshot(kernel, error);
    }
    return 0;
}

/* ---- ending the crank ---- */

/* Rejects the result of a message that a plain vat answered with an error. */
static int reject_message(struct kernel *kernel, const struct kernel_outcome *outcome,
                          struct error *error)
{
    const json_t *message = json_object_get(kernel->crank.message, "msg");
    const char *result = json_string_value(json_object_get(message, "result"));
    const char *problem = outcome->problem != NULL ? outcome->problem : "it failed";

    if (end_delivery_keep(kernel, outcome, error) != 0)
        return -1;
    if (kernel->crank.kind == CRANK_NOTIFY)
        return refcount_decrement(kernel,
                                  json_string_value(json_object_get(kernel->crank.message, "kpid")),
                                  REFCOUNT_KERNEL, error);
    if (result != NULL && promise_reject(kernel, result, problem, error) != 0)
        return -1;
    return queue_release_send(kernel, kernel->crank.message, error);
}

/* Returns true for work that is not retried, because its vat cannot be made, started or changed. */
static bool is_done_with(const struct kernel *kernel)
{
    return kernel->crank.results.rejects_message || kernel->crank.kind == CRANK_START_VAT ||
           kernel->crank.kind == CRANK_CREATE_VAT || kernel->crank.kind == CRANK_UPGRADE_VAT ||
           kernel->crank.kind == CRANK_CHANGE_OPTIONS;
}

static int notify_threshold(struct kernel *kernel, const char *meter_id,
                            const struct vat_meter *left, struct error *error)
{
    return notify_vat_admin(
        kernel, "meterCrossedThreshold",
        json_pack("[s,o]", meter_id, json_sprintf("+%" PRId64, left->remaining)), json_array(),
        error);
}

/* Charges undone work as well. */
static int deduct_from_meter(struct kernel *kernel, const char *meter_id, struct error *error)
{
    struct vat_meter left;
    bool crossed;

    if (meter_id[0] == '\0' || kernel->crank.results.compute <= 0)
        return 0;
    if (vat_meter_deduct(kernel, meter_id, kernel->crank.results.compute, &left, &crossed, error) !=
        0)
        return -1;
    return crossed ? notify_threshold(kernel, meter_id, &left, error) : 0;
}

/* Reads the meter before anything is undone, since undoing may delete the vat's record. */
static int find_vat_meter(struct kernel *kernel, char meter_id[KERNEL_REF_SIZE],
                          struct error *error)
{
    struct vat_reading reading;

    meter_id[0] = '\0';
    if (!uses_meter(kernel))
        return 0;
    if (vat_record_read(kernel, kernel->crank.vat, &reading, error) != 0)
        return -1;
    if (reading.record.meter_id != NULL && strlen(reading.record.meter_id) < KERNEL_REF_SIZE)
        memcpy(meter_id, reading.record.meter_id, strlen(reading.record.meter_id) + 1);
    vat_record_free(&reading);
    return 0;
}

/* Plain vats are never reaped. */
static int add_reap_dirt(struct kernel *kernel, struct error *error)
{
    const json_t *krefs = json_object_get(kernel->crank.message, "krefs");

    if (kernel->crank.results.undo || kernel->crank.results.terminate ||
        kernel->crank.kind == CRANK_REAP || kernel->crank.kind == CRANK_UPGRADE_VAT ||
        kernel->crank.kind == CRANK_CHANGE_OPTIONS ||
        kernel->crank.delivery.runtime == KERNEL_VAT_PLAIN)
        return 0;
    return reap_add_dirt(kernel, kernel->crank.vat, (int64_t)json_array_size(krefs), error);
}

static int end_vat(struct kernel *kernel, struct error *error)
{
    const struct crank_results *results = &kernel->crank.results;
    struct kernel_termination termination = {.vat = kernel->crank.vat, .reject = results->reject};
    struct buf info = {0};
    int result;

    if (!results->terminate)
        return 0;
    if (kernel->listener.vat_terminated != NULL) {
        if (keys_json_text(&info, results->info, error) != 0 || buf_string(&info) == NULL) {
            buf_free(&info);
            return error_memory(error, "the end of a vat");
        }
        termination.info = info.data;
        kernel->listener.vat_terminated(kernel->listener.context, &termination);
    }
    result = terminate_vat(kernel, kernel->crank.vat, results->reject, results->info, error);
    buf_free(&info);
    return result;
}

/* Notifies the vatAdmin vat about created and upgraded vats. */
static int notify_made(struct kernel *kernel, bool upgraded, struct error *error)
{
    if (kernel->crank.kind == CRANK_UPGRADE_VAT)
        return notify_upgraded(kernel, kernel->crank.vat, kernel->crank.message, upgraded, error);
    if (kernel->crank.kind == CRANK_CREATE_VAT && !kernel->crank.results.terminate)
        return notify_created(kernel, kernel->crank.vat, error);
    return 0;
}

/* Keeps the vat as it was after a failed upgrade; its worker, already upgraded, must stop. */
static int spare_upgrade(struct kernel *kernel, bool *upgraded, struct error *error)
{
    struct crank_results *results = &kernel->crank.results;

    *upgraded = !results->terminate;
    if (kernel->crank.kind != CRANK_UPGRADE_VAT || *upgraded)
        return 0;
    results->terminate = false;
    results->undo = true;
    return terminate_stop_worker(kernel, kernel->crank.vat, error);
}

static int settle_crank(struct kernel *kernel, const struct kernel_outcome *outcome,
                        struct error *error)
{
    char meter_id[KERNEL_REF_SIZE];
    bool upgraded;

    if (find_vat_meter(kernel, meter_id, error) != 0 ||
        spare_upgrade(kernel, &upgraded, error) != 0)
        return -1;
    if (kernel->crank.results.undo && crank_undo(kernel, !is_done_with(kernel), error) != 0)
        return -1;
    if (kernel->crank.results.rejects_message && reject_message(kernel, outcome, error) != 0)
        return -1;
    if (deduct_from_meter(kernel, meter_id, error) != 0 || add_reap_dirt(kernel, error) != 0 ||
        end_vat(kernel, error) != 0)
        return -1;
    return notify_made(kernel, upgraded, error);
}

int kernel_end_delivery(struct kernel *kernel, const struct kernel_outcome *outcome,
                        struct kernel_delivery_end *end, struct error *error)
{
    memset(end, 0, sizeof *end);
    if (!kernel->crank.delivery.in_progress)
        return error_set(error, ERROR_SYSTEM, "no delivery is in progress");
    if (end_delivery_judge(kernel, outcome, error) != 0)
        return -1;
    if (!kernel->crank.results.undo && end_delivery_keep(kernel, outcome, error) != 0)
        return -1;
    if (continue_crank(kernel, outcome, &end->again, error) != 0)
        return -1;
    if (end->again) {
        end->delivery = kernel->crank.delivery.view;
        return 0;
    }
    if (settle_crank(kernel, outcome, error) != 0)
        return -1;
    return crank_finish(kernel, &end->end, error);
}
