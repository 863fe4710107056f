/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/report/perfetto.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/output/output_file.h"
#include "trace/read/trace_file.h"
#include "trace/read/trace_filler.h"
#include "trace/report/perfetto_lane.h"
#include "trace/report/perfetto_packet.h"

enum {
    PROCESSES_MAX = 65536,
    WRITE_AT = 1 << 20,
    VAT_SEQUENCES = 1 << 30, /* from here on; below are threads */
};

struct process {
    json_t *about, *functions;   /* owned: its blocks; NULL: not met */
    struct perfetto_names names; /* borrowed from `functions`; the array is owned */
    struct perfetto_lane *lanes[TRACE_LANES_MAX]; /* owned; NULL: no event yet */
};

struct conversion {
    const char *trace;
    struct output_file file;
    struct buf out;
    struct trace_clock clock;
    bool clock_known;
    struct trace_filler filler;
    struct process *processes;
    size_t process_count, process_capacity;
    uint32_t sequences; /* of threads, so far */
    json_t *vats;       /* owned: of each vatID, {"sequence","time"} */
};

static int bad(const struct conversion *conversion, const char *what, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: a block of the trace has no %s", conversion->trace,
                     what);
}

static int64_t number_in(const json_t *content, const char *name)
{
    return json_integer_value(json_object_get(content, name));
}

static const char *text_in(const json_t *content, const char *name)
{
    const char *text = json_string_value(json_object_get(content, name));

    return text != NULL ? text : "?";
}

/* ---- first: clock, processes and their functions ---- */

static struct process *process_of(struct conversion *conversion, uint32_t number,
                                  struct error *error)
{
    struct process *processes;

    if (number >= PROCESSES_MAX) {
        bad(conversion, "process", error);
        return NULL;
    }
    processes = array_reserve(conversion->processes, &conversion->process_capacity, number + 1,
                              sizeof *processes);
    if (processes == NULL) {
        error_memory(error, "a trace");
        return NULL;
    }
    conversion->processes = processes;
    while (conversion->process_count <= number)
        processes[conversion->process_count++] = (struct process){0};
    return &processes[number];
}

static int keep_functions(struct conversion *conversion, struct process *process, json_t *content,
                          struct error *error)
{
    if (process->functions != NULL || !json_is_array(content))
        return bad(conversion, "new functions", error);
    process->functions = json_incref(content);
    process->names.names = calloc(json_array_size(content) + 1, sizeof(char *));
    if (process->names.names == NULL)
        return error_memory(error, "a trace");
    for (size_t i = 0; i < json_array_size(content); i++) {
        const char *name = json_string_value(json_array_get(json_array_get(content, i), 0));

        process->names.names[i] = name != NULL ? name : "?";
    }
    process->names.count = json_array_size(content);
    return 0;
}

static int keep_clock(struct conversion *conversion, const json_t *content, struct error *error)
{
    const struct trace_moment moment = {(uint64_t)number_in(content, "ticks"),
                                        number_in(content, "mono")};

    if (json_object_get(content, "clock") != NULL)
        return error_set(error, ERROR_INPUT,
                         "%s: its clock counts %s, and says nothing of when calls were, which "
                         "Perfetto shows",
                         conversion->trace, text_in(content, "clock"));
    if (!conversion->clock_known)
        conversion->clock.first = moment;
    conversion->clock.last = moment;
    conversion->clock_known = true;
    return 0;
}

static int perfetto_keep(struct conversion *conversion, const struct trace_block *block,
                         json_t *content, struct error *error)
{
    struct process *process;

    if (block->kind == TRACE_BLOCK_CLOCK)
        return keep_clock(conversion, content, error);
    process = process_of(conversion, block->process, error);
    if (process == NULL)
        return -1;
    if (block->kind == TRACE_BLOCK_FUNCTIONS)
        return keep_functions(conversion, process, content, error);
    if (process->about == NULL)
        process->about = json_incref(content);
    return 0;
}

static int on_first(void *context, const struct trace_block *block, const uint8_t *content,
                    struct error *error)
{
    struct conversion *const conversion = context;
    json_t *json;
    int result;

    if (block->kind != TRACE_BLOCK_CLOCK && block->kind != TRACE_BLOCK_PROCESS &&
        block->kind != TRACE_BLOCK_FUNCTIONS)
        return 0;
    json = json_loadb((const char *)content, block->length, 0, NULL);
    if (json == NULL)
        return bad(conversion, "JSON", error);
    result = perfetto_keep(conversion, block, json, error);
    json_decref(json);
    return result;
}

/* ---- then: deliveries and events ---- */

static int write_if(struct conversion *conversion, size_t at, struct error *error)
{
    if (conversion->out.length < at && !buf_failed(&conversion->out))
        return 0;
    return output_file_write(&conversion->file, &conversion->out, error);
}

/* The vat's track, which is described when it has its first delivery. */
static json_t *vat_of(struct conversion *conversion, const char *vat_id, int64_t begin)
{
    json_t *vat = json_object_get(conversion->vats, vat_id);
    const struct perfetto_track track = {
        .sequence = VAT_SEQUENCES + (uint32_t)json_object_size(conversion->vats),
        .name = vat_id,
        .start = begin,
    };

    if (vat != NULL)
        return vat;
    vat = json_pack("{s:I,s:I,s:I}", "sequence", (json_int_t)track.sequence, "time",
                    (json_int_t)begin, "count", (json_int_t)0);
    if (json_object_set_new(conversion->vats, vat_id, vat) != 0)
        return NULL;
    perfetto_packet_track(&conversion->out, &track);
    return vat;
}

static uint64_t after(json_t *vat, int64_t time)
{
    const int64_t before = number_in(vat, "time");

    if (time <= before)
        return 0;
    (void)json_object_set_new(vat, "time", json_integer(time));
    return (uint64_t)(time - before);
}

static int put_delivery(struct conversion *conversion, const json_t *content, struct error *error)
{
    const int64_t begin = number_in(content, "begin"), end = number_in(content, "end");
    json_t *vat = vat_of(conversion, text_in(content, "vatID"), begin);
    char name[160];
    uint32_t sequence, number;

    if (vat == NULL)
        return error_memory(error, "a trace");
    number = (uint32_t)number_in(vat, "count") + 1;
    sequence = (uint32_t)number_in(vat, "sequence");
    (void)json_object_set_new(vat, "count", json_integer(number));
    snprintf(name, sizeof name, "%.100s #%" PRId64, text_in(content, "method"),
             number_in(content, "deliveryNum"));
    perfetto_packet_begin(&conversion->out, sequence, after(vat, begin), number, name);
    perfetto_packet_end(&conversion->out, sequence, after(vat, end));
    return 0;
}

static struct perfetto_lane *lane_of(struct conversion *conversion, uint32_t process_number,
                                     unsigned lane_number, uint32_t thread, struct error *error)
{
    struct process *process = &conversion->processes[process_number];
    struct perfetto_lane **const lane = &process->lanes[lane_number];
    const struct perfetto_track track = {
        .sequence = conversion->sequences + 1,
        .process = (uint32_t)number_in(process->about, "pid"),
        .thread = thread,
        .name = text_in(process->about, "name"),
        .start = conversion->clock.first.mono,
    };

    if (*lane == NULL)
        *lane = calloc(1, sizeof **lane);
    if (*lane == NULL) {
        error_memory(error, "a trace");
        return NULL;
    }
    if (!(*lane)->begun) {
        conversion->sequences++;
        (*lane)->begun = true;
        (*lane)->sequence = track.sequence;
        (*lane)->ticks = conversion->clock.first.ticks;
        (*lane)->time = track.start;
        perfetto_packet_track(&conversion->out, &track);
    }
    return *lane;
}

static int put_events(struct conversion *conversion, const struct trace_block *block,
                      const uint8_t *content, struct error *error)
{
    struct perfetto_lane *lane;
    struct trace_lane_events of;
    int result;

    if (block->process >= conversion->process_count ||
        conversion->processes[block->process].about == NULL)
        return bad(conversion, "process before its events", error);
    if (trace_filler_read(&conversion->filler, block, content, &of, error) != 0)
        return error_prefix(error, "%s", conversion->trace);
    lane = lane_of(conversion, block->process, of.lane, of.thread, error);
    result = lane == NULL ? -1
                          : perfetto_lane_add(lane, &conversion->out, &conversion->clock,
                                              conversion->processes[block->process].names,
                                              of.events, of.count, error);
    free(of.events);
    return result;
}

/* Another thread may be given the lane: its track begins anew. */
static void end_lane(struct conversion *conversion, const struct trace_block *block,
                     const uint8_t *content)
{
    struct perfetto_lane *lane;
    unsigned number;

    if (!trace_filler_end_lane(&conversion->filler, block, content, &number) ||
        block->process >= conversion->process_count)
        return;
    lane = conversion->processes[block->process].lanes[number];
    if (lane == NULL)
        return;
    perfetto_lane_close(lane, &conversion->out);
    perfetto_lane_free(lane);
    *lane = (struct perfetto_lane){0};
}

static int on_second(void *context, const struct trace_block *block, const uint8_t *content,
                     struct error *error)
{
    struct conversion *const conversion = context;
    json_t *json;
    int result = 0;

    if (trace_filler_takes(block)) {
        result = put_events(conversion, block, content, error);
    } else if (block->kind == TRACE_BLOCK_LANE_ENDED) {
        end_lane(conversion, block, content);
    } else if (block->kind == TRACE_BLOCK_DELIVERY) {
        json = json_loadb((const char *)content, block->length, 0, NULL);
        result =
            json != NULL ? put_delivery(conversion, json, error) : bad(conversion, "JSON", error);
        json_decref(json);
    }
    return result == 0 ? write_if(conversion, WRITE_AT, error) : -1;
}

/* ---- all of it ---- */

static int convert(struct conversion *conversion, struct error *error)
{
    bool torn;

    conversion->vats = json_object();
    if (conversion->vats == NULL)
        return error_memory(error, "a trace");
    if (trace_file_read(conversion->trace, on_first, conversion, &torn, error) != 0)
        return -1;
    if (!conversion->clock_known)
        return bad(conversion, "clock", error);
    if (trace_file_read(conversion->trace, on_second, conversion, &torn, error) != 0)
        return -1;
    return write_if(conversion, 0, error);
}

static void free_conversion(struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->process_count; i++) {
        struct process *const process = &conversion->processes[i];

        for (size_t lane = 0; lane < TRACE_LANES_MAX; lane++) {
            if (process->lanes[lane] != NULL)
                perfetto_lane_free(process->lanes[lane]);
            free(process->lanes[lane]);
        }
        json_decref(process->about);
        json_decref(process->functions);
        free(process->names.names);
    }
    free(conversion->processes);
    json_decref(conversion->vats);
    trace_filler_free(&conversion->filler);
    buf_free(&conversion->out);
}

int perfetto_write(const char *trace, const char *path, struct error *error)
{
    struct conversion conversion = {.trace = trace};
    int result;

    if (output_file_check(path, "the trace for Perfetto", trace, error) != 0 ||
        output_file_open(&conversion.file, path, "the trace for Perfetto", error) != 0)
        return -1;
    result = convert(&conversion, error);
    if (result == 0)
        result = output_file_finish(&conversion.file, error);
    output_file_discard(&conversion.file);
    free_conversion(&conversion);
    return result;
}
