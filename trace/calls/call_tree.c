/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/calls/call_tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/memory.h"

enum { INDEX_FIRST = 1024 }; /* a power of two */

int call_tree_open(struct call_tree *tree, struct error *error)
{
    *tree = (struct call_tree){.index_size = INDEX_FIRST};
    tree->nodes = array_reserve(NULL, &tree->capacity, 1, sizeof *tree->nodes);
    tree->index = calloc(tree->index_size, sizeof *tree->index);
    if (tree->nodes == NULL || tree->index == NULL) {
        call_tree_close(tree);
        return error_memory(error, "a call tree");
    }
    tree->nodes[0] = (struct call_node){0};
    tree->count = 1;
    return 0;
}

void call_tree_close(struct call_tree *tree)
{
    free(tree->nodes);
    free(tree->index);
    *tree = (struct call_tree){0};
}

/* The node's place in the index, or a free one. 0 means free: the root is no child. */
static size_t call_tree_place_of(const struct call_tree *tree, size_t parent, uint32_t function)
{
    const uint64_t key = (uint64_t)parent << 32 | function;
    size_t place = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (tree->index_size - 1);

    while (tree->index[place] != 0) {
        const struct call_node *const node = &tree->nodes[tree->index[place]];

        if (node->parent == parent && node->function == function)
            break;
        place = (place + 1) & (tree->index_size - 1);
    }
    return place;
}

static int grow_index(struct call_tree *tree)
{
    uint32_t *const larger = calloc(tree->index_size * 2, sizeof *larger);

    if (larger == NULL)
        return -1;
    free(tree->index);
    tree->index = larger;
    tree->index_size *= 2;
    for (size_t i = 1; i < tree->count; i++)
        tree->index[call_tree_place_of(tree, tree->nodes[i].parent, tree->nodes[i].function)] =
            (uint32_t)i;
    return 0;
}

static size_t find_tree_child(struct call_tree *tree, size_t parent, uint32_t function,
                              struct error *error)
{
    size_t place = call_tree_place_of(tree, parent, function);
    struct call_node *nodes;

    if (tree->index[place] != 0)
        return tree->index[place];
    nodes = tree->count < UINT32_MAX
                ? array_reserve(tree->nodes, &tree->capacity, tree->count + 1, sizeof *nodes)
                : NULL;
    if (nodes == NULL || (tree->count * 2 > tree->index_size && grow_index(tree) != 0)) {
        tree->nodes = nodes != NULL ? nodes : tree->nodes;
        error_memory(error, "a call tree");
        return SIZE_MAX;
    }
    tree->nodes = nodes;
    place = call_tree_place_of(tree, parent, function);
    tree->index[place] = (uint32_t)tree->count;
    nodes[tree->count] = (struct call_node){.parent = (uint32_t)parent, .function = function};
    return tree->count++;
}

/* The child of a node; SIZE_MAX with ERROR_SYSTEM without memory. */
static size_t call_tree_child(struct call_tree *tree, size_t parent, uint32_t function,
                              struct error *error)
{
    const uint32_t latest = tree->nodes[parent].latest;
    size_t child;

    if (latest != 0 && tree->nodes[latest].function == function)
        return latest;
    child = find_tree_child(tree, parent, function, error);
    if (child != SIZE_MAX)
        tree->nodes[parent].latest = (uint32_t)child;
    return child;
}

void call_tree_settle(struct call_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        tree->nodes[i].total = tree->nodes[i].self;
    for (size_t i = tree->count; i-- > 1;)
        tree->nodes[tree->nodes[i].parent].total += tree->nodes[i].total;
}

/* ---- sums ---- */

static bool is_below_node(const struct call_tree *tree, size_t node, size_t root)
{
    while (node > root)
        node = tree->nodes[node].parent;
    return node == root;
}

/* Returns true if a caller of this node is the same function, whose total includes this one's. */
static bool is_recursive(const struct call_tree *tree, size_t node)
{
    const uint32_t function = tree->nodes[node].function;

    for (size_t at = tree->nodes[node].parent; at != 0; at = tree->nodes[at].parent)
        if (tree->nodes[at].function == function)
            return true;
    return false;
}

static int by_self(const void *a, const void *b)
{
    const struct call_sum *x = a, *y = b;

    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    return x->function < y->function ? -1 : x->function > y->function;
}

int call_tree_sums(const struct call_tree *tree, size_t root, struct call_sum **sums, size_t *count,
                   struct error *error)
{
    struct call_sum *const all = calloc(CALL_TREE_GROUPS, sizeof *all);

    if (all == NULL)
        return error_memory(error, "a call tree");
    for (size_t i = root + 1; i < tree->count; i++) {
        const struct call_node *const node = &tree->nodes[i];

        if (node->function >= CALL_TREE_GROUPS || !is_below_node(tree, i, root))
            continue;
        all[node->function].calls += node->calls;
        all[node->function].self += node->self;
        if (!is_recursive(tree, i))
            all[node->function].total += node->total;
    }
    *count = 0;
    for (uint32_t i = 0; i < CALL_TREE_GROUPS; i++)
        if (all[i].calls > 0 || all[i].self > 0) {
            all[*count] = all[i];
            all[(*count)++].function = i;
        }
    qsort(all, *count, sizeof *all, by_self);
    *sums = all;
    return 0;
}

/* ---- when calls were ---- */

/* Returns true if `a` is removed before `b`. Of a caller and a call that took all of its time, the
 * call is removed first: its node has the larger index. */
static bool is_less(const struct call_span *a, const struct call_span *b)
{
    return a->length != b->length ? a->length < b->length : a->node > b->node;
}

static void swap(struct call_span *a, struct call_span *b)
{
    const struct call_span kept = *a;

    *a = *b;
    *b = kept;
}

static void rise(struct call_span_list *list, size_t at)
{
    while (at > 0 && is_less(&list->spans[at], &list->spans[(at - 1) / 2])) {
        swap(&list->spans[at], &list->spans[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sink(struct call_span_list *list, size_t at)
{
    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < list->count; child++)
            if (is_less(&list->spans[child], &list->spans[least]))
                least = child;
        if (least == at)
            return;
        swap(&list->spans[at], &list->spans[least]);
        at = least;
    }
}

static struct call_span_list *list_of(struct call_spans *spans, size_t number)
{
    struct call_span_list *const lists =
        array_reserve(spans->lists, &spans->capacity, number + 1, sizeof *lists);

    if (lists == NULL)
        return NULL;
    spans->lists = lists;
    while (spans->list_count <= number)
        lists[spans->list_count++] = (struct call_span_list){0};
    return &lists[number];
}

static int append_span(struct call_span_list *list, struct call_span span)
{
    struct call_span *const all =
        array_reserve(list->spans, &list->capacity, list->count + 1, sizeof *all);

    if (all == NULL)
        return -1;
    list->spans = all;
    all[list->count] = span;
    rise(list, list->count++);
    return 0;
}

/* In a list that is full. */
static void replace_least(struct call_span_list *list, struct call_span span)
{
    list->left_out++;
    if (!is_less(&list->spans[0], &span))
        return;
    list->spans[0] = span;
    sink(list, 0);
}

/* Adds a call, unless it is in no group. */
static void call_spans_add(struct call_spans *spans, uint32_t group, struct call_span span)
{
    struct call_span_list *list;

    if (group < CALL_TREE_GROUPS || spans->most == 0)
        return;
    list = list_of(spans, group - CALL_TREE_GROUPS);
    if (list == NULL)
        spans->failed = true;
    else if (list->count < spans->most)
        spans->failed |= append_span(list, span) != 0;
    else
        replace_least(list, span);
}

static int by_begin(const void *a, const void *b)
{
    const struct call_span *const x = a, *const y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

void call_spans_settle(struct call_spans *spans)
{
    for (size_t i = 0; i < spans->list_count; i++)
        if (spans->lists[i].count > 0)
            qsort(spans->lists[i].spans, spans->lists[i].count, sizeof *spans->lists[i].spans,
                  by_begin);
}

void call_spans_free(struct call_spans *spans)
{
    for (size_t i = 0; i < spans->list_count; i++)
        free(spans->lists[i].spans);
    free(spans->lists);
    spans->lists = NULL;
    spans->list_count = spans->capacity = 0;
}

/* An event's ticks are 48 bits; the others are those of the event before. */
static uint64_t thread_stack_time(const struct thread_stack *stack, uint64_t event)
{
    const uint64_t low = event >> TRACE_TIME_SHIFT;

    /* On another CPU the clock may be slightly earlier. */
    if (stack->last != 0 && ((stack->last - low) & TRACE_TIME_MASK) < TRACE_TIME_MASK / 2)
        return stack->last;
    return stack->last + ((low - stack->last) & TRACE_TIME_MASK);
}

static size_t top_node(const struct thread_stack *stack)
{
    return stack->depth > 0 ? stack->frames[stack->depth - 1].node : stack->root;
}

static int thread_stack_push(struct thread_stack *stack, struct call_tree *tree, uint32_t function,
                             struct error *error)
{
    const size_t node = call_tree_child(tree, top_node(stack), function, error);
    struct stack_frame *const frames =
        array_reserve(stack->frames, &stack->capacity, stack->depth + 1, sizeof *frames);

    if (node == SIZE_MAX)
        return -1;
    if (frames == NULL)
        return error_memory(error, "a stack of calls");
    stack->frames = frames;
    frames[stack->depth++] = (struct stack_frame){.node = node, .begin = stack->last};
    if (stack->listener != NULL)
        stack->listener->begun(stack->listener->context, function, stack->last);
    return 0;
}

/* The call has ended now, or is cut here. */
static void note_span(const struct thread_stack *stack, const struct call_tree *tree,
                      const struct stack_frame *frame)
{
    const struct call_span span = {
        .node = (uint32_t)frame->node,
        .begin = frame->begin,
        .length = stack->last - frame->begin,
    };

    if (stack->spans != NULL && frame->begin != 0 && stack->last >= frame->begin)
        call_spans_add(stack->spans, tree->nodes[stack->root].function, span);
}

/* The calls above this depth have ended. */
static void thread_stack_drop(struct thread_stack *stack, const struct call_tree *tree,
                              size_t depth)
{
    while (stack->depth > depth) {
        const struct stack_frame *const frame = &stack->frames[--stack->depth];

        note_span(stack, tree, frame);
        if (stack->listener != NULL)
            stack->listener->ended(stack->listener->context, tree->nodes[frame->node].function,
                                   stack->last);
    }
}

/* The same chain of calls, below another root. */
static int change_root(struct thread_stack *stack, struct call_tree *tree, uint32_t group,
                       struct error *error)
{
    const size_t root = group == 0 ? 0 : call_tree_child(tree, 0, group, error);
    size_t parent = root;

    if (root == SIZE_MAX)
        return -1;
    for (size_t i = 0; i < stack->depth; i++) {
        struct stack_frame *const frame = &stack->frames[i];

        note_span(stack, tree, frame);
        parent = call_tree_child(tree, parent, tree->nodes[frame->node].function, error);
        if (parent == SIZE_MAX)
            return -1;
        *frame = (struct stack_frame){.node = parent, .begin = stack->last};
    }
    stack->root = root;
    return 0;
}

/* Calls that were restated when no time was known begin here. */
static void begin_frames(struct thread_stack *stack, uint64_t now)
{
    for (size_t i = 0; i < stack->depth; i++)
        if (stack->frames[i].begin == 0)
            stack->frames[i].begin = now;
}

/* Adds the time since the last event to the function on top. */
static int pass_time(struct thread_stack *stack, struct call_tree *tree, struct call_cuts *cuts,
                     uint64_t now, struct error *error)
{
    while (!stack->stamped && cuts != NULL && cuts->next < cuts->count &&
           cuts->ticks[cuts->next] <= now) {
        const uint64_t cut = cuts->ticks[cuts->next];

        if (stack->last != 0 && cut > stack->last) {
            tree->nodes[top_node(stack)].self += cut - stack->last;
            stack->last = cut;
        }
        if (change_root(stack, tree, cuts->groups[cuts->next++], error) != 0)
            return -1;
    }
    /* Outside of all functions nothing is known of what happens. */
    if (stack->last != 0 && stack->depth > 0)
        tree->nodes[top_node(stack)].self += now - stack->last;
    if (stack->last == 0)
        begin_frames(stack, now);
    stack->last = now;
    return 0;
}

/* The clock starts again, at this time. */
static int take_stamp(struct thread_stack *stack, struct call_tree *tree, struct call_cuts *cuts,
                      uint64_t now, struct error *error)
{
    stack->stamped = true;
    stack->last = 1; /* where counts begin */
    while (cuts != NULL && cuts->next < cuts->count && cuts->ticks[cuts->next] <= now)
        if (change_root(stack, tree, cuts->groups[cuts->next++], error) != 0)
            return -1;
    return 0;
}

static void pop(struct thread_stack *stack, const struct call_tree *tree, uint64_t count)
{
    const uint64_t deeper = count > stack->depth ? count - stack->depth : 0;

    stack->deep -= deeper < stack->deep ? deeper : stack->deep;
    thread_stack_drop(stack, tree, stack->depth - (size_t)(count - deeper));
}

/* Ignores the end of calls that are not on the stack here. */
static void settle_depth(struct thread_stack *stack, uint64_t depth)
{
    const uint64_t here = stack->deep + stack->depth;
    const uint64_t ending = here > depth ? here - depth : 0;

    stack->unwound += ending - stack->ending;
    stack->ending = ending;
}

/* The upper part of a value. */
static void take_value(const struct thread_stack *stack, uint64_t argument)
{
    if (stack->listener != NULL && stack->listener->value != NULL)
        stack->listener->value(
            stack->listener->context, (uint32_t)(argument >> TRACE_VALUE_FUNCTION_SHIFT) & 0x7fff,
            argument >> TRACE_VALUE_WHICH_SHIFT & 15, argument << 48 | stack->value);
}

static int add_control(struct thread_stack *stack, struct call_tree *tree, struct call_cuts *cuts,
                       enum trace_number number, uint64_t argument, struct error *error)
{
    switch (number) {
    case TRACE_UNWOUND:
        stack->unwound += argument;
        stack->ending += argument;
        return 0;
    case TRACE_ORPHAN:
        stack->orphan = true;
        return 0;
    case TRACE_LOST:
        stack->lost = argument;
        stack->ending = 0;
        thread_stack_drop(stack, tree, 0);
        stack->deep = 0;
        stack->last = 0; /* unknown which function the time belongs to */
        return 0;
    case TRACE_OPEN:
        return thread_stack_push(stack, tree, (uint32_t)argument & 0x7fff, error);
    case TRACE_DEEP:
        stack->deep = argument;
        return 0;
    case TRACE_DEPTH:
        settle_depth(stack, argument);
        return 0;
    case TRACE_VALUE:
        stack->value = argument;
        return 0;
    case TRACE_VALUE_OF:
        take_value(stack, argument);
        return 0;
    case TRACE_STAMP:
        return take_stamp(stack, tree, cuts, argument, error);
    default:
        return 0;
    }
}

/* A function that is left without being on top is looked for below: the events of a signal's
 * handler may be missing. */
static void thread_stack_leave(struct thread_stack *stack, const struct call_tree *tree,
                               uint32_t function)
{
    size_t depth = stack->depth;

    if (stack->orphan) {
        stack->orphan = false;
        return;
    }
    while (depth > 0 && tree->nodes[stack->frames[depth - 1].node].function != function)
        depth--;
    if (depth > 0) {
        stack->unmatched += stack->depth - depth;
        thread_stack_drop(stack, tree, depth - 1);
    } else if (stack->depth == 0 && stack->deep > 0) {
        stack->deep--;
    } else {
        stack->unmatched++;
    }
}

static int add_event(struct thread_stack *stack, struct call_tree *tree, struct call_cuts *cuts,
                     uint64_t event, struct error *error)
{
    const uint32_t function = event >> 1 & 0x7fff;

    if (function >= TRACE_CONTROL)
        return add_control(stack, tree, cuts, (enum trace_number)function,
                           event >> TRACE_TIME_SHIFT, error);
    stack->events++;
    if (pass_time(stack, tree, cuts, thread_stack_time(stack, event), error) != 0)
        return -1;
    /* They are assumed to have run until now. */
    pop(stack, tree, stack->ending);
    stack->ending = 0;
    if ((event & 1) != 0) {
        thread_stack_leave(stack, tree, function);
        return 0;
    }
    if (thread_stack_push(stack, tree, function, error) != 0)
        return -1;
    tree->nodes[top_node(stack)].calls++;
    return 0;
}

int thread_stack_add(struct thread_stack *stack, struct call_tree *tree, struct call_cuts *cuts,
                     const uint64_t *events, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++)
        if (add_event(stack, tree, cuts, events[i], error) != 0)
            return -1;
    return 0;
}

void thread_stack_end(struct thread_stack *stack, const struct call_tree *tree)
{
    thread_stack_drop(stack, tree, 0);
    stack->deep = 0;
    stack->last = 0;
    stack->root = 0;
    stack->ending = 0;
    stack->orphan = false;
}

void thread_stack_free(struct thread_stack *stack)
{
    free(stack->frames);
    *stack = (struct thread_stack){0};
}

/* ---- all threads of a process ---- */

int trace_sums_open(struct trace_sums *sums, struct error *error)
{
    memset(sums, 0, sizeof *sums);
    return call_tree_open(&sums->tree, error);
}

void trace_sums_close(struct trace_sums *sums)
{
    for (size_t i = 0; i < TRACE_LANES_MAX; i++)
        thread_stack_free(&sums->stacks[i]);
    call_tree_close(&sums->tree);
}

int trace_sums_add(struct trace_sums *sums, unsigned lane, const uint64_t *events, size_t count,
                   struct error *error)
{
    if (lane >= TRACE_LANES_MAX)
        return 0;
    return thread_stack_add(&sums->stacks[lane], &sums->tree, sums->cut ? &sums->cuts[lane] : NULL,
                            events, count, error);
}

void trace_sums_end_lane(struct trace_sums *sums, unsigned lane)
{
    if (lane < TRACE_LANES_MAX)
        thread_stack_end(&sums->stacks[lane], &sums->tree);
}

struct trace_counts trace_sums_counts(const struct trace_sums *sums)
{
    struct trace_counts counts = {0};

    for (size_t i = 0; i < TRACE_LANES_MAX; i++) {
        counts.events += sums->stacks[i].events;
        counts.unwound += sums->stacks[i].unwound;
        counts.unmatched += sums->stacks[i].unmatched;
        counts.lost += sums->stacks[i].lost;
    }
    return counts;
}
