/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/holdings.h"

#include "worker/near/message.h"

static const char account_key[] = "near.account";
#define FIRST_BALANCE ((unsigned __int128)UINT64_C(1000000000000000000) * 1000000000)

struct near_holdings near_holdings_read(struct near_vat *vat, uint64_t code_size)
{
    struct near_holdings holdings = {.usage = code_size, .balance = FIRST_BALANCE};
    json_t *kept = near_vat_get(vat, account_key);

    if (kept != NULL) {
        holdings.usage = (uint64_t)json_integer_value(json_object_get(kept, "usage"));
        (void)near_amount_read(json_object_get(kept, "balance"), &holdings.balance);
        holdings.yields = json_incref(json_object_get(kept, "yields"));
        holdings.yielded = (uint64_t)json_integer_value(json_object_get(kept, "yielded"));
    }
    json_decref(kept);
    return holdings;
}

struct near_holdings near_holdings_copy(const struct near_holdings *holdings)
{
    struct near_holdings copy = *holdings;

    copy.yields = holdings->yields != NULL ? json_deep_copy(holdings->yields) : json_object();
    return copy;
}

void near_holdings_free(struct near_holdings *holdings)
{
    json_decref(holdings->yields);
}

void near_holdings_write(struct near_vat *vat, const struct near_holdings *before,
                         const struct near_holdings *after)
{
    const bool has_yields = json_object_size(after->yields) > 0;
    char text[NEAR_AMOUNT_SIZE];
    json_t *kept;

    if (before->usage == after->usage && before->balance == after->balance &&
        before->yielded == after->yielded &&
        (json_object_size(before->yields) == 0 ? !has_yields
                                               : json_equal(before->yields, after->yields)))
        return;
    kept = json_pack("{s:I,s:s}", "usage", (json_int_t)after->usage, "balance",
                     near_amount_text(after->balance, text));
    if (has_yields)
        json_object_set(kept, "yields", after->yields);
    if (after->yielded > 0)
        json_object_set_new(kept, "yielded", json_integer((json_int_t)after->yielded));
    near_vat_set(vat, account_key, kept);
    json_decref(kept);
}
