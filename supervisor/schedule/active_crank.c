/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/active_crank.h"

#include <inttypes.h>
#include <string.h>

#include "base/json/json_value.h"
#include "base/log.h"

void active_crank_init(struct active_crank *crank, struct slog_writer *slog)
{
    memset(crank, 0, sizeof *crank);
    delivery_log_init(&crank->log, slog);
}

void active_crank_free(struct active_crank *crank)
{
    delivery_log_free(&crank->log);
}

/* ---- what the kernel reports ---- */

static void crank_on_crank_started(void *context, const struct kernel_crank *started)
{
    struct active_crank *crank = context;

    delivery_log_crank_started(&crank->log, started);
}

static void crank_on_clist_changed(void *context, const struct kernel_clist_change *change)
{
    struct active_crank *crank = context;

    delivery_log_clist_changed(&crank->log, change);
}

static void crank_on_syscall_translated(void *context, const struct kernel_syscall_texts *texts)
{
    struct active_crank *crank = context;

    delivery_log_syscall(&crank->log, crank->syscall, texts, crank->syscall_come);
}

static void crank_on_vat_terminated(void *context, const struct kernel_termination *termination)
{
    struct active_crank *crank = context;

    if (termination->vat == crank->delivery.vat)
        crank->vat_terminated = true;
    delivery_log_vat_terminated(&crank->log, termination);
}

static void crank_on_console(void *context, const char *line)
{
    const struct active_crank *crank = context;

    if (!crank->quiet)
        log_line("%s", line);
}

struct kernel_listener active_crank_kernel_listener(struct active_crank *crank)
{
    return (struct kernel_listener){
        .context = crank,
        .crank_started = crank_on_crank_started,
        .clist_changed = crank_on_clist_changed,
        .syscall_translated = crank_on_syscall_translated,
        .vat_terminated = crank_on_vat_terminated,
        .console = crank_on_console,
    };
}

/* ---- what the kernel knows of its vats, for the warehouse ---- */

int active_crank_register(const struct active_crank *crank, const struct kernel_vat *vat,
                          struct error *error)
{
    const struct warehouse_vat described = {
        .id = vat->id,
        .name = vat->name,
        .bundle_id = vat->bundle_id,
        .dynamic = vat->dynamic,
        .incarnation = vat->incarnation,
        .first_delivery = vat->first_delivery,
        .deliveries = vat->deliveries,
        .limits = vat->limits,
    };

    if (vat->limits.instructions > 0 && !crank->counted)
        return error_set(error, ERROR_INPUT,
                         "vat %s was made with --max-instructions %" PRId64
                         ", which only --counter qemu can enforce",
                         vat->name, vat->limits.instructions);
    if (vat->limits.cost > 0 && !crank->metered)
        return error_set(error, ERROR_INPUT,
                         "vat %s was made with --max-cost %" PRId64
                         ", which only --counter compiled can enforce",
                         vat->name, vat->limits.cost);
    return warehouse_set_vat(crank->warehouse, &described, error);
}

static int register_living(const struct active_crank *crank, int64_t vat, bool *lives,
                           struct error *error)
{
    struct kernel_vat described;
    int result = kernel_vat_get(crank->kernel, vat, &described, lives, error);

    if (result != 0 || !*lives)
        return result;
    result = described.damage == NULL ? active_crank_register(crank, &described, error) : 0;
    kernel_vat_free(&described);
    return result;
}

int active_crank_update_vat(const struct active_crank *crank, int64_t vat, struct error *error)
{
    bool lives;

    return register_living(crank, vat, &lives, error);
}

static int register_receiver(const struct active_crank *crank,
                             const struct kernel_delivery *delivery, struct error *error)
{
    bool lives = true;

    if (!delivery->starts_incarnation && warehouse_knows(crank->warehouse, delivery->vat))
        return 0;
    if (register_living(crank, delivery->vat, &lives, error) != 0)
        return -1;
    return lives ? 0
                 : error_set(error, ERROR_SYSTEM,
                             "the kernel delivers to v%" PRId64 ", which has been terminated",
                             delivery->vat);
}

/* ---- its beginning ---- */

/* A vat that lives restarts at its next delivery. */
static int stop_worker(struct active_crank *crank, int64_t vat, struct error *error)
{
    struct kernel_vat described;
    bool lives;
    int result;

    if (crank->speculation != NULL)
        speculation_withdraw(crank->speculation, vat);
    if (kernel_vat_get(crank->kernel, vat, &described, &lives, error) != 0)
        return -1;
    if (!lives || described.damage != NULL) {
        kernel_vat_free(&described);
        warehouse_remove(crank->warehouse, vat);
        return 0;
    }
    warehouse_evict(crank->warehouse, vat);
    result = active_crank_register(crank, &described, error);
    kernel_vat_free(&described);
    return result;
}

static int end_crank(struct active_crank *crank, const struct kernel_crank_end *end,
                     struct error *error)
{
    for (size_t i = 0; i < end->stopped_count; i++)
        if (stop_worker(crank, end->stopped[i], error) != 0)
            return -1;
    delivery_log_crank_ended(&crank->log, end);
    return delivery_log_check(&crank->log, error);
}

int active_crank_next(struct active_crank *crank, struct kernel_step *step, struct error *error)
{
    delivery_log_start_crank(&crank->log, stamp_now());
    if (kernel_next(crank->kernel, step, error) != 0)
        return -1;
    return step->work == KERNEL_ROUTED ? end_crank(crank, &step->end, error)
                                       : delivery_log_check(&crank->log, error);
}

int active_crank_give_up(struct active_crank *crank, const struct error *damage)
{
    const int64_t vat = damage->damaged_vat;
    struct error ignored;
    bool is;

    if (vat == 0)
        return -1;
    kernel_abandon_crank(crank->kernel);
    if (kernel_vat_is_operated(crank->kernel, vat, &is, &ignored) != 0 || is ||
        kernel_quarantine(crank->kernel, vat, damage->text, &ignored) != 0)
        return -1;
    log_line("vat %s: %s: the vat is in quarantine, the others continue",
             warehouse_name(crank->warehouse, vat), damage->text);
    return 0;
}

int active_crank_deliver(struct active_crank *crank, const struct kernel_delivery *delivery,
                         struct error *error)
{
    if (register_receiver(crank, delivery, error) != 0)
        return -1;
    crank->delivery = *delivery;
    delivery_log_begin(&crank->log, delivery, warehouse_name(crank->warehouse, delivery->vat));
    if (delivery_log_check(&crank->log, error) != 0)
        return -1;
    crank->delivering = true;
    crank->vat_terminated = false;
    if (crank->speculation != NULL)
        speculation_begin(crank->speculation, &crank->delivery);
    else
        warehouse_deliver(crank->warehouse, delivery->vat, crank->delivery.vd);
    return 0;
}

/* ---- what the worker does ---- */

void active_crank_sent(struct active_crank *crank, struct stamp sent)
{
    delivery_log_sent(&crank->log, sent);
}

static void print_console(const char *vat_name, const struct vat_console *console)
{
    struct buf line = {0};
    const json_t *argument;
    size_t i;

    json_array_foreach(console->arguments, i, argument)
    {
        buf_append_byte(&line, ' ');
        if (json_is_string(argument))
            json_value_show_string(&line, json_string_value(argument),
                                   json_string_length(argument));
    }
    if (buf_string(&line) != NULL)
        log_line("%s:%s", vat_name, line.data);
    buf_free(&line);
}

void active_crank_console(struct active_crank *crank, const struct vat_console *console,
                          struct stamp come)
{
    if (delivery_log_console(&crank->log, console, come))
        print_console(warehouse_name(crank->warehouse, crank->delivery.vat), console);
}

/* The worker waits, so the answer goes before the slog's line is written. */
static void answer_vat(struct active_crank *crank, const struct kernel_syscall_texts *texts)
{
    const struct iovec answer = {(char *)texts->vsr, strlen(texts->vsr)};
    const int64_t vat = crank->delivery.vat;
    const struct stamp answered = crank->speculation != NULL
                                      ? speculation_reply(crank->speculation, vat, answer)
                                      : warehouse_reply(crank->warehouse, vat, answer);

    delivery_log_answered(&crank->log, crank->syscall, texts, crank->syscall_come, answered);
}

static void refuse_crank_syscall(struct active_crank *crank, const char *vsc, enum error_kind blame,
                                 const char *reason)
{
    delivery_log_refused(&crank->log, vsc);
    if (crank->speculation != NULL)
        speculation_abort_delivery(crank->speculation, crank->delivery.vat, blame, reason);
    else
        warehouse_abort_delivery(crank->warehouse, crank->delivery.vat, blame, reason);
}

void active_crank_syscall(struct active_crank *crank, const struct vat_syscall *syscall,
                          struct stamp come)
{
    struct kernel_syscall_texts texts;
    struct error problem;

    crank->syscall = syscall;
    crank->syscall_come = come;
    switch (kernel_syscall(crank->kernel, syscall, &texts, &problem)) {
    case KERNEL_OK:
        answer_vat(crank, &texts);
        break;
    case KERNEL_ILLEGAL:
        refuse_crank_syscall(crank, texts.vsc, ERROR_DELIVERY, problem.text);
        break;
    case KERNEL_BROKEN:
        if (problem.is_damage)
            refuse_crank_syscall(crank, texts.vsc, ERROR_INPUT, problem.text);
        else
            delivery_log_fail(&crank->log, &problem);
        break;
    }
}

int active_crank_check(const struct active_crank *crank, struct error *error)
{
    return delivery_log_check(&crank->log, error);
}

/* ---- its end ---- */

static struct kernel_outcome outcome_of(const struct active_crank *crank,
                                        const struct delivery_end *end, bool snapshot_due)
{
    /* As SwingSet's, the kernel keeps nothing of what a worker used that died. */
    const struct meter *meter = end->died ? NULL : end->meter;

    return (struct kernel_outcome){
        .came = meter == NULL          ? KERNEL_CAME_DEAD
                : end->problem != NULL ? KERNEL_CAME_ERROR
                                       : KERNEL_CAME_OK,
        .problem = end->problem,
        .compute = meter != NULL ? (int64_t)meter->compute : -1,
        .instructions = meter != NULL && meter->counted ? (int64_t)meter->instructions : -1,
        .fingerprint = crank->fingerprint,
        .snapshot_follows = meter != NULL && !crank->before_snapshot && snapshot_due,
    };
}

int active_crank_end_delivery(struct active_crank *crank, const struct delivery_end *end,
                              bool snapshot_due, struct kernel_delivery_end *ended,
                              struct delivery_report *report, struct error *error)
{
    const struct kernel_outcome outcome = outcome_of(crank, end, snapshot_due);

    crank->delivering = false;
    if (delivery_log_end(&crank->log, end, report, error) != 0 ||
        kernel_end_delivery(crank->kernel, &outcome, ended, error) != 0 ||
        (!ended->again && end_crank(crank, &ended->end, error) != 0))
        return -1;
    crank->before_snapshot = ended->again && outcome.snapshot_follows;
    report->vat_ended = crank->vat_terminated;
    report->crank_ended = !ended->again;
    return 0;
}

int active_crank_drop(struct active_crank *crank, const char *reason, unsigned tries,
                      struct error *error)
{
    crank->delivering = crank->before_snapshot = false;
    kernel_abandon_crank(crank->kernel);
    delivery_log_host_failure(&crank->log, reason, tries);
    if (delivery_log_check(&crank->log, error) != 0)
        return -1;
    return stop_worker(crank, crank->delivery.vat, error);
}

void active_crank_close(struct active_crank *crank)
{
    kernel_abandon_crank(crank->kernel);
    crank->log.slog = NULL;
}
