/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/number.h"
#include "base/visible.h"
#include "supervisor/runtime/contract_file.h"

/* ---- columns ---- */

enum {
    VAT_WIDTH = 10,
    METHOD_WIDTH = 20,
    METHOD_LEAST = 8,
    RESULT_WIDTH = 70,
    RESULT_LEAST = 20,
    RESULT_INDENT = 8,
    PLAIN_WIDTH = 66, /* the crank up to "total ms", but for the method */
    PARTS_WIDTH = 36, /* pipe, worker, kernel */
    ENDING = 5,       /* of a result that is cut: the blanks before it, and "..." */
};

static size_t at_most(size_t number, size_t most)
{
    return number < most ? number : most;
}

struct output_layout output_layout(size_t width, size_t more)
{
    struct output_layout layout = {
        .vat_width = VAT_WIDTH,
        .method_width = METHOD_WIDTH,
        .parts = true,
        .result_width = RESULT_WIDTH,
    };
    const size_t plain = PLAIN_WIDTH + more;
    size_t used;

    if (width == 0) {
        layout.result_width = SIZE_MAX; /* a file or pipe has the whole of it */
        return layout;
    }
    layout.cuts = true;
    layout.parts = width >= plain + METHOD_WIDTH + PARTS_WIDTH;
    if (width < plain + METHOD_WIDTH)
        layout.method_width =
            width > plain + METHOD_LEAST ? (int)(width - plain) : (int)METHOD_LEAST;
    used = plain + (size_t)layout.method_width + (layout.parts ? PARTS_WIDTH : 0) + ENDING;
    layout.result_below = width < used + RESULT_LEAST;
    if (layout.result_below)
        used = RESULT_INDENT + ENDING;
    layout.result_width =
        at_most(width > used + RESULT_LEAST ? width - used : RESULT_LEAST, RESULT_WIDTH);
    return layout;
}

/* ---- output ---- */

/* Widths of optional columns; the first includes the space before it. */
enum { COST_COLUMN = 15, GAS_WIDTH = 20 };

static struct output_layout layout_for(const struct output *output)
{
    const size_t gas_columns = (output->gas != NULL) + (size_t)output->burns;

    return output_layout(visible_width(STDOUT_FILENO),
                         (output->costs ? COST_COLUMN : 0) + gas_columns * (1 + GAS_WIDTH));
}

void output_init(struct output *output, bool json, bool costs, const struct gas_model *gas)
{
    const char *no_colour = getenv("NO_COLOR");

    *output = (struct output){
        .json = json,
        .costs = costs,
        .gas = gas,
    };
    output->layout = layout_for(output);
    output->terminal = !json && isatty(STDOUT_FILENO);
    output->colour = output->terminal && (no_colour == NULL || no_colour[0] == '\0');
}

void output_show_burnt(struct output *output)
{
    output->burns = true;
    output->layout = layout_for(output);
}

void output_advance(struct output *output, enum output_stage stage)
{
    if (stage == OUTPUT_KEPT)
        output->marks[stage] = (struct output_mark){spool_length(&output->gathered), output->sums};
    else
        output->marks[stage] = output->marks[stage - 1];
}

void output_undo(struct output *output)
{
    spool_truncate(&output->gathered, output->marks[OUTPUT_KEPT].bytes);
    output->sums = output->marks[OUTPUT_KEPT].sums;
}

static int print_gathered(struct output *output, size_t length, struct error *error)
{
    struct spool *gathered = &output->gathered;
    struct iovec bytes;
    int result = 0;

    if (spool_map(gathered, &bytes, error) != 0)
        return -1;
    if (visible_write(STDOUT_FILENO, bytes.iov_base, length) != 0) {
        output->closed = errno == EPIPE;
        result = error_system(error, errno, "cannot write the results to stdout");
    }
    spool_unmap(gathered, bytes);
    return result;
}

int output_flush(struct output *output, struct error *error)
{
    struct spool *gathered = &output->gathered;
    const struct output_mark durable = output->marks[OUTPUT_SYNCING];
    int result = 0;

    if (output->broken)
        return error_set(error, ERROR_SYSTEM, "cannot write the results to stdout");
    if (durable.bytes > 0)
        result = print_gathered(output, durable.bytes, error);
    output->broken = result != 0;
    spool_consume(gathered, durable.bytes);
    for (int stage = 0; stage < OUTPUT_STAGES; stage++)
        output->marks[stage].bytes -= durable.bytes;
    output->printed = durable.sums;
    return result;
}

int output_flush_all(struct output *output, struct error *error)
{
    for (int stage = 0; stage < OUTPUT_STAGES; stage++)
        output_advance(output, stage);
    return output_flush(output, error);
}

void output_drop(struct output *output)
{
    spool_truncate(&output->gathered, 0);
    output->sums = output->printed;
    for (int stage = 0; stage < OUTPUT_STAGES; stage++)
        output->marks[stage] = (struct output_mark){0, output->printed};
}

void output_free(struct output *output)
{
    spool_free(&output->gathered);
    buf_free(&output->line);
}

/* The lines made are gathered. */
static int gather(struct output *output, struct error *error)
{
    struct buf *line = &output->line;
    const int result = buf_failed(line) ? error_memory(error, "a line of output") : 0;

    if (result == 0)
        spool_append(&output->gathered, line->data, line->length);
    buf_clear(line);
    return result != 0 ? result : spool_check(&output->gathered, error);
}

static void add_known(int64_t *sum, int64_t number)
{
    if (number != REPORT_NONE)
        *sum = saturate_add(*sum, number);
}

static double known_or_nan(int64_t number)
{
    return number == REPORT_NONE ? (double)NAN : (double)number;
}

/* NAN where it is not known. */
static double gas_of(const struct output *output, const struct delivery_report *report)
{
    const struct gas_usage usage = {.computrons = known_or_nan(report->compute),
                                    .instructions = known_or_nan(report->instructions),
                                    .bytes_read = known_or_nan(report->bytes_read),
                                    .bytes_written = known_or_nan(report->bytes_written),
                                    .syscalls = known_or_nan(report->syscalls),
                                    .block_cost = known_or_nan(report->block_cost)};

    return output->gas != NULL ? gas_model_price_delivery(output->gas, &usage) : (double)NAN;
}

static void add_wait(int64_t *sum, int64_t wait)
{
    *sum += wait > 0 ? wait : 0;
}

static void add_to_sums(struct output *output, const struct delivery_report *report)
{
    double gas = gas_of(output, report);

    output->sums.gas += isnan(gas) ? 0 : gas;
    output->sums.deliveries++;
    output->sums.failed += !report->ok;
    output->sums.counted = output->sums.counted || report->instructions != REPORT_NONE;
    add_known(&output->sums.compute, report->compute);
    add_known(&output->sums.instructions, report->instructions);
    output->sums.cost_known = output->sums.cost_known || report->block_cost != REPORT_NONE;
    add_known(&output->sums.block_cost, report->block_cost);
    output->sums.gas_known = output->sums.gas_known || report->gas_burnt != REPORT_NONE;
    add_known(&output->sums.gas_burnt, report->gas_burnt);
    add_known(&output->sums.total, report->total);
    add_known(&output->sums.pipe, report->pipe);
    add_known(&output->sums.worker, report->worker);
    add_known(&output->sums.kernel, report->kernel);
    add_wait(&output->sums.cpu_waits.gaspipe, report->cpu_waits.gaspipe);
    add_wait(&output->sums.cpu_waits.worker, report->cpu_waits.worker);
    model_waits_add(&output->sums.waits, &report->waits);
}

/* ---- JSON lines ---- */

static void put_output_string(struct buf *line, const char *name, const char *text)
{
    buf_printf(line, ",\"%s\":", name);
    if (text != NULL)
        json_value_write_string(line, text, strlen(text));
    else
        buf_append_string(line, "null");
}

static void put_integer(struct buf *line, const char *name, int64_t number)
{
    buf_printf(line, ",\"%s\":", name);
    if (number != REPORT_NONE)
        json_text_integer(line, number);
    else
        buf_append_string(line, "null");
}

static void put_time(struct buf *line, const char *name, int64_t nanoseconds)
{
    buf_printf(line, ",\"%s\":", name);
    if (nanoseconds != REPORT_NONE)
        json_text_nanoseconds(line, nanoseconds);
    else
        buf_append_string(line, "null");
}

/* The function that the contract's line calls, if that is the error. */
static void put_callee(struct buf *line, const struct delivery_report *report)
{
    struct buf callee = {0};

    if (callee_find(report->error, report->source, &callee))
        put_output_string(line, "callee", buf_string(&callee));
    buf_free(&callee);
}

/* null if not known; no member without --gas. */
static void put_gas(const struct output *output, struct buf *line, double gas)
{
    if (output->gas == NULL)
        return;
    if (isnan(gas))
        buf_append_string(line, ",\"gas\":null");
    else
        buf_printf(line, ",\"gas\":%.0f", gas);
}

static void put_json_delivery(const struct output *output, struct buf *line,
                              const struct delivery_report *report)
{
    buf_append_string(line, "{\"kind\":\"delivery\"");
    put_output_string(line, "vatID", report->vat_id);
    put_output_string(line, "vat", report->vat);
    put_integer(line, "crankNum", report->crank_num);
    put_integer(line, "deliveryNum", report->delivery_num);
    put_output_string(line, "description", report->description);
    put_output_string(line, "status", report->ok ? "ok" : "error");
    buf_printf(line, ",\"result\":%s", report->result != NULL ? report->result : "null");
    put_output_string(line, "error", report->error);
    if (report->stack != NULL)
        put_output_string(line, "stack", report->stack);
    if (report->source != NULL)
        put_output_string(line, "source", report->source);
    put_callee(line, report);
    put_integer(line, "compute", report->compute);
    put_integer(line, "instructions", report->instructions);
    if (report->limited != NULL)
        put_output_string(line, "limited", report->limited);
    if (report->at_least)
        buf_append_string(line, ",\"atLeast\":true");
    if (report->block_cost != REPORT_NONE)
        put_integer(line, "blockCost", report->block_cost);
    if (report->gas_burnt != REPORT_NONE)
        put_integer(line, "gasBurnt", report->gas_burnt);
    if (report->gas_refunded != REPORT_NONE)
        put_integer(line, "gasRefunded", report->gas_refunded);
    if (report->gas_profile.iov_len > 0)
        buf_printf(line, ",\"gasProfile\":%.*s", (int)report->gas_profile.iov_len,
                   (const char *)report->gas_profile.iov_base);
    put_gas(output, line, gas_of(output, report));
    put_time(line, "total", report->total);
    put_time(line, "pipe", report->pipe);
    put_time(line, "worker", report->worker);
    put_time(line, "kernel", report->kernel);
    buf_append_string(line, "}\n");
}

static void put_json_result(struct buf *line, const struct output_result *result)
{
    buf_append_string(line, "{\"kind\":\"result\"");
    put_output_string(line, "place", result->place);
    put_output_string(line, "status", result->fulfilled ? "fulfilled" : "rejected");
    buf_printf(line, ",\"value\":%s%s}\n", result->value, result->again ? ",\"again\":true" : "");
}

void output_result_write(struct buf *line, const struct output_result *result)
{
    const struct output_result first = {
        .place = result->place, .fulfilled = result->fulfilled, .value = result->value};

    put_json_result(line, &first);
}

static void put_json_summary(const struct output *output, struct buf *line, double seconds)
{
    const struct output_sums *sums = &output->printed;

    buf_append_string(line, "{\"kind\":\"summary\"");
    put_integer(line, "deliveries", sums->deliveries);
    put_integer(line, "failed", sums->failed);
    put_integer(line, "compute", sums->compute);
    put_integer(line, "instructions", sums->counted ? sums->instructions : REPORT_NONE);
    if (sums->cost_known)
        put_integer(line, "blockCost", sums->block_cost);
    if (sums->gas_known)
        put_integer(line, "gasBurnt", sums->gas_burnt);
    put_gas(output, line, sums->gas);
    put_time(line, "total", sums->total);
    put_time(line, "pipe", sums->pipe);
    put_time(line, "worker", sums->worker);
    put_time(line, "kernel", sums->kernel);
    put_integer(line, "results", sums->results);
    put_integer(line, "rejected", sums->rejected);
    put_integer(line, "unresolved", sums->unresolved);
    put_integer(line, "quarantined", output->quarantined);
    put_output_string(line, "sandbox", output->sandbox);
    buf_printf(line, ",\"elapsed\":%.6f}\n", seconds);
}

/* ---- columns ---- */

enum { SOURCE_WIDTH = 70 };

static void put_output_heading(const struct output *output, struct buf *line)
{
    const struct output_layout *layout = &output->layout;

    buf_printf(line, "%6s  %-*s %-*s %-6s %12s %14s", "crank", layout->vat_width, "vat",
               layout->method_width, "method", "status", "computrons", "instructions");
    if (output->costs)
        buf_printf(line, " %14s", "block cost");
    if (output->burns)
        buf_printf(line, " %*s", GAS_WIDTH, "gas burnt");
    if (output->gas != NULL)
        buf_printf(line, " %*s", GAS_WIDTH, "gas");
    buf_printf(line, " %11s", "total ms");
    if (layout->parts)
        buf_printf(line, " %11s %11s %11s", "pipe ms", "worker ms", "kernel ms");
    buf_append_string(line, layout->result_below ? "\n" : "  result\n");
}

/* Digits in groups of three; "-" for an unknown number. */
static void put_count(struct buf *line, int width, int64_t number)
{
    char digits[24] = "-";

    if (number != REPORT_NONE)
        snprintf(digits, sizeof digits, "%" PRId64, number);
    buf_append_byte(line, ' ');
    buf_append_grouped(line, width, digits);
}

/* If it stopped at its limit, it used at least that much. */
static void put_used(struct buf *line, int width, int64_t number, bool least)
{
    struct buf count = {0};

    if (!least) {
        put_count(line, width, number);
        return;
    }
    put_count(&count, 0, number);
    if (buf_string(&count) == NULL)
        line->failed = true;
    else
        buf_printf(line, "%*s>=%s", width - 1 - (int)count.length, "", count.data + 1);
    buf_free(&count);
}

static void put_milliseconds(struct buf *line, int64_t nanoseconds)
{
    if (nanoseconds == REPORT_NONE)
        buf_printf(line, " %11s", "-");
    else
        buf_printf(line, " %11.3f", (double)nanoseconds / 1e6);
}

/* A contract's text, made fit for a terminal. */
static void put_visible(struct buf *line, const char *text, size_t length)
{
    size_t start = line->length;

    if (buf_append(line, text, length) == 0)
        visible_bytes(line->data + start, length);
}

static void put_visible_words(struct buf *line, const char *words)
{
    size_t start = line->length;

    json_value_show_string(line, words, strlen(words));
    if (!buf_failed(line))
        visible_bytes(line->data + start, line->length - start);
}

/* The beginning of a long text: `most` bytes. */
static void put_part(struct buf *line, const char *text, size_t length, size_t most)
{
    size_t shown = length;

    if (shown > most) {
        shown = most;
        while (shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
            shown--; /* not inside a character */
    }
    put_visible(line, text, shown);
    if (shown < length)
        buf_append_string(line, "...");
}

/* A result that is a big integer is shown as its digits in quotes, and undefined not at all. */
static void put_result_line(struct buf *line, const char *before, const char *result, size_t most)
{
    static const char undefined[] = "{\"@value\":\"undefined\"}", bigint[] = "{\"@bigint\":";
    size_t length;

    if (result == NULL || result[0] == '\0' || strcmp(result, "null") == 0 ||
        strcmp(result, undefined) == 0)
        return;
    buf_append_string(line, before);
    length = strlen(result);
    if (strncmp(result, bigint, strlen(bigint)) == 0) {
        result += strlen(bigint);
        length -= strlen(bigint) + 1;
    }
    put_part(line, result, length, most);
}

/* A name in a column; one that is too long moves what follows, or is cut. */
static void output_put_name(struct buf *line, const char *name, int width, bool cuts)
{
    const size_t start = line->length;

    if (cuts)
        buf_printf(line, " %-*.*s", width, width, name);
    else
        buf_printf(line, " %-*s", width, name);
    if (!buf_failed(line))
        visible_bytes(line->data + start, line->length - start);
}

static bool is_least(const struct delivery_report *report, const char *unit)
{
    return report->at_least && strcmp(report->limited, unit) == 0;
}

/* "FILE:LINE: CONTRACT:LINE: " and the error, followed by the contract's line. */
static void put_text_error(struct buf *line, const struct delivery_report *report)
{
    static const char stand_in[] = "contract.js:"; /* what the engine calls every contract */
    const bool placed = strncmp(report->error, stand_in, strlen(stand_in)) == 0;
    const char *file = report->file != NULL ? report->file : "contract.js";
    const long number = contract_file_place(report->stack);
    struct buf callee = {0};

    if (report->place != NULL)
        buf_printf(line, "%s: ", report->place);
    if (placed)
        buf_printf(line, "%s:", file);
    else if (number > 0)
        buf_printf(line, "%s:%ld: ", file, number);
    put_visible_words(line, report->error + (placed ? strlen(stand_in) : 0));
    if (callee_find(report->error, report->source, &callee)) {
        buf_append_string(line, ": ");
        put_visible(line, callee.data, callee.length);
    }
    buf_free(&callee);
    if (report->source == NULL)
        return;
    buf_append_string(line, "  in: ");
    put_part(line, report->source, strlen(report->source), SOURCE_WIDTH);
}

static int64_t whole_gas(double gas)
{
    return isnan(gas) ? REPORT_NONE : gas < 0x1p63 ? (int64_t)gas : INT64_MAX;
}

static void put_text_delivery(const struct output *output, struct buf *line,
                              const struct delivery_report *report)
{
    const char *red = output->colour && (!report->ok || report->rejected) ? "\033[31m" : "";
    const char *plain = *red != '\0' ? "\033[0m" : "";
    const char *status = !report->ok ? "error" : report->rejected ? "rejected" : "ok";
    const int status_width = 6, used_width = 12;
    const struct output_layout *layout = &output->layout;

    if (report->crank_num == REPORT_NONE)
        buf_printf(line, "%6s", "-");
    else
        buf_printf(line, "%6" PRId64, report->crank_num);
    buf_append_byte(line, ' ');
    output_put_name(line, report->vat, layout->vat_width, layout->cuts);
    output_put_name(line, report->method, layout->method_width, layout->cuts);
    buf_printf(line, " %s%-*s%s", red, status_width, status, plain);
    /* "rejected" takes the blanks before the number. */
    put_used(line, report->rejected ? used_width - 2 : used_width, report->compute,
             is_least(report, "computrons"));
    put_used(line, 14, report->instructions, is_least(report, "instructions"));
    if (output->costs)
        put_used(line, 14, report->block_cost, is_least(report, "units"));
    if (output->burns)
        put_count(line, GAS_WIDTH, report->gas_burnt);
    if (output->gas != NULL)
        put_count(line, GAS_WIDTH, whole_gas(gas_of(output, report)));
    put_milliseconds(line, report->total);
    if (layout->parts) {
        put_milliseconds(line, report->pipe);
        put_milliseconds(line, report->worker);
        put_milliseconds(line, report->kernel);
    }
    put_result_line(line, layout->result_below ? "\n          " : "  ", report->result,
                    layout->result_width);
    buf_append_byte(line, '\n');
    if (report->error == NULL)
        return;
    buf_printf(line, "%8s%s", "", red);
    put_text_error(line, report);
    buf_printf(line, "%s\n", plain);
}

/* Liveslots says `target has no method "bidd", has ["bid","close"]`: in the words of plain
 * contracts. */
static void put_missing_method(struct buf *line, const char *message)
{
    static const char begin[] = "target has no method ", list[] = ", has [";
    const char *name = message + strlen(begin), *at = strstr(message, list);

    if (strncmp(message, begin, strlen(begin)) != 0 || at == NULL || at < name) {
        buf_append_string(line, message);
        return;
    }
    buf_printf(line, "no method %.*s; there are: ", (int)(at - name), name);
    for (at += strlen(list); *at != '\0' && *at != ']'; at++) {
        if (*at == ',')
            buf_append_string(line, ", ");
        else if (*at != '"')
            buf_append_byte(line, *at);
    }
}

/* An error that a result was rejected with, as "TypeError: why". False if it is another value. */
static bool put_rejection(struct buf *line, const char *value)
{
    json_t *error = value == NULL ? NULL : json_value_read(value, strlen(value), 0, NULL);
    const json_t *message = json_object_get(error, "#error"),
                 *name = json_object_get(error, "name");
    const bool is_error = json_is_string(message);
    struct buf words = {0}, shown = {0};

    if (is_error) {
        json_value_show_string(&words, json_string_value(message), json_string_length(message));
        buf_append_byte(&words, '\0');
        buf_printf(&shown, "%s: ", json_is_string(name) ? json_string_value(name) : "Error");
        if (!buf_failed(&words))
            put_missing_method(&shown, words.data);
        buf_append_string(line, "  ");
        put_visible(line, shown.data, shown.length);
    }
    buf_free(&words);
    buf_free(&shown);
    json_decref(error);
    return is_error;
}

static void put_text_result(const struct output *output, struct buf *line,
                            const struct output_result *result)
{
    const char *red = output->colour && !result->fulfilled ? "\033[31m" : "";
    const char *plain = *red != '\0' ? "\033[0m" : "";

    if (result->shown)
        return;
    buf_printf(line, "%8s%s%s: %s", "", red, result->place,
               result->fulfilled ? "fulfilled" : "rejected");
    if (result->fulfilled || !put_rejection(line, result->value))
        put_result_line(line, "  ", result->value, output->layout.result_width);
    buf_printf(line, "%s\n", plain);
}

static void put_time_share(struct buf *line, const char *name, int64_t part, int64_t whole)
{
    buf_printf(line, ", %s %.0f %%", name, whole > 0 ? 100.0 * (double)part / (double)whole : 0.0);
}

/* The parts without the waits for a CPU, which are a part of their own from one percent on. */
static void put_time_shares(struct buf *line, const struct output_sums *sums)
{
    const int64_t parts = sums->pipe + sums->worker + sums->kernel;
    const int64_t waited = sums->waits.by_gaspipe + sums->waits.by_worker;
    const struct model_waits waits =
        waited > sums->total / 100 ? sums->waits : (struct model_waits){0};

    buf_printf(line, "\n%.3f ms in deliveries", (double)sums->total / 1e6);
    put_time_share(line, "pipe", sums->pipe - waits.up - waits.down, sums->total);
    put_time_share(line, "worker", sums->worker - waits.worker, sums->total);
    put_time_share(line, "kernel", sums->kernel - waits.kernel, sums->total);
    if (waits.by_gaspipe + waits.by_worker > 0)
        put_time_share(line, "no CPU", waited, sums->total);
    if (parts < sums->total)
        put_time_share(line, "unattributed", sums->total - parts, sums->total);
}

static void put_text_summary(const struct output *output, struct buf *line, double seconds)
{
    const struct output_sums *sums = &output->printed;

    buf_printf(line, "\n%" PRId64 " deliver%s, %" PRId64 " failed, ", sums->deliveries,
               sums->deliveries == 1 ? "y" : "ies", sums->failed);
    if (sums->rejected_later > 0)
        buf_printf(line, "%" PRId64 " result%s rejected, ", sums->rejected_later,
                   sums->rejected_later == 1 ? "" : "s");
    if (sums->unresolved > 0)
        buf_printf(line, "%" PRId64 " unresolved, ", sums->unresolved);
    if (output->quarantined > 0)
        buf_printf(line, "%" PRId64 " vat%s in quarantine, ", output->quarantined,
                   output->quarantined == 1 ? "" : "s");
    buf_printf(line, "in %.3f s;", seconds);
    put_count(line, 0, sums->compute);
    buf_append_string(line, " computrons");
    if (sums->counted) {
        buf_append_byte(line, ',');
        put_count(line, 0, sums->instructions);
        buf_append_string(line, " instructions");
    }
    if (sums->cost_known) {
        buf_append_byte(line, ',');
        put_count(line, 0, sums->block_cost);
        buf_append_string(line, " units of block cost");
    }
    if (sums->gas_known) {
        buf_append_byte(line, ',');
        put_count(line, 0, sums->gas_burnt);
        buf_append_string(line, " gas burnt");
    }
    if (output->gas != NULL) {
        buf_append_byte(line, ',');
        put_count(line, 0, whole_gas(sums->gas));
        buf_append_string(line, " gas");
    }
    put_time_shares(line, sums);
    buf_printf(line, "; %s\n", output->sandbox);
    if (output->terminal && output->slog != NULL)
        buf_printf(line, "next: slogreport summary %s\n", output->slog);
    else if (output->terminal)
        buf_append_string(line, "next: add --slog FILE, then slogreport summary FILE\n");
}

int output_delivery(struct output *output, const struct delivery_report *report,
                    struct error *error)
{
    struct buf *lines = &output->line;

    add_to_sums(output, report);
    if (output->json) {
        put_json_delivery(output, lines, report);
    } else {
        if (!output->begun)
            put_output_heading(output, lines);
        put_text_delivery(output, lines, report);
    }
    output->begun = true;
    return gather(output, error);
}

int output_result(struct output *output, const struct output_result *result, struct error *error)
{
    output->sums.results++;
    output->sums.rejected += !result->fulfilled;
    output->sums.rejected_later += !result->fulfilled && !result->shown;
    output->begun = true;
    if (output->json)
        put_json_result(&output->line, result);
    else
        put_text_result(output, &output->line, result);
    return gather(output, error);
}

int output_unresolved(struct output *output, const char *place, bool again, struct error *error)
{
    struct buf *lines = &output->line;

    output->begun = true;
    if (output->json) {
        buf_append_string(lines, "{\"kind\":\"result\"");
        put_output_string(lines, "place", place);
        put_output_string(lines, "status", "unresolved");
        buf_printf(lines, ",\"value\":null%s}\n", again ? ",\"again\":true" : "");
    } else {
        buf_printf(lines, "%8s%s: unresolved\n", "", place);
    }
    return gather(output, error);
}

int output_summary(struct output *output, double seconds, struct error *error)
{
    if (output->broken)
        return 0; /* that was reported */
    if (output->json)
        put_json_summary(output, &output->line, seconds);
    else
        put_text_summary(output, &output->line, seconds);
    if (gather(output, error) != 0)
        return -1;
    return output_flush_all(output, error);
}
