/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/schedule/log/report_builder.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/format.h"
#include "slog/model/describe.h"
#include "supervisor/schedule/log/plain_value.h"

static void clear_builder(struct report_builder *builder)
{
    builder->syscalls = 0;
    buf_clear(&builder->description);
    buf_clear(&builder->method);
    builder->vat_promise = NULL;
    builder->kernel_promise[0] = '\0';
    json_decref(builder->result);
    builder->result = NULL;
    builder->rejected = false;
    delivery_times_clear(&builder->times);
}

void report_builder_free(struct report_builder *builder)
{
    clear_builder(builder);
    buf_free(&builder->description);
    buf_free(&builder->method);
    buf_free(&builder->shown);
    buf_free(&builder->words);
    delivery_times_free(&builder->times);
}

/* ---- what the delivery is ---- */

/* Of ["message",TARGET,{"methargs":CAPDATA,"result":PROMISE or null}]. */
static const json_t *delivered_message(const json_t *delivery)
{
    return json_array_get(delivery, 2);
}

static const char *promise_of(const json_t *delivery)
{
    return json_string_value(json_object_get(delivered_message(delivery), "result"));
}

static void describe_message(struct report_builder *builder)
{
    const struct kernel_delivery *delivery = &builder->delivery;
    const json_t *methargs = json_object_get(delivered_message(delivery->vd_value), "methargs");
    const json_t *body = json_object_get(methargs, "body");
    const char *method, *promise = promise_of(delivery->kd_value);

    builder->vat_promise = promise_of(delivery->vd_value);
    format_text(builder->kernel_promise, KERNEL_REF_SIZE, "%s", promise != NULL ? promise : "");
    describe_method_in_body(json_string_value(body), json_string_length(body), &builder->method);
    method = buf_string(&builder->method);
    if (method == NULL)
        return;
    buf_printf(&builder->description, "(%s)%s%s -> %s",
               json_string_value(json_array_get(delivery->vd_value, 1)),
               method[0] != '\0' ? "." : "()", method,
               builder->vat_promise != NULL ? builder->vat_promise : "null");
}

static void describe_notify(struct report_builder *builder)
{
    const json_t *resolution;
    size_t i;

    buf_append_string(&builder->description, "notify ");
    json_array_foreach(json_array_get(builder->delivery.vd_value, 1), i, resolution)
    {
        buf_printf(&builder->description, "%s%s%s", i > 0 ? "," : "",
                   json_is_true(json_array_get(resolution, 1)) ? "!" : "",
                   json_string_value(json_array_get(resolution, 0)));
    }
}

int report_builder_begin(struct report_builder *builder, const struct kernel_delivery *delivery,
                         const char *vat_name, struct error *error)
{
    clear_builder(builder);
    builder->delivery = *delivery;
    builder->vat_name = vat_name;
    format_text(builder->vat_id, sizeof builder->vat_id, "v%" PRId64, delivery->vat);
    if (strcmp(delivery->dispatch, "message") == 0) {
        describe_message(builder);
    } else {
        buf_append_string(&builder->method, delivery->dispatch);
        if (strcmp(delivery->dispatch, "notify") == 0)
            describe_notify(builder);
        else
            buf_append_string(&builder->description, delivery->dispatch);
    }
    if (buf_string(&builder->description) == NULL || buf_string(&builder->method) == NULL)
        return error_memory(error, "a delivery");
    return 0;
}

/* ---- its result ---- */

void report_builder_take_syscall(struct report_builder *builder, const struct vat_syscall *syscall)
{
    const json_t *resolution;
    size_t i;

    builder->syscalls++;
    if (syscall->resolutions == NULL || builder->vat_promise == NULL)
        return;
    json_array_foreach(syscall->resolutions, i, resolution)
    {
        if (strcmp(json_string_value(json_array_get(resolution, 0)), builder->vat_promise) != 0)
            continue;
        json_decref(builder->result);
        builder->result = json_incref(json_array_get(resolution, 2));
        builder->rejected = json_is_true(json_array_get(resolution, 1));
        return;
    }
}

static int show_result(struct report_builder *builder, struct delivery_report *report,
                       struct error *error)
{
    if (!report->ok || builder->rejected || builder->result == NULL)
        return 0;
    if (plain_value_write(&builder->shown, builder->result, error) != 0)
        return -1;
    report->result = buf_string(&builder->shown);
    return report->result != NULL ? 0 : error_memory(error, "a result");
}

static void fill_meter(struct delivery_report *report, const struct meter *meter)
{
    if (meter == NULL)
        return;
    report->compute = (int64_t)meter->compute;
    if (meter->counted) {
        report->instructions = (int64_t)meter->instructions;
        report->bytes_read = (int64_t)meter->bytes_read;
        report->bytes_written = (int64_t)meter->bytes_written;
    }
    if (meter->cost_known)
        report->block_cost = (int64_t)meter->block_cost;
    if (meter->gas_known)
        report->gas_burnt = (int64_t)meter->gas_burnt;
    if (meter->refund_known)
        report->gas_refunded = (int64_t)meter->gas_refunded;
    report->gas_profile = meter->gas_profile;
    report->profile = meter->profile;
    if (meter->stamp_count > 0) {
        report->worker_began = meter->stamps[0].mono;
        report->worker_ended = meter->stamps[meter->stamp_count - 1].mono;
    }
}

static int64_t *used_of(struct delivery_report *report, enum worker_limit_kind kind)
{
    switch (kind) {
    case WORKER_LIMIT_COMPUTRONS:
        return &report->compute;
    case WORKER_LIMIT_INSTRUCTIONS:
        return &report->instructions;
    case WORKER_LIMIT_COST:
        return &report->block_cost;
    default:
        return NULL;
    }
}

/* Where the worker could not tell what it had used: that much at least. */
static void fill_least(const struct delivery_limit *limit, struct delivery_report *report)
{
    int64_t *used = used_of(report, limit->of.kind);

    if (used == NULL || limit->value <= 0)
        return;
    *used = limit->value;
    report->at_least = true;
}

static int fill_limit(struct report_builder *builder, const struct delivery_end *end,
                      struct delivery_report *report, struct error *error)
{
    const struct delivery_limit *limit = &end->limit;

    if (!end->died || end->problem == NULL || limit->of.name == NULL ||
        (limit->value <= 0 && limit->of.fixed == NULL))
        return 0;
    report->limited = limit->of.name;
    if (end->meter == NULL)
        fill_least(limit, report);
    buf_clear(&builder->words);
    buf_printf(&builder->words, "%s: more than ", end->problem);
    if (limit->value > 0)
        buf_printf(&builder->words, "the %" PRId64 " %s", limit->value, limit->of.what);
    else
        buf_append_string(&builder->words, limit->of.fixed);
    report->error = buf_string(&builder->words);
    return report->error != NULL ? 0 : error_memory(error, "a delivery's error");
}

int report_builder_finish(struct report_builder *builder, const struct delivery_end *end,
                          struct delivery_report *report, struct error *error)
{
    const struct kernel_delivery *delivery = &builder->delivery;

    *report = (struct delivery_report){
        .vat_number = delivery->vat,
        .vat_id = builder->vat_id,
        .vat = builder->vat_name,
        .crank_num = delivery->crank_num,
        .delivery_num = delivery->delivery_num,
        .dispatch = delivery->dispatch,
        .promise = builder->kernel_promise,
        .description = buf_string(&builder->description),
        .method = buf_string(&builder->method),
        .ok = end->problem == NULL,
        .error = end->problem,
        .stack = end->stack,
        .source = end->source,
        .blame = end->blame,
        .compute = REPORT_NONE,
        .instructions = REPORT_NONE,
        .block_cost = REPORT_NONE,
        .gas_burnt = REPORT_NONE,
        .gas_refunded = REPORT_NONE,
        .bytes_read = REPORT_NONE,
        .bytes_written = REPORT_NONE,
        .syscalls = builder->syscalls,
    };
    fill_meter(report, end->meter);
    if (fill_limit(builder, end, report, error) != 0)
        return -1;
    if (delivery_times_fill(&builder->times, end, report, error) != 0)
        return -1;
    return show_result(builder, report, error);
}
