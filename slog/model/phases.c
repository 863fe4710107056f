/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/phases.h"

#include <math.h>
#include <string.h>

#include "slog/model/model.h"

static const char *const names[PHASES] = {
    [PHASE_OTHER] = "other",
    [PHASE_KERNEL_START] = "kernel-start",
    [PHASE_BOOTSTRAP] = "bootstrap",
    [PHASE_UPGRADE] = "upgrade",
    [PHASE_BEGIN_BLOCK] = "begin-block",
    [PHASE_END_BLOCK] = "end-block",
    [PHASE_RUN] = "run",
    [PHASE_CRANK] = "crank",
    [PHASE_DELIVERY] = "delivery",
    [PHASE_VAT_START] = "vat-start",
    [PHASE_REPLAY] = "replay",
    [PHASE_SNAPSHOT_SAVE] = "snapshot-save",
    [PHASE_SNAPSHOT_LOAD] = "snapshot-load",
    [PHASE_VAT_CLEANUP] = "vat-cleanup",
    [PHASE_COMMIT] = "commit",
    [PHASE_AFTER_COMMIT] = "after-commit",
    [PHASE_IDLE] = "idle",
};

const char *phase_name(enum phase phase)
{
    return names[phase];
}

/* ---- time --------------------------------------------------------------------- */

static struct phase_frame *innermost(struct phases *phases)
{
    return &phases->frames[phases->depth - 1];
}

/* Not negative, so that sums of differences cannot overflow. */
static int64_t clock_of(int64_t time, int64_t monotime)
{
    int64_t now = monotime != RECORD_NONE ? monotime : time;

    return now > 0 ? now : 0;
}

static void give_own(struct phases *phases, struct phase_frame *frame, int64_t time)
{
    frame->own += time;
    if (phases->in_block)
        phases->block.own[frame->phase] += time;
}

/*
 * Advances to a line's time, which is the innermost phase's own. Lines of concurrent deliveries
 * may go back a little and then count as of the latest line.
 */
static void phases_advance(struct phases *phases, int64_t time, int64_t monotime)
{
    int64_t now = clock_of(time, monotime), passed = now - phases->now;

    if (time > phases->real)
        phases->real = time;
    if (passed <= 0)
        return;
    phases->now = now;
    give_own(phases, innermost(phases), passed);
}

/* ---- beginning and ending ------------------------------------------------------- */

static void set_word(char word[PHASE_NAME_SIZE], const char *text, size_t length)
{
    if (length >= PHASE_NAME_SIZE)
        length = PHASE_NAME_SIZE - 1;
    memcpy(word, text, length);
    word[length] = '\0';
}

static struct phase_frame *phases_begin(struct phases *phases, enum phase phase, const char *vat_id)
{
    struct phase_frame *frame;

    if (phases->depth == PHASES_DEEPEST)
        return NULL;
    frame = &phases->frames[phases->depth++];
    *frame = (struct phase_frame){.phase = phase, .from = phases->now, .start = phases->real};
    set_word(frame->vat_id, vat_id, strlen(vat_id));
    return frame;
}

static void phases_give_span(struct phases *phases, const struct phase_frame *frame,
                             const struct record *record)
{
    struct phase_span span = {
        .phase = frame->phase,
        .start = frame->start,
        .total = phases->now - frame->from,
        .own = frame->own,
        .vat_id = frame->vat_id,
        .name = frame->name,
        .block_height = phases->in_block ? phases->block.height : RECORD_NONE,
        .beans = NAN,
        .bytes = NAN,
        .stored = NAN,
    };

    /* The file ends with the block's last line: there was no wait. */
    if (frame->phase == PHASE_IDLE && span.total == 0)
        return;
    if (record != NULL && frame->phase == PHASE_RUN)
        span.beans = record_number(record, "usedBeans");
    if (record != NULL && frame->phase == PHASE_SNAPSHOT_SAVE) {
        span.bytes = record_number(record, "uncompressedSize");
        span.stored = record_number(record, "compressedSize");
    }
    phases->own[span.phase] += span.own;
    if (phases->sink->phase != NULL)
        phases->sink->phase(phases->sink->context, &span);
}

/* Ends the frame at `index` and, unless it is a delivery, the frames within it. */
static void end_at(struct phases *phases, size_t index, const struct record *record)
{
    if (phases->frames[index].phase == PHASE_DELIVERY) {
        /* Concurrent deliveries continue. */
        phases_give_span(phases, &phases->frames[index], record);
        phases->depth--;
        memmove(&phases->frames[index], &phases->frames[index + 1],
                (phases->depth - index) * sizeof phases->frames[0]);
        return;
    }
    while (phases->depth > index) {
        phases_give_span(phases, innermost(phases), phases->depth == index + 1 ? record : NULL);
        phases->depth--;
    }
}

/* The innermost frame of this phase, and of this vat if one is given; 0 if none. */
static size_t phases_find(const struct phases *phases, enum phase phase, const char *vat_id)
{
    size_t index = phases->depth - 1;

    while (index > 0 && (phases->frames[index].phase != phase ||
                         (vat_id[0] != '\0' &&
                          strncmp(phases->frames[index].vat_id, vat_id, PHASE_NAME_SIZE - 1) != 0)))
        index--;
    return index;
}

static void phases_end_phase(struct phases *phases, enum phase phase, const char *vat_id,
                             const struct record *record)
{
    size_t index = phases_find(phases, phase, vat_id);

    if (index > 0)
        end_at(phases, index, record);
}

static void phases_end_block(struct phases *phases)
{
    if (phases->depth > 1)
        end_at(phases, 1, NULL);
    if (!phases->in_block)
        return;
    phases->block.total = 0;
    for (int phase = 0; phase < PHASES; phase++)
        phases->block.total += phases->block.own[phase];
    if (phases->sink->block != NULL)
        phases->sink->block(phases->sink->context, &phases->block);
    phases->in_block = false;
}

/* ---- lines ------------------------------------------------------------------------ */

/* Without an after-commit line the process was idle since the commit. */
static void phases_begin_block(struct phases *phases, const struct record *record)
{
    size_t after = phases_find(phases, PHASE_AFTER_COMMIT, "");

    if (after > 0)
        phases->frames[after].phase = PHASE_IDLE;
    if (after > 0 && phases->in_block) {
        phases->block.own[PHASE_IDLE] += phases->frames[after].own;
        phases->block.own[PHASE_AFTER_COMMIT] -= phases->frames[after].own;
    }
    phases_end_block(phases);
    phases->in_block = true;
    phases->block = (struct phase_block){.height = record->block_height, .start = record->time};
    phases_begin(phases, PHASE_BEGIN_BLOCK, "");
}

static void begin_run(struct phases *phases, const struct record *record)
{
    struct phase_frame *frame = phases_begin(phases, PHASE_RUN, "");
    struct scan_span name = scan_string(record_member(record, "phase"));

    if (frame == NULL || name.at == NULL)
        return;
    set_word(frame->name, name.at, name.length);
    for (char *at = frame->name; *at != '\0'; at++) {
        if (*at < 0x20 || *at > 0x7e || *at == '\\')
            *at = '?';
    }
}

static void name_kernel_start(struct phases *phases, const struct record *record)
{
    if (scan_is(record->type_name, "bundle-kernel-start"))
        set_word(innermost(phases)->name, "bundle", strlen("bundle"));
    else if (scan_is(record->type_name, "import-kernel-start"))
        set_word(innermost(phases)->name, "import", strlen("import"));
}

/* A phase that began with the previous line and ends with this one. */
static void add_past(struct phases *phases, enum phase phase, const struct record *record,
                     const char *vat_id, int64_t passed)
{
    struct phase_frame frame = {.phase = phase,
                                .from = phases->now - passed,
                                .start = phases->real - passed,
                                .own = passed};

    set_word(frame.vat_id, vat_id, strlen(vat_id));
    give_own(phases, innermost(phases), -passed);
    if (phases->in_block)
        phases->block.own[phase] += passed;
    phases_give_span(phases, &frame, record);
}

/* A load after a save is part of it: the same worker continues. */
static void begin_load(struct phases *phases, const char *vat_id)
{
    if (phases->last_type != RECORD_SNAPSHOT_SAVE)
        phases->until_next = phases_begin(phases, PHASE_SNAPSHOT_LOAD, vat_id) != NULL;
}

/* Lines that begin or end a phase. */
struct edge {
    enum phase phase;
    enum { EDGE_NONE, EDGE_BEGIN, EDGE_END } kind;
};

static const struct edge edges[RECORD_TYPES] = {
    [RECORD_KERNEL_START] = {PHASE_KERNEL_START, EDGE_BEGIN},
    [RECORD_KERNEL_FINISH] = {PHASE_KERNEL_START, EDGE_END},
    [RECORD_VAT_START] = {PHASE_VAT_START, EDGE_BEGIN},
    [RECORD_VAT_STARTED] = {PHASE_VAT_START, EDGE_END},
    [RECORD_START_REPLAY] = {PHASE_REPLAY, EDGE_BEGIN},
    [RECORD_FINISH_REPLAY] = {PHASE_REPLAY, EDGE_END},
    [RECORD_CRANK_START] = {PHASE_CRANK, EDGE_BEGIN},
    [RECORD_CRANK_FINISH] = {PHASE_CRANK, EDGE_END},
    [RECORD_DELIVER] = {PHASE_DELIVERY, EDGE_BEGIN},
    [RECORD_DELIVER_RESULT] = {PHASE_DELIVERY, EDGE_END},
    [RECORD_BOOTSTRAP_START] = {PHASE_BOOTSTRAP, EDGE_BEGIN},
    [RECORD_BOOTSTRAP_FINISH] = {PHASE_BOOTSTRAP, EDGE_END},
    [RECORD_UPGRADE_START] = {PHASE_UPGRADE, EDGE_BEGIN},
    [RECORD_UPGRADE_FINISH] = {PHASE_UPGRADE, EDGE_END},
    [RECORD_END_BLOCK_START] = {PHASE_END_BLOCK, EDGE_BEGIN},
    [RECORD_END_BLOCK] = {PHASE_END_BLOCK, EDGE_END},
    [RECORD_COMMIT_START] = {PHASE_COMMIT, EDGE_BEGIN},
    [RECORD_COMMIT_FINISH] = {PHASE_COMMIT, EDGE_END},
    [RECORD_RUN_FINISH] = {PHASE_RUN, EDGE_END},
    [RECORD_AFTER_COMMIT] = {PHASE_AFTER_COMMIT, EDGE_END},
};

static bool has_vat(enum phase phase)
{
    return phase == PHASE_VAT_START || phase == PHASE_REPLAY || phase == PHASE_DELIVERY;
}

static void take_edge(struct phases *phases, const struct record *record, const char *vat_id)
{
    struct edge edge = edges[record->type];
    const char *vat = has_vat(edge.phase) ? vat_id : "";

    if (edge.kind == EDGE_NONE || (edge.phase == PHASE_DELIVERY && record->replay))
        return;
    /* Cranks do not overlap: the next one ends an unended one. */
    if (edge.kind == EDGE_BEGIN && edge.phase == PHASE_CRANK)
        phases_end_phase(phases, PHASE_CRANK, "", NULL);
    if (edge.kind == EDGE_BEGIN)
        phases_begin(phases, edge.phase, vat);
    else
        phases_end_phase(phases, edge.phase, vat, record);
    phases->block.deliveries += edge.kind == EDGE_END && edge.phase == PHASE_DELIVERY;
}

/* Handles what a line means besides beginning or ending a phase. */
static void phases_take_line(struct phases *phases, const struct record *record, const char *vat_id,
                             int64_t passed)
{
    switch (record->type) {
    case RECORD_BEGIN_BLOCK:
        phases_begin_block(phases, record);
        break;
    case RECORD_END_BLOCK_START:
        phases_end_phase(phases, PHASE_BEGIN_BLOCK, "", NULL);
        break;
    case RECORD_RUN_START:
        begin_run(phases, record);
        break;
    case RECORD_SNAPSHOT_SAVE:
        add_past(phases, PHASE_SNAPSHOT_SAVE, record, vat_id, passed);
        break;
    case RECORD_VAT_CLEANUP:
        add_past(phases, PHASE_VAT_CLEANUP, record, vat_id, passed);
        break;
    case RECORD_SNAPSHOT_LOAD:
        begin_load(phases, vat_id);
        break;
    case RECORD_START_REPLAY:
        /* The worker of a restored vat logs no start. */
        if (phases->last_type != RECORD_VAT_STARTED && phases->last_type != RECORD_SNAPSHOT_LOAD)
            add_past(phases, PHASE_VAT_START, record, vat_id, passed);
        break;
    default:
        break;
    }
    take_edge(phases, record, vat_id);
    if (record->type == RECORD_KERNEL_START)
        name_kernel_start(phases, record);
    if (record->type == RECORD_COMMIT_FINISH)
        phases_begin(phases, PHASE_AFTER_COMMIT, "");
    if (record->type == RECORD_AFTER_COMMIT && phases->depth == 1)
        phases_begin(phases, PHASE_IDLE, "");
}

static void begin_process(struct phases *phases, const struct record *record)
{
    phases->now = clock_of(record->time, record->monotime);
    phases->real = record->time;
    phases->last_type = RECORD_OTHER;
    phases_begin(phases, PHASE_OTHER, "");
}

void phases_line(struct phases *phases, const struct record *record, const char *vat_id,
                 int64_t time_before, int64_t monotime_before)
{
    int64_t before;

    if (phases->depth == 0)
        begin_process(phases, record);
    else if (time_before != RECORD_NONE)
        phases_advance(phases, time_before, monotime_before);
    before = phases->now;
    phases_advance(phases, record->time, record->monotime);
    if (phases->until_next) {
        phases_end_phase(phases, PHASE_SNAPSHOT_LOAD, "", NULL);
        phases->until_next = false;
        before = phases->now;
    }
    phases_take_line(phases, record, vat_id, phases->now - before);
    phases->last_type = record->type;
}

void phases_end(struct phases *phases, int64_t time, int64_t monotime)
{
    if (phases->depth == 0)
        return;
    if (time != RECORD_NONE)
        phases_advance(phases, time, monotime);
    phases_end_block(phases);
    end_at(phases, 0, NULL);
    phases->until_next = false;
}
