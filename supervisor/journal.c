/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "slog/describe.h"
#include "supervisor/journal_slog.h"
#include "supervisor/journal_times.h"
#include "supervisor/plain_value.h"

void journal_init(struct journal *journal, struct slog_writer *slog)
{
    memset(journal, 0, sizeof *journal);
    journal->slog = slog;
}

void journal_free(struct journal *journal)
{
    struct buf *const bufs[] = {&journal->vd, &journal->result, &journal->text,
                                &journal->description, &journal->method};

    for (size_t i = 0; i < sizeof bufs / sizeof bufs[0]; i++)
        buf_free(bufs[i]);
    free(journal->requests);
    journal_times_free(&journal->times);
}

static void clear(struct journal *journal)
{
    buf_clear(&journal->vd);
    buf_clear(&journal->result);
    buf_clear(&journal->description);
    buf_clear(&journal->method);
    journal->result_promise[0] = '\0';
    journal->kernel_promise[0] = '\0';
    journal->rejected = false;
    journal->syscall_num = 0;
    journal->request_count = 0;
    journal->sent = (struct stamp){0};
}

/* ---- what the delivery is ---- */

/* Of ["message",TARGET,{"methargs":…,"result":PROMISE}]; "" where there is none. */
static void take_promise(struct scan_span message, char promise[KERNEL_REF_SIZE])
{
    struct scan_cursor cursor;
    struct scan_span element = {0}, name;

    if (!scan_open(message, '[', &cursor))
        return;
    for (int i = 0; i < 3; i++)
        if (scan_element(&cursor, &element) != SCAN_FOUND)
            return;
    name = scan_string(scan_get(element, "result"));
    if (name.at != NULL && name.length < KERNEL_REF_SIZE)
        snprintf(promise, KERNEL_REF_SIZE, "%.*s", (int)name.length, name.at);
}

static void describe_message(struct journal *journal, struct scan_span vd)
{
    struct scan_cursor cursor;
    struct scan_span element = {0};

    scan_open(vd, '[', &cursor);
    for (int i = 0; i < 3; i++)
        scan_element(&cursor, &element);
    describe_method(element, &journal->method);
    take_promise(vd, journal->result_promise);
}

/* A copy with room behind it: the scanner reads whole blocks. */
static struct scan_span padded(struct buf *buf, const char *text)
{
    buf_clear(buf);
    buf_append_string(buf, text);
    if (buf_reserve(buf, SCAN_PADDING) != 0)
        return (struct scan_span){0};
    memset(buf->data + buf->length, 0, SCAN_PADDING);
    return (struct scan_span){buf->data, buf->length};
}

static int describe(struct journal *journal, struct error *error)
{
    const struct scan_span vd = padded(&journal->vd, journal->delivery.vd);

    if (vd.at == NULL)
        return error_memory(error, "a delivery");
    describe_delivery(vd, &journal->description);
    if (strcmp(journal->delivery.dispatch, "message") == 0) {
        describe_message(journal, vd);
        take_promise(padded(&journal->text, journal->delivery.kd), journal->kernel_promise);
    } else {
        buf_append_string(&journal->method, journal->delivery.dispatch);
    }
    if (buf_string(&journal->description) == NULL || buf_string(&journal->method) == NULL ||
        buf_failed(&journal->text))
        return error_memory(error, "a delivery");
    return 0;
}

int journal_begin(struct journal *journal, const struct kernel_delivery *delivery,
                  const char *vat_name, struct error *error)
{
    clear(journal);
    journal->delivery = *delivery;
    journal->vat_name = vat_name;
    snprintf(journal->vat_id_text, sizeof journal->vat_id_text, "v%" PRId64, delivery->vat);
    journal->common = (struct slog_delivery){
        .crank_num = delivery->crank_num,
        .vat_id = journal->vat_id_text,
        .delivery_num = delivery->delivery_num,
        .dispatch = delivery->dispatch,
    };
    return describe(journal, error);
}

int journal_sent(struct journal *journal, struct stamp sent, struct error *error)
{
    journal->sent = sent;
    return journal_slog_deliver(journal, error);
}

/* ---- what the vat asks and says ---- */

static int note_request(struct journal *journal, struct stamp come, struct stamp answered,
                        struct error *error)
{
    struct journal_request *requests = array_reserve(journal->requests, &journal->request_capacity,
                                                     journal->request_count + 1, sizeof *requests);

    if (requests == NULL)
        return error_memory(error, "a request");
    journal->requests = requests;
    journal->requests[journal->request_count++] = (struct journal_request){come, answered};
    return 0;
}

int journal_understood(struct journal *journal, const struct vat_syscall *syscall, const char *ksc,
                       struct stamp come, struct error *error)
{
    return journal_slog_syscall(journal, syscall, ksc, come, error);
}

/* Whether it resolves the promise of the message in hand: that is what people wait for. */
static int keep_result(struct journal *journal, const struct vat_syscall *syscall,
                       struct error *error)
{
    const json_t *resolution;
    size_t i;

    if (syscall->resolutions == NULL || journal->result_promise[0] == '\0')
        return 0;
    json_array_foreach(syscall->resolutions, i, resolution)
    {
        const char *promise = json_string_value(json_array_get(resolution, 0));

        if (promise == NULL || strcmp(promise, journal->result_promise) != 0)
            continue;
        journal->rejected = json_is_true(json_array_get(resolution, 1));
        return plain_value_keep(&journal->result, json_array_get(resolution, 2), error);
    }
    return 0;
}

int journal_answered(struct journal *journal, const struct vat_syscall *syscall,
                     const struct kernel_syscall_texts *texts, struct stamp come,
                     struct stamp answered, struct error *error)
{
    if (note_request(journal, come, answered, error) != 0 ||
        keep_result(journal, syscall, error) != 0 ||
        journal_slog_syscall_result(journal, syscall, texts, come, answered, error) != 0)
        return -1;
    journal->syscall_num++;
    return 0;
}

int journal_said(struct journal *journal, const struct vat_console *console, struct stamp come,
                 struct error *error)
{
    if (note_request(journal, come, come, error) != 0)
        return -1;
    return journal_slog_console(journal, console, come, error);
}

/* ---- how it ended ---- */

static int fill_report(struct journal *journal, const struct journal_end *end,
                       struct delivery_report *report, struct error *error)
{
    const struct meter *meter = end->meter;

    *report = (struct delivery_report){
        .vat_number = journal->delivery.vat,
        .vat_id = journal->vat_id_text,
        .vat = journal->vat_name,
        .crank_num = journal->delivery.crank_num,
        .delivery_num = journal->common.delivery_num,
        .dispatch = journal->delivery.dispatch,
        .promise = journal->kernel_promise,
        .description = buf_string(&journal->description),
        .method = buf_string(&journal->method),
        .ok = end->problem == NULL,
        .error = end->problem,
        .blame = end->blame,
        .compute = meter != NULL ? (int64_t)meter->compute : REPORT_NONE,
        .instructions =
            meter != NULL && meter->counted ? (int64_t)meter->instructions : REPORT_NONE,
        .processor = meter != NULL && meter->cpu_known
                         ? (meter->cpu.user + meter->cpu.system) * 1000
                         : REPORT_NONE,
        .frames = meter != NULL ? (int64_t)meter->stamp_count : 0,
    };
    if (journal_times_fill(journal, end, report, error) != 0)
        return -1;
    if (!report->ok || journal->rejected || journal->result.length == 0)
        return 0;
    if (plain_value_show(&journal->result, &journal->text, error) != 0)
        return -1;
    report->result = buf_string(&journal->text);
    return 0;
}

int journal_finish(struct journal *journal, const struct journal_end *end,
                   struct delivery_report *report, struct error *error)
{
    if (fill_report(journal, end, report, error) != 0)
        return -1;
    return journal_slog_result(journal, end, error);
}
