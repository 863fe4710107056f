/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A contract that is sent tokens of NEP-171: it keeps those that come with the message "keep",
 * fails at "fail", and gives the others back. Build it like collection.c.
 */
#include "examples/wasm/contract.h"

/* {"sender_id", "previous_owner_id", "token_id", "msg"} */
NEAR_EXPORT(nft_on_transfer)
{
    struct text message, keep, failing, result;

    read_input();
    text_member(&message, "msg");
    text_set(&keep, "keep");
    text_set(&failing, "fail");
    need(!text_is(&message, &failing), "The shelf is full");
    text_set(&result, text_is(&message, &keep) ? "false" : "true");
    give_back(&result);
}
