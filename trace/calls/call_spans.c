/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/calls/call_spans.h"

#include <stdlib.h>

#include "base/array.h"

/* Whether `a` is to go before `b` does. Of a caller and a call that took all of its time the call
 * goes, whose node has the larger index. */
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

static int append(struct call_span_list *list, struct call_span span)
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

void call_spans_add(struct call_spans *spans, uint32_t group, struct call_span span)
{
    struct call_span_list *list;

    if (group < CALL_TREE_GROUPS || spans->most == 0)
        return;
    list = list_of(spans, group - CALL_TREE_GROUPS);
    if (list == NULL)
        spans->failed = true;
    else if (list->count < spans->most)
        spans->failed |= append(list, span) != 0;
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
