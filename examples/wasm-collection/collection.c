/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collection of non-fungible tokens with the core of NEAR's NEP-171 (https://nomicon.io/
 * Standards/Tokens/NonFungibleToken/Core), its metadata (NEP-177) and its events (NEP-297): new,
 * nft_mint, nft_transfer, nft_transfer_call, nft_resolve_transfer, nft_token, nft_total_supply,
 * nft_supply_for_owner, nft_metadata. There are no approvals. Build it with
 *
 *   clang --target=wasm32 -O2 -nostdlib -I. -Wl,--no-entry \
 *       examples/wasm-collection/collection.c -o collection.wasm
 *
 * In the storage, "t:TOKEN" is a token's owner, "n:ACCOUNT" how many an account has, "owner" who
 * may mint, "supply" how many there are.
 */
#include "examples/wasm/contract.h"

#define TERA UINT64_C(1000000000000)
enum { GAS_FOR_RECEIVER = 30, GAS_FOR_RESOLVE = 10 }; /* Tgas */

/* ---- records ---- */

static int read_text(const struct text *key, struct text *value)
{
    if (storage_read(key->length, address(key->bytes), REGISTER) != 1)
        return 0;
    text_from_register(value);
    return 1;
}

static void write_text(const struct text *key, const struct text *value)
{
    write_record(key, value->bytes, value->length);
}

static void add_to(const struct text *key, int64_t change)
{
    uint64_t count = 0;

    (void)read_record(key, &count, sizeof count);
    count += (uint64_t)change;
    write_record(key, &count, sizeof count);
}

static void count_for(const struct text *account, int64_t change)
{
    struct text key;

    make_key(&key, "n:", account);
    add_to(&key, change);
}

static int owner_of(const struct text *token, struct text *owner)
{
    struct text key;

    make_key(&key, "t:", token);
    return read_text(&key, owner);
}

static void give_to(const struct text *token, const struct text *owner)
{
    struct text key;

    make_key(&key, "t:", token);
    write_text(&key, owner);
    count_for(owner, 1);
}

/* ---- events ---- */

static void append_member(struct text *text, const char *name, const struct text *value)
{
    append(text, "\"");
    append(text, name);
    append(text, "\":");
    append_quoted(text, value);
}

/* `from`: NULL for a token that is new. */
static void log_event(const struct text *from, const struct text *to, const struct text *token)
{
    struct text line;

    text_set(&line, "EVENT_JSON:{\"standard\":\"nep171\",\"version\":\"1.0.0\",\"event\":\"");
    append(&line, from != 0 ? "nft_transfer\",\"data\":[{" : "nft_mint\",\"data\":[{");
    if (from != 0) {
        append_member(&line, "old_owner_id", from);
        append(&line, ",");
    }
    append_member(&line, from != 0 ? "new_owner_id" : "owner_id", to);
    append(&line, ",\"token_ids\":[");
    append_quoted(&line, token);
    append(&line, "]}]}");
    log_text(&line);
}

/* ---- methods that change something ---- */

/* {"owner_id"} */
NEAR_EXPORT(new)
{
    struct text key, owner;

    text_set(&key, "owner");
    need(!read_text(&key, &owner), "The contract has already been initialized");
    read_input();
    text_member(&owner, "owner_id");
    write_text(&key, &owner);
}

/* {"token_id", "receiver_id"}, by the owner of the collection */
NEAR_EXPORT(nft_mint)
{
    struct text key, owner, caller, token, receiver;

    text_set(&key, "owner");
    need(read_text(&key, &owner), "The contract is not initialized");
    predecessor(&caller);
    need(text_is(&owner, &caller), "Unauthorized");
    read_input();
    text_member(&token, "token_id");
    text_member(&receiver, "receiver_id");
    need(token.length <= 64, "token_id is too long");
    need(!owner_of(&token, &owner), "token_id must be unique");
    give_to(&token, &receiver);
    text_set(&key, "supply");
    add_to(&key, 1);
    log_event(0, &receiver, &token);
}

static void move(const struct text *token, const struct text *from, const struct text *to)
{
    need(!text_is(from, to), "Token owner and receiver should be different");
    count_for(from, -1);
    give_to(token, to);
    log_event(from, to, token);
}

/* The beginning of both transfers: reads the input's members, and moves the token. */
static void transfer(struct text *sender, struct text *receiver, struct text *token)
{
    struct text owner;

    need_one_yocto();
    read_input();
    predecessor(sender);
    text_member(receiver, "receiver_id");
    text_member(token, "token_id");
    need(owner_of(token, &owner), "Token not found");
    need(text_is(&owner, sender), "Unauthorized");
    move(token, sender, receiver);
}

/* {"receiver_id", "token_id"}, with one yoctoNEAR */
NEAR_EXPORT(nft_transfer)
{
    struct text sender, receiver, token;

    transfer(&sender, &receiver, &token);
}

static uint64_t call_receiver(const struct text *sender, const struct text *receiver,
                              const struct text *token)
{
    static const char method[] = "nft_on_transfer";
    const amount nothing = 0;
    struct text arguments, message;

    text_member(&message, "msg");
    text_set(&arguments, "{");
    append_member(&arguments, "sender_id", sender);
    append(&arguments, ",");
    append_member(&arguments, "previous_owner_id", sender);
    append(&arguments, ",");
    append_member(&arguments, "token_id", token);
    append(&arguments, ",");
    append_member(&arguments, "msg", &message);
    append(&arguments, "}");
    return promise_create(receiver->length, address(receiver->bytes), sizeof method - 1,
                          address(method), arguments.length, address(arguments.bytes),
                          address(&nothing), GAS_FOR_RECEIVER * TERA);
}

/* {"receiver_id", "token_id", "msg"}, with one yoctoNEAR: the receiver may give the token back.
 * The result says whether it did not. */
NEAR_EXPORT(nft_transfer_call)
{
    static const char method[] = "nft_resolve_transfer";
    const amount nothing = 0;
    struct text sender, receiver, token, own, arguments;
    uint64_t promise;

    transfer(&sender, &receiver, &token);
    promise = call_receiver(&sender, &receiver, &token);
    current_account(&own);
    text_set(&arguments, "{");
    append_member(&arguments, "previous_owner_id", &sender);
    append(&arguments, ",");
    append_member(&arguments, "receiver_id", &receiver);
    append(&arguments, ",");
    append_member(&arguments, "token_id", &token);
    append(&arguments, "}");
    promise_return(promise_then(promise, own.length, address(own.bytes), sizeof method - 1,
                                address(method), arguments.length, address(arguments.bytes),
                                address(&nothing), GAS_FOR_RESOLVE * TERA));
}

/* Returns true if the receiver keeps the token: it answers false, so it returns nothing. */
static int is_wanted(void)
{
    struct text answer, no;

    if (promise_result(0, REGISTER) != 1)
        return 0;
    text_set(&no, "false");
    if (register_len(REGISTER) != no.length)
        return 0;
    text_from_register(&answer);
    return text_is(&answer, &no);
}

/* {"previous_owner_id", "receiver_id", "token_id"}, by the contract itself */
NEAR_EXPORT(nft_resolve_transfer)
{
    struct text own, caller, previous, receiver, token, owner, result;
    int keeps;

    current_account(&own);
    predecessor(&caller);
    need(text_is(&own, &caller), "Method nft_resolve_transfer is private");
    read_input();
    text_member(&previous, "previous_owner_id");
    text_member(&receiver, "receiver_id");
    text_member(&token, "token_id");
    /* A receiver that has passed the token on cannot return it. */
    keeps = is_wanted() || !owner_of(&token, &owner) || !text_is(&owner, &receiver);
    if (!keeps)
        move(&token, &receiver, &previous);
    text_set(&result, keeps ? "true" : "false");
    give_back(&result);
}

/* ---- views ---- */

/* {"token_id"}: the token, or null */
NEAR_EXPORT(nft_token)
{
    struct text token, owner, result;

    read_input();
    text_member(&token, "token_id");
    text_set(&result, "null");
    if (owner_of(&token, &owner)) {
        text_set(&result, "{");
        append_member(&result, "token_id", &token);
        append(&result, ",");
        append_member(&result, "owner_id", &owner);
        append(&result, "}");
    }
    give_back(&result);
}

static void give_back_count(const struct text *key)
{
    uint64_t count = 0;

    (void)read_record(key, &count, sizeof count);
    give_back_amount(count);
}

NEAR_EXPORT(nft_total_supply)
{
    struct text key;

    text_set(&key, "supply");
    give_back_count(&key);
}

/* {"account_id"} */
NEAR_EXPORT(nft_supply_for_owner)
{
    struct text key, account;

    read_input();
    text_member(&account, "account_id");
    make_key(&key, "n:", &account);
    give_back_count(&key);
}

NEAR_EXPORT(nft_metadata)
{
    struct text result;

    text_set(&result,
             "{\"spec\":\"nft-1.0.0\",\"name\":\"Cards\",\"symbol\":\"CARD\",\"icon\":null,"
             "\"base_uri\":null,\"reference\":null,\"reference_hash\":null}");
    give_back(&result);
}
