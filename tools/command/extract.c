/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "slog/model/describe.h"
#include "slog/read/names.h"
#include "slog/read/record.h"
#include "tools/command/commands.h"
#include "tools/input/feed.h"
#include "tools/input/selection.h"
#include "tools/output/output.h"

struct excerpt_vat {
    char *name; /* owned; NULL if absent */
    bool taken; /* its delivery in progress is selected */
    int phases; /* printed ones in progress */
};

/* A crank is printed as a whole if one of its deliveries is selected. */
enum crank_choice { CRANK_UNDECIDED, CRANK_CHOSEN, CRANK_REJECTED };

/*
 * Selects the lines of a smaller slogfile: all lines of the cranks with selected deliveries, and
 * the lines that begin and end their runs and blocks. Also slog-start and the create-vat lines of
 * vats that are not excluded, without their bundles unless `bundles`. If only blocks or times are
 * selected, all other lines in these, too. The order stays: a line whose time is before the
 * previous one's would look like the beginning of another run of the kernel.
 *
 * Memory is the waiting lines, and some bytes for each vat.
 */
struct excerpt {
    const struct selection *selection; /* without kinds, runs and minimum */
    bool bundles;
    uint64_t deliveries; /* printed */

    /*
     * Lines of a level in which nothing is selected yet, from the line that begins it; each with
     * its newline. Those that are printed in any case are in `kept`, too.
     */
    struct buf waiting[5], kept[5];
    enum crank_choice crank;
    size_t crank_start;   /* the length of the line that begins it, while undecided */
    bool crank_is_chosen; /* by its place */
    bool crank_has_other; /* `kept` has lines that need it */
    bool open[5];         /* its first line was printed */
    int64_t block_height, crank_num;
    struct names vat_ids;
    struct excerpt_vat *vats; /* by number in vat_ids; owned */
    size_t vat_count, vat_capacity;
    int phases; /* printed ones of no vat in progress */
};

/* Levels; each contains the next. */
enum { IN_SESSION, IN_BLOCK, IN_END_BLOCK, IN_RUN, IN_CRANK, LEVELS };

_Static_assert(LEVELS == sizeof((struct excerpt *)NULL)->waiting / sizeof(struct buf), "levels");

/* ---- vats ---- */

static struct excerpt_vat *excerpt_vat_of(struct excerpt *excerpt, const struct record *record)
{
    uint32_t number = names_intern(&excerpt->vat_ids, record->vat_id.at, record->vat_id.length);
    struct excerpt_vat *vats;

    if (number == NAMES_NONE)
        return NULL;
    if (number == excerpt->vat_count) {
        vats =
            array_reserve(excerpt->vats, &excerpt->vat_capacity, number + (size_t)1, sizeof *vats);
        if (vats == NULL)
            return NULL;
        excerpt->vats = vats;
        vats[excerpt->vat_count++] = (struct excerpt_vat){0};
    }
    return &excerpt->vats[number];
}

static void excerpt_append_line(struct buf *out, struct scan_span line)
{
    buf_append(out, line.at, line.length);
    buf_append_byte(out, '\n');
}

/* Prints lines now, or with the innermost level that waits. */
static void keep_lines(struct excerpt *excerpt, int level, const struct buf *lines, struct buf *out)
{
    while (level > 0 && excerpt->waiting[level - 1].length == 0)
        level--;
    if (level > 0) {
        buf_append(&excerpt->kept[level - 1], lines->data, lines->length);
        out = &excerpt->waiting[level - 1];
    }
    buf_append(out, lines->data, lines->length);
}

/* Drops the waiting lines of a level. */
static void drop_waiting(struct excerpt *excerpt, int level, struct buf *out)
{
    buf_clear(&excerpt->waiting[level]);
    if (excerpt->kept[level].length > 0)
        keep_lines(excerpt, level, &excerpt->kept[level], out);
    buf_clear(&excerpt->kept[level]);
}

/* Ends a level; prints the line if its first line was printed. */
static void excerpt_end(struct excerpt *excerpt, int level, const struct record *record,
                        struct buf *out)
{
    if (excerpt->open[level])
        excerpt_append_line(out, record->line);
    drop_waiting(excerpt, level, out);
    excerpt->open[level] = level == IN_BLOCK && excerpt->open[level];
}

/* Appends the line, unless `bundles` without its bundle, which can be a megabyte. */
static void append_created(struct buf *out, const struct record *record, bool bundles)
{
    struct scan_span line = record->line, bundle = record_member(record, "vatSourceBundle");
    const char *end = line.at + line.length, *rest;

    if (bundles || bundle.at == NULL) {
        excerpt_append_line(out, line);
        return;
    }
    rest = bundle.at + bundle.length;
    buf_append(out, line.at, (size_t)(bundle.at - line.at));
    buf_append_string(out, "null");
    buf_append(out, rest, (size_t)(end - rest));
    buf_append_byte(out, '\n');
}

/* ---- giving ---- */

static void give_level(struct excerpt *excerpt, int level, struct buf *out)
{
    struct buf *waiting = &excerpt->waiting[level];

    out->failed |= buf_failed(waiting) || buf_failed(&excerpt->kept[level]);
    if (waiting->length == 0)
        return;
    buf_append(out, waiting->data, waiting->length);
    buf_clear(waiting);
    buf_clear(&excerpt->kept[level]);
    excerpt->open[level] = true;
}

/* Prints the waiting lines of all levels around a printed line. */
static void give_waiting(struct excerpt *excerpt, struct buf *out)
{
    for (int level = 0; level < LEVELS; level++)
        give_level(excerpt, level, out);
}

static void give_line(struct excerpt *excerpt, const struct record *record, struct buf *out)
{
    give_waiting(excerpt, out);
    excerpt_append_line(out, record->line);
}

/* ---- choosing ---- */

/* True if the line's block, crank and time are selected. */
static bool is_place_chosen(const struct excerpt *excerpt, const struct record *record)
{
    const struct selection *selection = excerpt->selection;
    int64_t crank = record->crank_num != RECORD_NONE ? record->crank_num : excerpt->crank_num;

    return selection_in_range(&selection->blocks, excerpt->block_height) &&
           selection_in_range(&selection->cranks, crank) &&
           selection_in_range(&selection->times, record->time);
}

static bool is_vat_chosen(const struct excerpt *excerpt, const struct record *record,
                          const struct excerpt_vat *vat)
{
    struct buf id = {0};
    bool chosen;

    buf_append(&id, record->vat_id.at, record->vat_id.length);
    chosen = buf_string(&id) != NULL &&
             selection_has_vat(excerpt->selection, id.data, vat->name != NULL ? vat->name : "");
    buf_free(&id);
    return chosen;
}

static int excerpt_name_vat(struct excerpt_vat *vat, struct scan_span name)
{
    struct buf words = {0};

    if (name.at == NULL)
        return 0;
    describe_string(name, &words);
    if (buf_string(&words) == NULL)
        return -1;
    free(vat->name);
    vat->name = words.data;
    return 0;
}

/*
 * Selected independently of its place: it names the vat, and moving it would break the order of
 * times.
 */
static int take_created(struct excerpt *excerpt, const struct record *record, struct buf *out)
{
    struct excerpt_vat *vat = excerpt_vat_of(excerpt, record);
    struct buf line = {0};

    if (vat == NULL || excerpt_name_vat(vat, record->name) != 0)
        return -1;
    if (!is_vat_chosen(excerpt, record, vat))
        return 0;
    give_level(excerpt, IN_SESSION, out);
    append_created(&line, record, excerpt->bundles);
    out->failed |= buf_failed(&line);
    keep_lines(excerpt, LEVELS, &line, out);
    buf_free(&line);
    return 0;
}

/* Without a selected delivery, a crank has only the lines that are selected themselves. */
static void decide_crank(struct excerpt *excerpt, bool chosen, struct buf *out)
{
    struct buf *waiting = &excerpt->waiting[IN_CRANK], *kept = &excerpt->kept[IN_CRANK];

    excerpt->crank = chosen ? CRANK_CHOSEN : CRANK_REJECTED;
    if (chosen)
        give_waiting(excerpt, out);
    if (waiting->length == 0)
        return;
    waiting->length = excerpt->crank_start;
    buf_append(waiting, kept->data, kept->length);
    if (excerpt->crank_has_other)
        give_waiting(excerpt, out);
}

/* A crank without a delivery is chosen by its place. Some have no line that ends them. */
static void end_crank(struct excerpt *excerpt, struct buf *out)
{
    if (excerpt->crank == CRANK_UNDECIDED)
        decide_crank(excerpt, excerpt->crank_is_chosen, out);
}

/* The lines of a delivery follow its first one. */
static int take_of_delivery(struct excerpt *excerpt, const struct record *record, struct buf *out)
{
    struct excerpt_vat *vat = excerpt_vat_of(excerpt, record);
    bool taken;

    if (vat == NULL)
        return -1;
    if (record->type == RECORD_DELIVER) {
        vat->taken = is_place_chosen(excerpt, record) && is_vat_chosen(excerpt, record, vat);
        if (excerpt->crank == CRANK_UNDECIDED)
            decide_crank(excerpt, vat->taken, out);
    }
    taken = vat->taken;
    excerpt->deliveries += taken && record->type == RECORD_DELIVER_RESULT;
    if (record->type == RECORD_DELIVER_RESULT)
        vat->taken = false;
    if (taken)
        give_line(excerpt, record, out);
    return 0;
}

/* Phases whose last line is printed if their first one is, so that they keep their length. */
static int phase_step(enum record_type type)
{
    static const signed char steps[RECORD_TYPES] = {
        [RECORD_VAT_START] = 1,       [RECORD_VAT_STARTED] = -1,      [RECORD_START_REPLAY] = 1,
        [RECORD_FINISH_REPLAY] = -1,  [RECORD_KERNEL_START] = 1,      [RECORD_KERNEL_FINISH] = -1,
        [RECORD_BOOTSTRAP_START] = 1, [RECORD_BOOTSTRAP_FINISH] = -1, [RECORD_UPGRADE_START] = 1,
        [RECORD_UPGRADE_FINISH] = -1,
    };

    return steps[type];
}

/* Other lines: selected with their vat; without a vat, unless vats or cranks are selected. */
static int is_other_chosen(struct excerpt *excerpt, const struct record *record, bool *chosen)
{
    const struct selection *selection = excerpt->selection;
    const int step = phase_step(record->type);
    struct excerpt_vat *vat = NULL;
    int *phases = &excerpt->phases;

    *chosen = record->type == RECORD_TOO_BIG || is_place_chosen(excerpt, record);
    if (record->vat_id.at == NULL) {
        *chosen = *chosen && selection->vats.count == 0 && !selection->cranks.set;
    } else {
        vat = excerpt_vat_of(excerpt, record);
        if (vat == NULL)
            return -1;
        phases = &vat->phases;
        *chosen = *chosen && (is_vat_chosen(excerpt, record, vat) || vat->taken);
    }
    *chosen |= step < 0 && *phases > 0;
    if (*chosen && *phases + step >= 0)
        *phases += step;
    return 0;
}

static int take_other(struct excerpt *excerpt, const struct record *record, struct buf *out)
{
    const bool in_crank = excerpt->waiting[IN_CRANK].length > 0 || excerpt->open[IN_CRANK];
    bool chosen;

    if (is_other_chosen(excerpt, record, &chosen) != 0)
        return -1;
    if (in_crank && excerpt->crank == CRANK_UNDECIDED) {
        excerpt_append_line(&excerpt->waiting[IN_CRANK], record->line);
        if (chosen)
            excerpt_append_line(&excerpt->kept[IN_CRANK], record->line);
        excerpt->crank_has_other |= chosen;
    } else if (chosen || (in_crank && excerpt->crank == CRANK_CHOSEN)) {
        give_line(excerpt, record, out);
    }
    return 0;
}

/* Begins a level, which ends the levels within it. */
static void excerpt_begin(struct excerpt *excerpt, int level, const struct record *record,
                          struct buf *out)
{
    end_crank(excerpt, out);
    for (int within = LEVELS - 1; within >= level; within--) {
        drop_waiting(excerpt, within, out);
        excerpt->open[within] = false;
    }
    excerpt_append_line(&excerpt->waiting[level], record->line);
    if (level != IN_CRANK)
        return;
    excerpt->crank = CRANK_UNDECIDED;
    excerpt->crank_has_other = false;
    excerpt->crank_start = excerpt->waiting[level].length;
}

/* A selected block or time is printed even if nothing is in it. */
static void give_chosen(struct excerpt *excerpt, int level, const struct record *record,
                        struct buf *out)
{
    const struct selection *selection = excerpt->selection;
    const bool chosen =
        level != IN_SESSION && selection->vats.count == 0 && is_place_chosen(excerpt, record);

    if (level == IN_CRANK)
        excerpt->crank_is_chosen = chosen; /* unless it has a delivery */
    else if (chosen && !selection->cranks.set)
        give_waiting(excerpt, out);
}

/* The level that a line begins or ends; LEVELS if none. */
static int level_of(enum record_type type, bool *begins)
{
    static const struct {
        unsigned char level; /* + 1 */
        bool begins;
    } levels[RECORD_TYPES] = {
        [RECORD_SLOG_START] = {IN_SESSION + 1, true},
        [RECORD_BEGIN_BLOCK] = {IN_BLOCK + 1, true},
        [RECORD_END_BLOCK_START] = {IN_END_BLOCK + 1, true},
        [RECORD_RUN_START] = {IN_RUN + 1, true},
        [RECORD_CRANK_START] = {IN_CRANK + 1, true},
        [RECORD_CRANK_FINISH] = {IN_CRANK + 1, false},
        [RECORD_RUN_FINISH] = {IN_RUN + 1, false},
        [RECORD_END_BLOCK] = {IN_END_BLOCK + 1, false},
        [RECORD_COMMIT_START] = {IN_BLOCK + 1, false},
        [RECORD_COMMIT_FINISH] = {IN_BLOCK + 1, false},
        [RECORD_AFTER_COMMIT] = {IN_BLOCK + 1, false},
    };

    *begins = levels[type].begins;
    return levels[type].level > 0 ? levels[type].level - 1 : LEVELS;
}

static void note_place(struct excerpt *excerpt, const struct record *record)
{
    if (record->type == RECORD_BEGIN_BLOCK)
        excerpt->block_height = record->block_height;
    if (record->type == RECORD_CRANK_START)
        excerpt->crank_num = record->crank_num;
    if (record->type == RECORD_SLOG_START || record->type == RECORD_KERNEL_START)
        excerpt->block_height = excerpt->crank_num = RECORD_NONE;
}

static int take_by_type(struct excerpt *excerpt, const struct record *record, struct buf *out)
{
    bool begins;
    int level = level_of(record->type, &begins);

    note_place(excerpt, record);
    if (level != LEVELS) {
        if (begins)
            excerpt_begin(excerpt, level, record, out);
        else if (level == IN_CRANK)
            end_crank(excerpt, out);
        if (begins)
            give_chosen(excerpt, level, record, out);
        else
            excerpt_end(excerpt, level, record, out);
        if (record->type == RECORD_CRANK_FINISH)
            excerpt->crank_num = RECORD_NONE;
        return 0;
    }
    switch (record->type) {
    case RECORD_CREATE_VAT:
        return record->vat_id.at != NULL ? take_created(excerpt, record, out) : 0;
    case RECORD_DELIVER:
    case RECORD_DELIVER_RESULT:
    case RECORD_SYSCALL:
    case RECORD_SYSCALL_RESULT:
        return record->vat_id.at != NULL ? take_of_delivery(excerpt, record, out) : 0;
    default:
        return take_other(excerpt, record, out);
    }
}

/* Takes the next line, and appends what is to be printed now. -1 when out of memory. */
static int excerpt_take(struct excerpt *excerpt, const struct record *record, struct buf *out)
{
    return take_by_type(excerpt, record, out) != 0 || buf_failed(out) ? -1 : 0;
}

static void excerpt_free(struct excerpt *excerpt)
{
    for (int level = 0; level < LEVELS; level++) {
        buf_free(&excerpt->waiting[level]);
        buf_free(&excerpt->kept[level]);
    }
    for (size_t i = 0; i < excerpt->vat_count; i++)
        free(excerpt->vats[i].name);
    free(excerpt->vats);
    names_free(&excerpt->vat_ids);
}

struct extract {
    struct excerpt excerpt;
    struct buf out;
};

static int on_line(void *context, const struct record *record, struct error *error)
{
    struct extract *extract = context;

    if (excerpt_take(&extract->excerpt, record, &extract->out) != 0)
        return error_memory(error, "the excerpt");
    return output_flush_if_much(&extract->out, error);
}

int extract_run(const struct options *options, struct error *error)
{
    struct extract extract = {.excerpt = {.selection = &options->selection,
                                          .bundles = options->bundles,
                                          .block_height = RECORD_NONE,
                                          .crank_num = RECORD_NONE}};
    struct feed feed = options_feed(options);
    struct tally tally;
    int result;

    feed.line = on_line;
    feed.sink.context = &extract;
    result = feed_run(&feed, &tally, error);
    end_crank(&extract.excerpt, &extract.out);
    for (int level = LEVELS - 1; level >= 0; level--)
        drop_waiting(&extract.excerpt, level, &extract.out);
    if (result == 0)
        result = output_flush(&extract.out, error);
    if (result == 0)
        selection_explain(&options->selection, extract.excerpt.deliveries, tally.totals.deliveries);
    tally_free(&tally);
    excerpt_free(&extract.excerpt);
    buf_free(&extract.out);
    return result;
}
