/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command/profile/cost_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "tools/command/profile/cost_flame.h"

/* A frame, NAME or NAME (FILE:LINE), without its line where profiles are compared. */
static void put_frame(struct buf *out, const char *frame, size_t length, bool compared)
{
    const char *colon = memrchr(frame, ':', length);

    if (!compared || length == 0 || frame[length - 1] != ')' || colon == NULL) {
        buf_append(out, frame, length);
        return;
    }
    buf_append(out, frame, (size_t)(colon - frame));
    buf_append_byte(out, ')');
}

static void put_stack(struct buf *out, const struct cost_record *record, bool compared)
{
    const char *at = record->stack;

    buf_printf(out, "%s;%s", record->vat, record->method);
    while (*at != '\0') {
        const size_t length = strcspn(at, ";");

        buf_append_byte(out, ';');
        put_frame(out, at, length, compared);
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
    put_stack(&stack, record, stacks->compared);
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

/* The end of a frame comes before all that a longer name goes on with. */
static int rank_of(char byte)
{
    return byte == '\0' ? 0 : byte == ';' ? 1 : 2 + (unsigned char)byte;
}

static int compare_stacks(const void *left, const void *right)
{
    const char *a = ((const struct cost_stack *)left)->text;
    const char *b = ((const struct cost_stack *)right)->text;

    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return rank_of(*a) - rank_of(*b);
}

static struct cost_stack *sort(const struct cost_stacks *stacks, struct error *error)
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
    qsort(sorted, stacks->count, sizeof *sorted, compare_stacks);
    return sorted;
}

int cost_stacks_put_folded(const struct cost_stacks *stacks, struct buf *out, struct error *error)
{
    struct cost_stack *sorted = sort(stacks, error);

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
    struct cost_stack *sorted = sort(stacks, error);
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
