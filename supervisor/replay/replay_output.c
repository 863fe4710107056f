/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/replay_output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json/json_text.h"

static const char *const aspect_names[] = {
    [REPLAY_SYSCALL] = "syscall",       [REPLAY_RESULT] = "result",
    [REPLAY_COMPUTRONS] = "computrons", [REPLAY_INSTRUCTIONS] = "instructions",
    [REPLAY_SNAPSHOT] = "snapshot",
};

static const char *status_of(const struct replay_vat *vat)
{
    switch (vat->state) {
    case REPLAY_DIFFERS:
        return "differs";
    case REPLAY_SKIPPED:
        return "skipped";
    default:
        return "same";
    }
}

static void put_text(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, ",\"%s\":", name);
    json_text_string(out, text, strlen(text));
}

/* ---- JSON lines ---- */

static void put_side(struct buf *out, const char *name, const struct buf *side)
{
    buf_printf(out, ",\"%s\":", name);
    if (side->length > 0)
        json_text_string(out, side->data, side->length);
    else
        buf_append_string(out, "null");
}

static void put_json_difference(struct buf *out, struct replay_vat *vat)
{
    const struct replay_difference *difference = &vat->difference;

    buf_append_string(out, "{\"kind\":\"difference\"");
    put_text(out, "vatID", vat->id);
    put_text(out, "vat", vat->name);
    buf_printf(out, ",\"deliveryNum\":%" PRId64, difference->delivery_num);
    if (difference->aspect == REPLAY_SYSCALL)
        buf_printf(out, ",\"syscallNum\":%" PRId64, difference->syscall_num);
    else
        buf_append_string(out, ",\"syscallNum\":null");
    put_text(out, "description", buf_string(&vat->description));
    put_text(out, "aspect", aspect_names[difference->aspect]);
    buf_printf(out, ",\"line\":%" PRIu64, difference->line);
    put_side(out, "recorded", &difference->recorded);
    put_side(out, "replayed", &difference->replayed);
    buf_append_string(out, "}\n");
}

static void put_json_counts(struct buf *out, const struct replay_vat *vat)
{
    buf_printf(out,
               ",\"deliveries\":%" PRId64 ",\"syscalls\":%" PRId64 ",\"computed\":%" PRId64
               ",\"compute\":%" PRId64 ",\"counted\":%" PRId64 ",\"instructions\":%" PRId64
               ",\"snapshots\":%" PRId64 ",\"cut\":%" PRId64 "}\n",
               vat->deliveries, vat->syscalls, vat->computed, vat->computrons, vat->counted,
               vat->instructions, vat->snapshots, vat->cut);
}

static void put_json_vat(struct buf *out, const struct replay_vat *vat)
{
    buf_append_string(out, "{\"kind\":\"vat\"");
    put_text(out, "vatID", vat->id);
    put_text(out, "vat", vat->name);
    put_text(out, "status", status_of(vat));
    put_text(out, "why", vat->state == REPLAY_SKIPPED ? vat->why : "");
    put_json_counts(out, vat);
}

static void put_json_sum(struct buf *out, const struct replay_vat *sum, size_t differ,
                         size_t skipped)
{
    buf_printf(out, "{\"kind\":\"summary\",\"differ\":%zu,\"skipped\":%zu", differ, skipped);
    put_json_counts(out, sum);
}

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

static void put_difference(struct buf *out, struct replay_vat *vat, const char *file)
{
    const struct replay_difference *difference = &vat->difference;
    const struct buf *recorded = &difference->recorded, *replayed = &difference->replayed;
    size_t parting = 0;

    while (parting < recorded->length && parting < replayed->length &&
           recorded->data[parting] == replayed->data[parting])
        parting++;
    buf_printf(out, "%s %s: delivery %" PRId64 ", %s: ", vat->id, vat->name,
               difference->delivery_num, buf_string(&vat->description));
    if (difference->aspect == REPLAY_SYSCALL)
        buf_printf(out, "syscall %" PRId64 " differs", difference->syscall_num);
    else
        buf_printf(out, "%s differ%s", aspect_names[difference->aspect],
                   difference->aspect == REPLAY_RESULT || difference->aspect == REPLAY_SNAPSHOT
                       ? "s"
                       : "");
    buf_printf(out, " (%s:%" PRIu64 ")\n", file, difference->line);
    put_near(out, "recorded", recorded, parting);
    put_near(out, "replayed", replayed, parting);
}

/* A sum, or nothing when it is of no deliveries. */
static void put_number(struct buf *out, int width, int64_t number, int64_t deliveries)
{
    if (deliveries > 0)
        buf_printf(out, " %*" PRId64, width, number);
    else
        buf_printf(out, " %*s", width, "-");
}

static void put_vat(struct buf *out, const struct replay_vat *vat)
{
    buf_printf(out, "%-6s %-*s %10" PRId64 " %9" PRId64, vat->id, NAME_WIDTH, vat->name,
               vat->deliveries, vat->syscalls);
    put_number(out, 14, vat->computrons, vat->computed);
    put_number(out, 15, vat->instructions, vat->counted);
    buf_append_string(out, "  ");
    if (vat->state == REPLAY_DIFFERS)
        buf_printf(out, "differs at delivery %" PRId64, vat->difference.delivery_num);
    else if (vat->state == REPLAY_SKIPPED)
        buf_printf(out, "%s: %s", vat->deliveries > 0 ? "same, then not replayed" : "not replayed",
                   vat->why);
    else
        buf_append_string(out, "same");
    if (vat->cut > 0)
        buf_printf(out, "; %" PRId64 " not finished in the recording", vat->cut);
    buf_append_byte(out, '\n');
}

static void put_sum(struct buf *out, const struct replay_vat *sum, size_t count, size_t differ,
                    size_t skipped)
{
    buf_printf(out,
               "%zu vat%s: %" PRId64 " deliveries and %" PRId64
               " syscalls the same, computrons of %" PRId64 " and instructions of %" PRId64
               " deliveries compared",
               count, count == 1 ? "" : "s", sum->deliveries, sum->syscalls, sum->computed,
               sum->counted);
    if (sum->snapshots > 0)
        buf_printf(out, ", %" PRId64 " snapshots the same", sum->snapshots);
    if (differ > 0)
        buf_printf(out, "; %zu differ%s", differ, differ == 1 ? "s" : "");
    if (skipped > 0)
        buf_printf(out, "; %zu not replayed to the end", skipped);
    buf_append_byte(out, '\n');
}

/* ---- all of it ---- */

static void add_vat(struct replay_vat *sum, const struct replay_vat *vat)
{
    sum->deliveries += vat->deliveries;
    sum->syscalls += vat->syscalls;
    sum->computed += vat->computed;
    sum->computrons += vat->computrons;
    sum->counted += vat->counted;
    sum->instructions += vat->instructions;
    sum->snapshots += vat->snapshots;
    sum->cut += vat->cut;
}

static void put_all(struct buf *out, struct replay_vat *const *vats, size_t count, const char *file,
                    bool json)
{
    struct replay_vat sum = {0};
    size_t differ = 0, skipped = 0;

    for (size_t i = 0; i < count; i++)
        if (vats[i]->state == REPLAY_DIFFERS) {
            if (json)
                put_json_difference(out, vats[i]);
            else
                put_difference(out, vats[i], file);
        }
    if (!json)
        buf_printf(out, "%-6s %-*s %10s %9s %14s %15s\n", "vat", NAME_WIDTH, "name", "deliveries",
                   "syscalls", "computrons", "instructions");
    for (size_t i = 0; i < count; i++) {
        differ += vats[i]->state == REPLAY_DIFFERS;
        skipped += vats[i]->state == REPLAY_SKIPPED;
        add_vat(&sum, vats[i]);
        if (json)
            put_json_vat(out, vats[i]);
        else
            put_vat(out, vats[i]);
    }
    if (json)
        put_json_sum(out, &sum, differ, skipped);
    else
        put_sum(out, &sum, count, differ, skipped);
}

int replay_output(struct replay_vat *const *vats, size_t count, const char *file, bool json,
                  struct error *error)
{
    struct buf out = {0};
    int result = 0;

    put_all(&out, vats, count, file, json);
    if (buf_failed(&out))
        result = error_memory(error, "the output");
    else if (io_write_all(STDOUT_FILENO, out.data, out.length) != 0)
        result = error_system(error, errno, "cannot write the results to stdout");
    buf_free(&out);
    return result;
}
