/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/format.h"
#include "supervisor/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/io.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/visible.h"
#include "kernel/kernel.h"
#include "store/integrity/check.h"
#include "store/store.h"
#include "supervisor/common_options.h"
#include "supervisor/run/delivery_input.h"

/* ---- what a store holds ---- */

/* A store's contents as of the last commit. */

struct status_vat {
    struct kernel_vat vat;
    bool quarantined;
    struct buf quarantine;  /* why; a string */
    int64_t transcript_end; /* how many deliveries its transcript has */
    struct store_sum vatstore;
    bool has_snapshot;
    int64_t snapshot_position; /* how many deliveries its last snapshot has */
    struct store_snapshot snapshot;
};

struct status_facts {
    struct status_vat *vats; /* those that live, by their numbers */
    size_t vat_count, vat_capacity;
    struct kernel_queues queues;
    int64_t cranks;
    char activityhash[KERNEL_HASH_SIZE];
    struct input_place input;
    struct store_sums sums;
};

static int read_vat(struct status_vat *status, struct store *store, struct error *error)
{
    const struct kernel_vat *vat = &status->vat;
    int64_t first;

    if (store_transcript_bounds(store, vat->id, vat->incarnation, &first, &status->transcript_end,
                                error) != 0 ||
        store_vat_sum(store, vat->id, &status->vatstore, error) != 0)
        return -1;
    return store_snapshot_last(store, vat->id, vat->incarnation, &status->snapshot_position,
                               &status->snapshot, &status->has_snapshot, error);
}

static struct status_vat *status_facts_add_vat(struct status_facts *facts, struct error *error)
{
    struct status_vat *vats =
        array_reserve(facts->vats, &facts->vat_capacity, facts->vat_count + 1, sizeof *facts->vats);

    if (vats == NULL) {
        error_memory(error, "the vats");
        return NULL;
    }
    facts->vats = vats;
    vats[facts->vat_count] = (struct status_vat){0};
    return &vats[facts->vat_count++];
}

static int read_vats(struct status_facts *facts, struct kernel *kernel, struct store *store,
                     struct error *error)
{
    int64_t id = 0;
    bool found;

    while (kernel_vat_next(kernel, id, &id, &found, error) == 0) {
        struct status_vat *vat;

        if (!found)
            return 0;
        vat = status_facts_add_vat(facts, error);
        if (vat == NULL || kernel_vat_get(kernel, id, &vat->vat, &found, error) != 0 ||
            kernel_quarantine_reason(kernel, id, &vat->quarantined, &vat->quarantine, error) != 0 ||
            read_vat(vat, store, error) != 0)
            return -1;
    }
    return -1;
}

static int read_kernel(struct status_facts *facts, struct store *store, struct error *error)
{
    const struct kernel_options options = {0};
    struct kernel *kernel = kernel_open(store, &options, error);
    int result;

    if (kernel == NULL)
        return -1;
    result = kernel_require_state(kernel, error);
    if (result == 0)
        result = read_vats(facts, kernel, store, error);
    if (result == 0)
        result = kernel_queues(kernel, &facts->queues, error);
    if (result == 0)
        result = kernel_position(kernel, &facts->cranks, facts->activityhash, error);
    kernel_close(kernel);
    return result;
}

/* All in one transaction, so that every figure is of the same moment. */
static int status_facts_read_all(struct status_facts *facts, struct store *store,
                                 struct error *error)
{
    if (store_transaction_begin(store, error) != 0 || store_require_usable(store, error) != 0 ||
        read_kernel(facts, store, error) != 0 || input_place_open(&facts->input, store, error) != 0)
        return -1;
    return store_sum_all(store, &facts->sums, error);
}

/* Reads the store in this directory, also while a run uses it. -1 with ERROR_INPUT or ERROR_SYSTEM;
 * status_facts_free() in any case. */
static int status_facts_read(struct status_facts *facts, const char *directory, struct error *error)
{
    struct store *store = store_open_reader(directory, error);
    int result;

    *facts = (struct status_facts){0};
    if (store == NULL)
        return -1;
    result = status_facts_read_all(facts, store, error);
    store_close(store);
    return result;
}

static void status_facts_free(struct status_facts *facts)
{
    for (size_t i = 0; i < facts->vat_count; i++) {
        kernel_vat_free(&facts->vats[i].vat);
        buf_free(&facts->vats[i].quarantine);
    }
    free(facts->vats);
}

/* ---- output ---- */

/* A part of the store's file, by name. */
struct part {
    const char *name; /* in columns */
    const char *field;
    const struct store_sum *sum;
};

enum { PARTS = 5 };

static void list_parts(const struct store_sums *sums, struct part parts[PARTS])
{
    const struct part list[PARTS] = {
        {"kernel's keys", "keys", &sums->keys},
        {"vatstores", "vatstores", &sums->vatstores},
        {"transcripts", "transcripts", &sums->transcripts},
        {"snapshots", "snapshots", &sums->snapshots},
        {"bundles", "bundles", &sums->bundles},
    };

    memcpy(parts, list, sizeof list);
}

static const char *runtime_name(const struct kernel_vat *vat)
{
    return vat->runtime == KERNEL_VAT_PLAIN ? "plain" : "liveslots";
}

/* ---- JSON lines ---- */

static void status_output_put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_value_write_string(out, text, strlen(text));
}

static void put_status_integer(struct buf *out, const char *name, int64_t number)
{
    buf_printf(out, ",\"%s\":%" PRId64, name, number);
}

static void put_json_snapshot(struct buf *out, const struct status_vat *status)
{
    buf_append_string(out, ",\"snapshot\":");
    if (!status->has_snapshot) {
        buf_append_string(out, "null");
        return;
    }
    buf_printf(out, "{\"position\":%" PRId64, status->snapshot_position);
    status_output_put_text(out, "hash", status->snapshot.hash);
    put_status_integer(out, "size", status->snapshot.size);
    put_status_integer(out, "compressedSize", status->snapshot.compressed_size);
    buf_append_byte(out, '}');
}

static void put_json_vat(struct buf *out, const struct status_vat *status)
{
    const struct kernel_vat *vat = &status->vat;

    buf_printf(out, "{\"kind\":\"vat\",\"vatID\":\"v%" PRId64 "\"", vat->id);
    status_output_put_text(out, "vat", vat->name);
    status_output_put_text(out, "runtime", runtime_name(vat));
    buf_printf(out, ",\"dynamic\":%s", vat->dynamic ? "true" : "false");
    put_status_integer(out, "incarnation", vat->incarnation);
    put_status_integer(out, "deliveries", vat->deliveries);
    put_status_integer(out, "transcript", status->transcript_end);
    put_json_snapshot(out, status);
    put_status_integer(out, "keys", status->vatstore.items);
    put_status_integer(out, "bytes", status->vatstore.bytes);
    status_output_put_text(out, "bundle", vat->bundle_id);
    if (status->quarantined) {
        buf_append_string(out, ",\"quarantine\":");
        json_value_write_string(out, status->quarantine.data, status->quarantine.length);
    }
    buf_append_string(out, "}\n");
}

static void put_json_parts(struct buf *out, const struct store_sums *sums)
{
    struct part parts[PARTS];

    list_parts(sums, parts);
    for (int i = 0; i < PARTS; i++)
        buf_printf(out, ",\"%s\":{\"items\":%" PRId64 ",\"bytes\":%" PRId64 "}", parts[i].field,
                   parts[i].sum->items, parts[i].sum->bytes);
}

static void put_json_store(struct buf *out, const struct status_facts *facts, const char *directory)
{
    buf_append_string(out, "{\"kind\":\"store\"");
    status_output_put_text(out, "store", directory);
    put_status_integer(out, "cranks", facts->cranks);
    status_output_put_text(out, "activityHash", facts->activityhash);
    put_status_integer(out, "ready", facts->queues.ready);
    put_status_integer(out, "waiting", facts->queues.waiting);
    put_status_integer(out, "inputLines", facts->input.lines);
    buf_printf(out, ",\"inputDone\":%s", facts->input.done ? "true" : "false");
    put_status_integer(out, "fileBytes", facts->sums.file_bytes);
    put_status_integer(out, "freeBytes", facts->sums.free_bytes);
    put_json_parts(out, &facts->sums);
    buf_append_string(out, "}\n");
}

/* ---- columns ---- */

enum { NAME_WIDTH = 16, SIZE_TEXT = 16, PLACE_TEXT = 24 };

/* "999 B", "1.2 MB": powers of ten, as disks are sold. */
static const char *size_text(char text[SIZE_TEXT], int64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double size = (double)bytes;
    size_t unit = 0;

    for (; size >= 999.5 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        size /= 1000;
    snprintf(text, SIZE_TEXT, "%.*f %s", unit == 0 || size >= 99.95 ? 0 : 1, size, units[unit]);
    return text;
}

/* The columns are so wide; without three of them they fit into 80 characters. */
enum { VATS_WIDTH = 92 + NAME_WIDTH };

static bool is_narrow_column(void)
{
    const size_t width = visible_width(STDOUT_FILENO);

    return width > 0 && width < VATS_WIDTH;
}

static void put_vat_status(struct buf *out, const struct status_vat *status, bool narrow)
{
    const struct kernel_vat *vat = &status->vat;
    char place[PLACE_TEXT] = "-", heap[SIZE_TEXT] = "-", bytes[SIZE_TEXT];

    if (status->has_snapshot) {
        snprintf(place, sizeof place, "%" PRId64, status->snapshot_position);
        size_text(heap, status->snapshot.size);
    }
    buf_printf(out, "v%-5" PRId64 " %-*s %-9s", vat->id, NAME_WIDTH, vat->name, runtime_name(vat));
    if (narrow)
        buf_printf(out, " %10" PRId64, vat->deliveries);
    else
        buf_printf(out, " %11" PRId64 " %10" PRId64 " %10" PRId64 " %11s", vat->incarnation,
                   vat->deliveries, status->transcript_end, place);
    buf_printf(out, " %9s %8" PRId64 " %9s\n", heap, status->vatstore.items,
               size_text(bytes, status->vatstore.bytes));
}

static void put_quarantine(struct buf *out, const struct status_vat *status)
{
    if (status->quarantined)
        buf_printf(out, "v%" PRId64 " is in quarantine: %.*s\n", status->vat.id,
                   (int)status->quarantine.length, status->quarantine.data);
}

static void put_vat_table(struct buf *out, const struct status_facts *facts)
{
    const bool narrow = is_narrow_column();

    buf_printf(out, "%-6s %-*s %-9s", "vat", NAME_WIDTH, "name", "runtime");
    if (narrow)
        buf_printf(out, " %10s", "deliveries");
    else
        buf_printf(out, " %11s %10s %10s %11s", "incarnation", "deliveries", "transcript",
                   "snapshot at");
    buf_printf(out, " %9s %8s %9s\n", "heap", "keys", "store");
    for (size_t i = 0; i < facts->vat_count; i++)
        put_vat_status(out, &facts->vats[i], narrow);
    for (size_t i = 0; i < facts->vat_count; i++)
        put_quarantine(out, &facts->vats[i]);
    if (facts->vat_count == 0)
        buf_append_string(out, "no vat lives\n");
}

static void put_store_parts(struct buf *out, const struct store_sums *sums)
{
    struct part parts[PARTS];
    char text[SIZE_TEXT];

    list_parts(sums, parts);
    for (int i = 0; i < PARTS; i++)
        buf_printf(out, "%-14s %10" PRId64 " %9s\n", parts[i].name, parts[i].sum->items,
                   size_text(text, parts[i].sum->bytes));
}

static void put_store(struct buf *out, const struct status_facts *facts, const char *directory)
{
    char file[SIZE_TEXT], unused[SIZE_TEXT];

    buf_printf(out, "%s: %s, of which %s are free\n", directory,
               size_text(file, facts->sums.file_bytes), size_text(unused, facts->sums.free_bytes));
    buf_printf(out, "cranks    %" PRId64 "; activity hash %s\n", facts->cranks,
               facts->activityhash);
    buf_printf(out, "queue     %" PRId64 " ready, %" PRId64 " waiting for promises\n",
               facts->queues.ready, facts->queues.waiting);
    buf_printf(out, "input     %" PRId64 " %s accepted, %s\n\n", facts->input.lines,
               format_plural((uint64_t)facts->input.lines, "line", "lines"),
               facts->input.done ? "to the end" : "and not its end");
}

static void put_store_status(struct buf *out, const struct status_facts *facts,
                             const char *directory, bool json)
{
    if (json) {
        for (size_t i = 0; i < facts->vat_count; i++)
            put_json_vat(out, &facts->vats[i]);
        put_json_store(out, facts, directory);
    } else {
        put_store(out, facts, directory);
        put_vat_table(out, facts);
        buf_append_byte(out, '\n');
        put_store_parts(out, &facts->sums);
    }
}

/* Prints them to stdout, in columns or as JSON lines: one for each vat, then one of the store. */
static int status_output(const struct status_facts *facts, const char *directory, bool json,
                         struct error *error)
{
    struct buf out = {0};
    int result = 0;

    put_store_status(&out, facts, directory, json);
    if (buf_failed(&out))
        result = error_memory(error, "the output");
    else if (visible_write(STDOUT_FILENO, out.data, out.length) != 0)
        result = io_fail_stdout("cannot write the status to stdout", error);
    buf_free(&out);
    return result;
}

/* ---- the command ---- */

struct status_options {
    const char *store; /* directory; borrowed from argv */
    bool json;
};

static const struct option_row rows[] = {
    {"store", "DIR", "the same as the operand DIR", OPTION_IS_TEXT(struct status_options, store)},
    {COMMON_OPTION_JSON(struct status_options, json)},
};

const struct option_table status_options_table = {
    .program = "gaspipe",
    .command = "status",
    .usage = "usage: gaspipe status [options] DIR\n"
             "\n"
             "Shows what a store of gaspipe run contains: its vats, what is queued, how much of "
             "the deliveries file was read, and how large its parts are. It reads what was "
             "last committed, even while a run is using the store, and changes nothing.\n",
    .ending = "Exit status: 0 success, 2 usage, 3 bad input, 4 system failure.",
    .rows = rows,
    .row_count = sizeof rows / sizeof *rows,
};

static enum option_result parse(struct status_options *options, int argc, char **argv,
                                struct error *error)
{
    char **operands;
    enum option_result result =
        option_parse(&status_options_table, argc, argv, options, &operands, error);

    return result == OPTION_TAKEN ? common_options_take_store(&options->store, operands, error)
                                  : result;
}

static int show_status(const struct status_options *options, struct error *error)
{
    struct status_facts facts;
    int result = status_facts_read(&facts, options->store, error);

    if (result == 0)
        result = status_output(&facts, options->store, options->json, error);
    status_facts_free(&facts);
    return result;
}

int status_command(int argc, char **argv)
{
    struct status_options options = {0};
    struct error error;
    enum option_result parsed = parse(&options, argc, argv, &error);

    if (parsed != OPTION_TAKEN)
        return option_end(&status_options_table, parsed, &error);
    if (show_status(&options, &error) == 0)
        return 0;
    log_line("%s", error.text);
    return (int)error.kind;
}
