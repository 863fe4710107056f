/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/call/receipt.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *copy_numbers(const uint32_t *numbers, uint32_t count)
{
    uint32_t *copy = malloc((count + 1u) * sizeof *copy);

    if (copy != NULL && count > 0)
        memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

struct near_receipt *near_receipts_add(struct near_receipts *receipts, const void *receiver,
                                       size_t length, const uint32_t *waits_for,
                                       uint32_t wait_count)
{
    struct near_receipt *grown =
        reallocarray(receipts->receipts, receipts->count + 1u, sizeof *grown);
    struct near_receipt made = {.wait_count = wait_count};

    if (grown == NULL)
        return NULL;
    receipts->receipts = grown;
    made.waits_for = copy_numbers(waits_for, wait_count);
    if (made.waits_for == NULL || buf_append(&made.receiver, receiver, length) != 0) {
        free(made.waits_for);
        return NULL;
    }
    grown[receipts->count] = made;
    return &grown[receipts->count++];
}

struct near_promise *near_receipts_add_promise(struct near_receipts *receipts, bool is_joint,
                                               const uint32_t *members, uint32_t count)
{
    struct near_promise *grown =
        reallocarray(receipts->promises, receipts->promise_count + 1u, sizeof *grown);
    uint32_t *copy;

    if (grown == NULL)
        return NULL;
    receipts->promises = grown;
    copy = copy_numbers(members, count);
    if (copy == NULL)
        return NULL;
    grown[receipts->promise_count] =
        (struct near_promise){.is_joint = is_joint, .receipts = copy, .receipt_count = count};
    return &grown[receipts->promise_count++];
}

struct near_action *near_receipt_add_action(struct near_receipt *receipt,
                                            enum near_action_kind kind)
{
    struct near_action *grown =
        reallocarray(receipt->actions, receipt->action_count + 1u, sizeof *grown);

    if (grown == NULL)
        return NULL;
    receipt->actions = grown;
    grown[receipt->action_count] = (struct near_action){.kind = kind};
    return &grown[receipt->action_count++];
}

/* ---- gas that is left ---- */

typedef void action_visitor(struct near_action *action, void *context);

static void visit_weighted(struct near_receipts *receipts, action_visitor *visit, void *context)
{
    for (uint32_t i = 0; i < receipts->count; i++)
        for (uint32_t k = 0; k < receipts->receipts[i].action_count; k++)
            if (receipts->receipts[i].actions[k].weight > 0)
                visit(&receipts->receipts[i].actions[k], context);
}

struct distribution {
    unsigned __int128 weights;
    uint64_t gas;  /* to be given out */
    uint64_t left; /* not yet */
    struct near_action *last;
};

static void add_weight(struct near_action *action, void *context)
{
    struct distribution *distribution = context;

    distribution->weights += action->weight;
    distribution->last = action;
}

static void give_share(struct near_action *action, void *context)
{
    struct distribution *distribution = context;
    const uint64_t share =
        (uint64_t)((unsigned __int128)distribution->gas * action->weight / distribution->weights);

    action->gas += share;
    distribution->left -= share;
}

bool near_receipts_distribute(struct near_receipts *receipts, uint64_t gas)
{
    struct distribution distribution = {.gas = gas, .left = gas};

    visit_weighted(receipts, add_weight, &distribution);
    if (distribution.last == NULL)
        return false;
    visit_weighted(receipts, give_share, &distribution);
    distribution.last->gas += distribution.left;
    return true;
}

/* ---- the end of them ---- */

static void free_receipt(struct near_receipt *receipt)
{
    for (uint32_t i = 0; i < receipt->action_count; i++) {
        buf_free(&receipt->actions[i].method);
        buf_free(&receipt->actions[i].arguments);
    }
    buf_free(&receipt->receiver);
    free(receipt->actions);
    free(receipt->waits_for);
}

void near_receipts_free(struct near_receipts *receipts)
{
    for (uint32_t i = 0; i < receipts->count; i++)
        free_receipt(&receipts->receipts[i]);
    for (uint32_t i = 0; i < receipts->promise_count; i++)
        free(receipts->promises[i].receipts);
    free(receipts->receipts);
    free(receipts->promises);
    *receipts = (struct near_receipts){0};
}

/* ---- names of accounts ---- */

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == '.';
}

bool near_is_account(const void *bytes, size_t length)
{
    enum { LEAST = 2, MOST = 64 };
    const char *text = bytes;

    if (length < LEAST || length > MOST)
        return false;
    for (size_t i = 0; i < length; i++) {
        const char c = text[i];

        if (is_separator(c) ? i == 0 || i + 1 == length || is_separator(text[i - 1])
                            : !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
            return false;
    }
    return true;
}
