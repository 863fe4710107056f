/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/html/page_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json/json_text.h"

struct page_branch {
    uint64_t count;
    uint64_t times[MODEL_SPAN_KINDS];
    double compute, instructions;
};

/* What a branch's key begins with; the kind of syscall follows, or nothing. */
struct key_head {
    uint32_t vat, kind;
};

/* The branch, made when it is new; NULL when memory ran out. */
static struct page_branch *find_branch(struct page_tree *tree, struct key_head head,
                                       const char *syscall)
{
    struct page_branch *branches;
    struct buf key = {0};
    uint32_t number;

    buf_append(&key, &head, sizeof head);
    buf_append_string(&key, syscall);
    number = buf_failed(&key) ? NAMES_NONE : names_intern(&tree->keys, key.data, key.length);
    buf_free(&key);
    if (number == NAMES_NONE)
        return NULL;
    if (number < tree->count)
        return &tree->branches[number];
    branches = array_reserve(tree->branches, &tree->capacity, tree->count + 1, sizeof *branches);
    if (branches == NULL)
        return NULL;
    tree->branches = branches;
    branches[tree->count] = (struct page_branch){0};
    return &branches[tree->count++];
}

static int page_tree_add_span(struct page_tree *tree, struct key_head head,
                              const struct model_delivery *delivery, const struct model_span *span)
{
    const char *syscall = span->event != UINT32_MAX ? delivery->events[span->event].kind : "";
    struct page_branch *branch = find_branch(tree, head, syscall);

    if (branch == NULL)
        return -1;
    branch->count += span->kind == MODEL_UP;
    branch->times[span->kind] += (uint64_t)(span->to - span->from);
    return 0;
}

int page_tree_add(struct page_tree *tree, const struct model_delivery *delivery, uint32_t vat,
                  uint32_t kind)
{
    struct key_head head = {vat, kind};
    struct page_branch *branch;

    if (delivery->replay || delivery->clock_changed)
        return 0;
    branch = find_branch(tree, head, "");
    if (branch == NULL)
        return -1;
    branch->count++;
    branch->compute += isnan(delivery->compute) ? 0 : delivery->compute;
    branch->instructions += isnan(delivery->instructions) ? 0 : delivery->instructions;
    if (delivery->span_count == 0)
        branch->times[MODEL_UNKNOWN] += (uint64_t)delivery->total;
    for (size_t i = 0; i < delivery->span_count; i++) {
        if (page_tree_add_span(tree, head, delivery, &delivery->spans[i]) != 0)
            return -1;
    }
    return 0;
}

void page_tree_append(const struct page_tree *tree, struct buf *json)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct page_branch *branch = &tree->branches[i];
        const struct name *key = &tree->keys.names[i];
        struct key_head head;

        memcpy(&head, key->text, sizeof head);
        buf_printf(json, "%s[%" PRIu32 ",%" PRIu32 ",", i > 0 ? "," : "[", head.vat, head.kind);
        if (key->length > sizeof head)
            json_text_string(json, key->text + sizeof head, key->length - sizeof head);
        else
            buf_append_string(json, "null");
        buf_printf(json, ",%" PRIu64 ",[", branch->count);
        for (int kind = 0; kind < MODEL_SPAN_KINDS; kind++)
            buf_printf(json, "%s%" PRIu64, kind > 0 ? "," : "", branch->times[kind]);
        buf_printf(json, "],%.17g,%.17g]", branch->compute, branch->instructions);
    }
    buf_append_string(json, tree->count > 0 ? "]" : "[]");
}

void page_tree_free(struct page_tree *tree)
{
    free(tree->branches);
    names_free(&tree->keys);
    *tree = (struct page_tree){0};
}
