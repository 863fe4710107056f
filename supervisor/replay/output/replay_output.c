/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/output/replay_output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/visible.h"

/* ---- columns ---- */

enum { SIDE_WIDTH = 200, SIDE_BEFORE = 80, NAME_WIDTH = 12 };

/* A side, near to where the two part: whole ones fill screens. */
static void put_near(struct buf *out, const char *name, const struct buf *side, size_t parting)
{
    size_t from = parting > SIDE_BEFORE ? parting - SIDE_BEFORE : 0;
    size_t length;

    buf_printf(out, "  %s: ", name);
    if (side->length == 0) {
        buf_append_string(out, "none\n");
        return;
    }
    from = from < side->length ? from : side->length;
    length = side->length - from < SIDE_WIDTH ? side->length - from : SIDE_WIDTH;
    buf_append_string(out, from > 0 ? "…" : "");
    for (size_t i = from; i < from + length; i++)
        buf_append_byte(out, (unsigned char)side->data[i] < 0x20 ? '?' : side->data[i]);
    buf_append_string(out, from + length < side->length ? "…\n" : "\n");
}

static void put_difference(struct buf *out, struct replay_result *vat)
{
    const struct difference *difference = &vat->difference;
    const struct buf *recorded = &difference->recorded, *replayed = &difference->replayed;
    size_t parting = 0;

    while (parting < recorded->length && parting < replayed->length &&
           recorded->data[parting] == replayed->data[parting])
        parting++;
    buf_printf(out, "%s %s: delivery %" PRId64 ", %s: ", vat->id, vat->name, vat->delivery_num,
               buf_string(&vat->description));
    if (difference->aspect == COMPARE_SYSCALL)
        buf_printf(out, "syscall %" PRId64 " differs", difference->syscall_num);
    else
        buf_printf(out, "%s differ%s", compare_aspect_names[difference->aspect],
                   difference->aspect == COMPARE_RESULT || difference->aspect == COMPARE_SNAPSHOT
                       ? "s"
                       : "");
    buf_printf(out, " (%s:%" PRIu64 ")\n", vat->file, difference->line);
    put_near(out, vat->is_against ? "worker" : "recorded", recorded, parting);
    put_near(out, vat->is_against ? "against" : "replayed", replayed, parting);
}

/* A sum, or nothing when it is of no deliveries. */
static void replay_output_put_number(struct buf *out, int width, int64_t number, int64_t deliveries)
{
    if (deliveries > 0)
        buf_printf(out, " %*" PRId64, width, number);
    else
        buf_printf(out, " %*s", width, "-");
}

/* `is_span`: there is more of the same vat. */
static void put_vat(struct buf *out, const struct replay_result *vat, bool is_span)
{
    const struct replay_counts *counts = &vat->counts;

    buf_printf(out, "%-6s %-*s %10" PRId64 " %9" PRId64, vat->id, NAME_WIDTH, vat->name,
               counts->deliveries, counts->syscalls);
    replay_output_put_number(out, 14, counts->computrons, counts->computed);
    replay_output_put_number(out, 15, counts->instructions, counts->counted);
    buf_append_string(out, "  ");
    if (vat->status == REPLAY_DIFFERS)
        buf_printf(out, "differs at delivery %" PRId64, vat->delivery_num);
    else if (vat->status == REPLAY_SKIPPED)
        buf_printf(out, "%s: %s",
                   counts->deliveries > 0 ? "same, then not replayed" : "not replayed", vat->why);
    else
        buf_append_string(out, "same");
    if (is_span && counts->deliveries > 0)
        buf_printf(out, ", deliveries %" PRId64 " to %" PRId64, vat->first_num, vat->delivery_num);
    if (counts->tolerated > 0)
        buf_printf(out, "; %" PRId64 " tolerated", counts->tolerated);
    if (counts->cut > 0)
        buf_printf(out, "; %" PRId64 " not finished in the recording", counts->cut);
    buf_append_byte(out, '\n');
}

/* ---- all of it ---- */

/* Whether the result is of the same vat as the one before it, which is replayed span by span. */
static bool continues(struct replay_result *const *results, size_t index)
{
    return index > 0 && strcmp(results[index]->id, results[index - 1]->id) == 0 &&
           strcmp(results[index]->name, results[index - 1]->name) == 0;
}

struct sum {
    struct replay_counts counts;
    size_t vats, differ, skipped;
};

static struct sum sum_up(struct replay_result *const *results, size_t count)
{
    struct sum sum = {0};

    for (size_t i = 0; i < count; i++) {
        sum.vats += !continues(results, i);
        sum.differ += results[i]->status == REPLAY_DIFFERS;
        sum.skipped += results[i]->status == REPLAY_SKIPPED;
        replay_counts_add(&sum.counts, &results[i]->counts);
    }
    return sum;
}

static void put_sum(struct buf *out, const struct sum *sum)
{
    const struct replay_counts *counts = &sum->counts;

    buf_printf(out,
               "%zu vat%s: %" PRId64 " deliveries and %" PRId64
               " syscalls the same, computrons of %" PRId64 " and instructions of %" PRId64
               " deliveries compared",
               sum->vats, sum->vats == 1 ? "" : "s", counts->deliveries, counts->syscalls,
               counts->computed, counts->counted);
    if (counts->snapshots > 0)
        buf_printf(out, ", %" PRId64 " snapshots the same", counts->snapshots);
    if (counts->priced > 0)
        buf_printf(out, "; %" PRId64 " gas for %" PRId64 " of them", counts->gas, counts->priced);
    if (sum->differ > 0)
        buf_printf(out, "; %zu differ%s", sum->differ, sum->differ == 1 ? "s" : "");
    if (sum->skipped > 0)
        buf_printf(out, "; %zu not replayed to the end", sum->skipped);
    buf_append_byte(out, '\n');
}

static void replay_output_put_text(struct buf *out, struct replay_result *const *results,
                                   size_t count)
{
    struct sum sum = sum_up(results, count);

    for (size_t i = 0; i < count; i++)
        if (results[i]->status == REPLAY_DIFFERS)
            put_difference(out, results[i]);
    buf_printf(out, "%-6s %-*s %10s %9s %14s %15s\n", "vat", NAME_WIDTH, "name", "deliveries",
               "syscalls", "computrons", "instructions");
    for (size_t i = 0; i < count; i++)
        put_vat(out, results[i],
                continues(results, i) || (i + 1 < count && continues(results, i + 1)));
    put_sum(out, &sum);
}

static void put_json(struct buf *out, struct replay_result *const *results, size_t count)
{
    struct sum sum = sum_up(results, count);

    for (size_t i = 0; i < count; i++)
        if (results[i]->status == REPLAY_DIFFERS)
            replay_result_put_difference(out, "difference", results[i], &results[i]->difference);
    for (size_t i = 0; i < count; i++)
        replay_result_put_vat(out, results[i]);
    buf_printf(out, "{\"kind\":\"summary\",\"differ\":%zu,\"skipped\":%zu", sum.differ,
               sum.skipped);
    replay_counts_put(out, &sum.counts);
    buf_append_string(out, "}\n");
}

static int replay_output_print(struct buf *out, struct error *error)
{
    int result = 0;

    if (buf_failed(out))
        result = error_memory(error, "the output");
    else if (visible_write(STDOUT_FILENO, out->data, out->length) != 0)
        result = error_system(error, errno, "cannot write the results to stdout");
    buf_free(out);
    return result;
}

int replay_output(struct replay_result *const *results, size_t count, bool json,
                  struct error *error)
{
    struct buf out = {0};

    if (json)
        put_json(&out, results, count);
    else
        replay_output_put_text(&out, results, count);
    return replay_output_print(&out, error);
}

int replay_output_part(struct replay_result *const *results, size_t count, struct error *error)
{
    struct buf out = {0};

    for (size_t i = 0; i < count; i++) {
        if (results[i]->status == REPLAY_DIFFERS)
            replay_result_put_difference(&out, "difference", results[i], &results[i]->difference);
        replay_result_put_vat(&out, results[i]);
    }
    return replay_output_print(&out, error);
}
