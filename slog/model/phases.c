/* SPDX-License-Identifier: Apache-2.0 */
#include "slog/model/phases.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
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

/*
 * One table for all files, which can then be compared. A name is written before it
 * is counted, and never changes.
 */
static char named[PHASES - PHASE_NAMED][64];
static atomic_size_t named_count;

/* Safe for a terminal, and for JSON as it is. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < 0x20 || *text > 0x7e || *text == '\\' || *text == '"')
            *text = '?';
    }
}

const char *phase_name(enum phase phase)
{
    if (phase < PHASE_NAMED)
        return names[phase];
    return (size_t)(phase - PHASE_NAMED) < atomic_load(&named_count) ? named[phase - PHASE_NAMED]
                                                                     : NULL;
}

static bool is_known_name(const char *name)
{
    for (int phase = 0; phase < PHASE_NAMED; phase++) {
        if (strcmp(names[phase], name) == 0)
            return true;
    }
    return false;
}

/* The phase of X-start or X-finish. PHASE_OTHER if X is too long or there are too many. */
static enum phase find_named(struct scan_span type, const char *suffix)
{
    size_t count = atomic_load(&named_count), length = type.length - strlen(suffix);
    char name[sizeof named[0]];

    if (length >= sizeof name - strlen("slog-"))
        return PHASE_OTHER;
    snprintf(name, sizeof name, "%.*s", (int)length, type.at);
    make_printable(name);
    if (is_known_name(name))
        snprintf(name, sizeof name, "slog-%.*s", (int)length, type.at);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(named[i], name) == 0)
            return (enum phase)(PHASE_NAMED + i);
    }
    if (count == PHASES - PHASE_NAMED)
        return PHASE_OTHER;
    memcpy(named[count], name, sizeof name);
    atomic_store(&named_count, count + 1);
    return (enum phase)(PHASE_NAMED + count);
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
    if (phases->sink->phase != NULL)
        phases->sink->phase(phases->sink->context, &span);
}

/* Without space the oldest, whose end may never come, is forgotten. */
static void add_parallel(struct phases *phases, const struct phase_frame *frame)
{
    if (phases->parallel_count == PHASES_PARALLEL)
        memmove(&phases->parallel[0], &phases->parallel[1],
                --phases->parallel_count * sizeof phases->parallel[0]);
    phases->parallel[phases->parallel_count++] = *frame;
}

/* Its own time so far counts now; its span is given when it ends. */
static void set_parallel(struct phases *phases, struct phase_frame *frame)
{
    phases->own[frame->phase] += frame->own;
    add_parallel(phases, frame);
}

/* Ends the frame at `index` and those within it; `record` is the line that ends the first. */
static void end_from(struct phases *phases, size_t index, const struct record *record)
{
    while (phases->depth > index) {
        struct phase_frame *frame = innermost(phases);

        if (frame->phase >= PHASE_NAMED) {
            set_parallel(phases, frame);
        } else {
            phases->own[frame->phase] += frame->own;
            phases_give_span(phases, frame, phases->depth == index + 1 ? record : NULL);
        }
        phases->depth--;
    }
}

/* Deliveries may overlap, and phases whose place is not known: those within them continue. */
static void end_at(struct phases *phases, size_t index, const struct record *record)
{
    struct phase_frame *frame = &phases->frames[index];

    if (frame->phase != PHASE_DELIVERY && frame->phase < PHASE_NAMED) {
        end_from(phases, index, record);
        return;
    }
    phases->own[frame->phase] += frame->own;
    phases_give_span(phases, frame, record);
    phases->depth--;
    memmove(frame, frame + 1, (phases->depth - index) * sizeof *frame);
}

static bool is_of_vat(const struct phase_frame *frame, const char *vat_id)
{
    return vat_id[0] == '\0' || strncmp(frame->vat_id, vat_id, PHASE_NAME_SIZE - 1) == 0;
}

/* The innermost frame of this phase, and of this vat if one is given; 0 if none. */
static size_t phases_find(const struct phases *phases, enum phase phase, const char *vat_id)
{
    size_t index = phases->depth - 1;

    while (index > 0 &&
           (phases->frames[index].phase != phase || !is_of_vat(&phases->frames[index], vat_id)))
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
    end_from(phases, 1, NULL);
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
    make_printable(frame->name);
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
    phases->own[phase] += passed;
    phases_give_span(phases, &frame, record);
}

/* A load after a save is part of it: the same worker continues. */
static void begin_load(struct phases *phases, const char *vat_id)
{
    if (phases->last_type != RECORD_SNAPSHOT_SAVE)
        phases->until_next = phases_begin(phases, PHASE_SNAPSHOT_LOAD, vat_id) != NULL;
}

/* ---- phases of types that are not known --------------------------------------- */

/* The half of the depth that is left is for phases whose place is known. */
static void begin_named(struct phases *phases, const struct record *record, const char *vat_id)
{
    enum phase phase = find_named(record->type_name, "-start");
    struct phase_frame frame = {.phase = phase, .from = phases->now, .start = phases->real};

    if (phase == PHASE_OTHER)
        return;
    /* The swing-store is exported in parallel to everything else. */
    if (phases->depth < PHASES_DEEPEST / 2 &&
        !scan_is(record->type_name, "cosmic-swingset-snapshot-start")) {
        phases_begin(phases, phase, vat_id);
        return;
    }
    set_word(frame.vat_id, vat_id, strlen(vat_id));
    add_parallel(phases, &frame);
}

static void end_parallel(struct phases *phases, enum phase phase, const char *vat_id,
                         const struct record *record)
{
    size_t index = phases->parallel_count;

    while (index > 0 && (phases->parallel[index - 1].phase != phase ||
                         !is_of_vat(&phases->parallel[index - 1], vat_id)))
        index--;
    if (index == 0)
        return;
    phases_give_span(phases, &phases->parallel[index - 1], record);
    phases->parallel_count--;
    memmove(&phases->parallel[index - 1], &phases->parallel[index],
            (phases->parallel_count - (index - 1)) * sizeof phases->parallel[0]);
}

static void end_named(struct phases *phases, const struct record *record, const char *vat_id)
{
    enum phase phase = find_named(record->type_name, "-finish");
    size_t index = phases_find(phases, phase, vat_id);

    if (phase == PHASE_OTHER)
        return;
    if (index > 0)
        end_at(phases, index, record);
    else
        end_parallel(phases, phase, vat_id, record);
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
    case RECORD_PHASE_START:
        begin_named(phases, record, vat_id);
        break;
    case RECORD_PHASE_FINISH:
        end_named(phases, record, vat_id);
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
    if (record->type != RECORD_PHASE_START && record->type != RECORD_PHASE_FINISH)
        phases->last_type = record->type;
}

void phases_end(struct phases *phases, int64_t time, int64_t monotime)
{
    if (phases->depth == 0)
        return;
    if (time != RECORD_NONE)
        phases_advance(phases, time, monotime);
    phases_end_block(phases);
    end_from(phases, 0, NULL);
    phases->parallel_count = 0;
    phases->until_next = false;
}
