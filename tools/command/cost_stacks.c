/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/cost_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "base/visible.h"

/* A stack and its cost. The text is borrowed. */
struct cost_stack {
    const char *text; /* FRAME;FRAME;..., the outermost first */
    int64_t costs[COST_SIDES];
};

/* The stacks to draw, borrowed. */
struct cost_flame_stacks {
    const struct cost_stack *stacks; /* sorted */
    size_t count;
    bool compared;
    const char *unit; /* of the costs */
};

/* Pixels. LETTER is about the width of a letter. */
enum { WIDTH = 1200, ROW = 17, MARGIN = 10, HEAD = 30, LETTER = 7 };

/* Narrower frames would be invisible and are not drawn. */
static const double NARROWEST = 0.2;

/* A frame of the graph. Frames of one caller are side by side, in the order of the stacks. */
struct frame {
    const char *name; /* borrowed from a stack, `length` bytes */
    size_t length, depth;
    int64_t costs[COST_SIDES];
    double begin, width; /* in computrons */
};

struct flame {
    struct frame *frames; /* owned; a caller before what it calls */
    size_t count, capacity;
    size_t *open; /* owned; the frames of the stack before, by depth */
    size_t open_capacity, depth, deepest;
    const char *unit; /* of the costs; borrowed */
};

/* ---- frames ---- */

static double wider(const int64_t costs[COST_SIDES])
{
    const int64_t most =
        costs[COST_NOW] > costs[COST_BEFORE] ? costs[COST_NOW] : costs[COST_BEFORE];

    return most > 0 ? (double)most : 0;
}

/* Adds a frame at the current depth. */
static int cost_flame_push(struct flame *flame, const char *name, size_t length, double begin)
{
    struct frame *frames =
        array_reserve(flame->frames, &flame->capacity, flame->count + 1, sizeof *frames);
    size_t *open =
        array_reserve(flame->open, &flame->open_capacity, flame->depth + 1, sizeof *open);

    if (frames != NULL)
        flame->frames = frames;
    if (open != NULL)
        flame->open = open;
    if (frames == NULL || open == NULL)
        return -1;
    open[flame->depth] = flame->count;
    frames[flame->count++] =
        (struct frame){.name = name, .length = length, .depth = flame->depth, .begin = begin};
    flame->depth++;
    if (flame->depth > flame->deepest)
        flame->deepest = flame->depth;
    return 0;
}

static bool is_open(const struct flame *flame, size_t depth, const char *name, size_t length)
{
    const struct frame *frame;

    if (depth >= flame->depth)
        return false;
    frame = &flame->frames[flame->open[depth]];
    return frame->length == length && memcmp(frame->name, name, length) == 0;
}

/* The stacks are sorted, so those with the same callers are adjacent. */
static int flame_add_stack(struct flame *flame, const struct cost_stack *stack, double begin)
{
    const char *at = stack->text;
    size_t depth = 1;
    bool same = true;

    while (*at != '\0') {
        const size_t length = strcspn(at, ";");

        same = same && is_open(flame, depth, at, length);
        if (!same) {
            flame->depth = depth;
            if (cost_flame_push(flame, at, length, begin) != 0)
                return -1;
        }
        depth++;
        at += length + (at[length] == ';');
    }
    flame->depth = depth;
    for (size_t i = 0; i < depth; i++) {
        struct frame *frame = &flame->frames[flame->open[i]];

        for (int side = 0; side < COST_SIDES; side++)
            frame->costs[side] = saturate_add(frame->costs[side], stack->costs[side]);
        frame->width += wider(stack->costs);
    }
    return 0;
}

static int flame_build(struct flame *flame, const struct cost_stack *stacks, size_t count)
{
    double begin = 0;

    if (cost_flame_push(flame, "all", 3, 0) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (flame_add_stack(flame, &stacks[i], begin) != 0)
            return -1;
        begin += wider(stacks[i].costs);
    }
    return 0;
}

/* ---- SVG ---- */

static void cost_flame_put_text(struct buf *svg, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char byte = text[i];

        if (byte == '&')
            buf_append_string(svg, "&amp;");
        else if (byte == '<')
            buf_append_string(svg, "&lt;");
        else if (byte == '>')
            buf_append_string(svg, "&gt;");
        else
            buf_append_byte(svg, byte);
    }
}

/* Escapes bytes that are not text. */
static int cost_flame_put_name(struct buf *svg, const struct frame *frame)
{
    char *name = strndup(frame->name, frame->length);

    if (name == NULL)
        return -1;
    visible_bytes(name, frame->length);
    cost_flame_put_text(svg, name, frame->length);
    free(name);
    return 0;
}

/* `paler` is how far the colour is from full. */
static void put_colour(struct buf *svg, const struct frame *frame, bool compared)
{
    const int64_t now = frame->costs[COST_NOW], before = frame->costs[COST_BEFORE];
    const double most = wider(frame->costs);
    int paler;

    if (!compared) {
        unsigned hash = 0;

        for (size_t i = 0; i < frame->length; i++)
            hash = hash * 31 + (unsigned char)frame->name[i];
        buf_printf(svg, "rgb(%u,%u,60)", 205 + hash % 50, 110 + hash / 50 % 110);
        return;
    }
    paler = most > 0
                ? (int)(200 * (1 - (double)(now > before ? now - before : before - now) / most))
                : 200;
    if (now == before)
        buf_append_string(svg, "rgb(225,225,225)");
    else if (now > before)
        buf_printf(svg, "rgb(255,%d,%d)", paler, paler);
    else
        buf_printf(svg, "rgb(%d,%d,255)", paler, paler);
}

static int put_flame_frame(struct buf *svg, const struct flame *flame, const struct frame *frame,
                           bool compared)
{
    const double scale =
        flame->frames[0].width > 0 ? (WIDTH - 2 * MARGIN) / flame->frames[0].width : 0;
    const double x = MARGIN + frame->begin * scale, width = frame->width * scale;
    const size_t y = HEAD + (flame->deepest - 1 - frame->depth) * ROW;
    size_t letters;

    if (width < NARROWEST)
        return 0;
    buf_printf(svg, "<g><title>");
    if (cost_flame_put_name(svg, frame) != 0)
        return -1;
    buf_printf(svg, ": %" PRId64 " %s, %.2f %%", frame->costs[COST_NOW], flame->unit,
               100 * frame->width / flame->frames[0].width);
    if (compared)
        buf_printf(svg, "; before %" PRId64, frame->costs[COST_BEFORE]);
    buf_printf(svg, "</title><rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" fill=\"", x, y,
               width, ROW - 1);
    put_colour(svg, frame, compared);
    buf_append_string(svg, "\"/>");
    letters = width / LETTER < 3 ? 0 : (size_t)(width / LETTER);
    if (letters > 0) {
        const struct frame shown = {.name = frame->name,
                                    .length = letters < frame->length ? letters : frame->length};

        buf_printf(svg, "<text x=\"%.2f\" y=\"%zu\">", x + 2, y + ROW - 5);
        if (cost_flame_put_name(svg, &shown) != 0)
            return -1;
        buf_append_string(svg, "</text>");
    }
    buf_append_string(svg, "</g>\n");
    return 0;
}

static int put_flame(struct buf *svg, const struct flame *flame, bool compared)
{
    const size_t height = HEAD + flame->deepest * ROW + MARGIN;

    buf_printf(svg,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
               "viewBox=\"0 0 %d %zu\" font-family=\"monospace\" font-size=\"11\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
               "<text x=\"%d\" y=\"18\">%s%s</text>\n",
               WIDTH, height, WIDTH, height, MARGIN, flame->unit,
               compared ? ": red costs more than before, blue less" : "");
    for (size_t i = 0; i < flame->count; i++)
        if (put_flame_frame(svg, flame, &flame->frames[i], compared) != 0)
            return -1;
    buf_append_string(svg, "</svg>\n");
    return 0;
}

/* Appends the stacks as a flame graph. -1 with ERROR_SYSTEM. */
static int cost_flame_put(struct buf *svg, const struct cost_flame_stacks *stacks,
                          struct error *error)
{
    struct flame flame = {.unit = stacks->unit};
    int result = flame_build(&flame, stacks->stacks, stacks->count) == 0 &&
                         put_flame(svg, &flame, stacks->compared) == 0
                     ? 0
                     : error_memory(error, "a flame graph");

    free(flame.frames);
    free(flame.open);
    return result;
}

/* Appends a frame, NAME or NAME (FILE:LINE), without its line if profiles are compared. */
static void put_stack_frame(struct buf *out, const char *frame, size_t length, bool compared)
{
    const char *colon = memrchr(frame, ':', length);

    if (!compared || length == 0 || frame[length - 1] != ')' || colon == NULL) {
        buf_append(out, frame, length);
        return;
    }
    buf_append(out, frame, (size_t)(colon - frame));
    buf_append_byte(out, ')');
}

static void put_folded_stack(struct buf *out, const struct cost_record *record, bool compared)
{
    const char *at = record->stack;

    buf_printf(out, "%s;%s", record->vat, record->method);
    while (*at != '\0') {
        const size_t length = strcspn(at, ";");

        buf_append_byte(out, ';');
        put_stack_frame(out, at, length, compared);
        at += length + (at[length] == ';');
    }
}

int cost_stacks_add(struct cost_stacks *stacks, enum cost_side side,
                    const struct cost_record *record, struct error *error)
{
    struct buf stack = {0};
    int64_t(*more)[COST_SIDES];
    uint32_t number;

    if (record->kind != COST_STACK)
        return 0;
    put_folded_stack(&stack, record, stacks->compared);
    number =
        buf_failed(&stack) ? NAMES_NONE : names_intern(&stacks->names, stack.data, stack.length);
    buf_free(&stack);
    more = array_reserve(stacks->costs, &stacks->capacity, stacks->count + 1, sizeof *more);
    if (number == NAMES_NONE || more == NULL)
        return error_memory(error, "stacks");
    stacks->costs = more;
    if (number == stacks->count)
        memset(more[stacks->count++], 0, sizeof *more);
    more[number][side] = saturate_add(more[number][side], record->self);
    return 0;
}

/* ---- sorted ---- */

/* The end of a frame sorts before all characters of a longer name. */
static int rank_of(char byte)
{
    return byte == '\0' ? 0 : byte == ';' ? 1 : 2 + (unsigned char)byte;
}

static int compare_folded_stacks(const void *left, const void *right)
{
    const char *a = ((const struct cost_stack *)left)->text;
    const char *b = ((const struct cost_stack *)right)->text;

    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return rank_of(*a) - rank_of(*b);
}

static struct cost_stack *sort_cost_stacks(const struct cost_stacks *stacks, struct error *error)
{
    struct cost_stack *sorted = calloc(stacks->count + 1, sizeof *sorted);

    if (sorted == NULL) {
        error_memory(error, "stacks");
        return NULL;
    }
    for (size_t i = 0; i < stacks->count; i++) {
        sorted[i].text = names_text(&stacks->names, (uint32_t)i);
        memcpy(sorted[i].costs, stacks->costs[i], sizeof sorted[i].costs);
    }
    qsort(sorted, stacks->count, sizeof *sorted, compare_folded_stacks);
    return sorted;
}

int cost_stacks_put_folded(const struct cost_stacks *stacks, struct buf *out, struct error *error)
{
    struct cost_stack *sorted = sort_cost_stacks(stacks, error);

    if (sorted == NULL)
        return -1;
    for (size_t i = 0; i < stacks->count; i++) {
        buf_append_string(out, sorted[i].text);
        if (stacks->compared)
            buf_printf(out, " %" PRId64, sorted[i].costs[COST_BEFORE]);
        buf_printf(out, " %" PRId64 "\n", sorted[i].costs[COST_NOW]);
    }
    free(sorted);
    return 0;
}

int cost_stacks_put_flame(const struct cost_stacks *stacks, struct buf *out, struct error *error)
{
    struct cost_stack *sorted = sort_cost_stacks(stacks, error);
    int result;

    if (sorted == NULL)
        return -1;
    result = cost_flame_put(out,
                            &(const struct cost_flame_stacks){
                                .stacks = sorted,
                                .count = stacks->count,
                                .compared = stacks->compared,
                                .unit = cost_unit_names[stacks->unit],
                            },
                            error);
    free(sorted);
    return result;
}

void cost_stacks_free(struct cost_stacks *stacks)
{
    names_free(&stacks->names);
    free(stacks->costs);
    stacks->costs = NULL;
    stacks->count = stacks->capacity = 0;
}
