/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/profile.h"

#include "base/json/json_text.h"

void near_profile_add(struct near_profile *sum, const struct near_profile *part)
{
    for (size_t i = 0; i < NEAR_COST_COUNT; i++)
        sum->cost[i] += part->cost[i];
    for (size_t i = 0; i < NEAR_FEE_COUNT; i++)
        sum->fee[i] += part->fee[i];
}

static void profile_put(struct buf *text, const char *name, uint64_t gas, uint64_t *rest)
{
    if (gas == 0)
        return;
    *rest -= gas;
    buf_append_string(text, text->length > 1 ? ",\"" : "\"");
    buf_append_string(text, name);
    buf_append_string(text, "\":");
    json_text_unsigned(text, gas);
}

void near_profile_write(struct buf *text, const struct near_profile *profile, uint64_t burnt)
{
    uint64_t rest = burnt;

    buf_clear(text);
    buf_append_byte(text, '{');
    for (size_t i = 0; i < NEAR_COST_COUNT; i++)
        profile_put(text, near_cost_name((enum near_cost)i), profile->cost[i], &rest);
    for (size_t i = 0; i < NEAR_FEE_COUNT; i++)
        profile_put(text, near_fee_name((enum near_fee_kind)i), profile->fee[i], &rest);
    profile_put(text, "wasm_instruction", rest, &rest);
    buf_append_byte(text, '}');
}
