/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fungible token with the core of NEAR's NEP-141 (https://nomicon.io/Standards/Tokens/
 * FungibleToken/Core): new, ft_transfer, ft_balance_of, ft_total_supply. Build it with
 *
 *   clang --target=wasm32 -O2 -nostdlib -I. -Wl,--no-entry examples/wasm-token/token.c \
 *       -o token.wasm
 *
 * In the storage, "b:ACCOUNT" is a balance, "total" the supply.
 */
#include "examples/wasm/contract.h"

static amount read_amount(const struct text *key)
{
    amount value = 0;

    (void)read_record(key, &value, sizeof value);
    return value;
}

static void balance_key(struct text *key, const struct text *account)
{
    make_key(key, "b:", account);
}

/* {"owner_id", "total_supply"} */
NEAR_EXPORT(new)
{
    struct text owner, key, total;
    amount supply;

    read_input();
    text_set(&total, "total");
    need(read_amount(&total) == 0, "The contract has already been initialized");
    text_member(&owner, "owner_id");
    supply = amount_member("total_supply");
    balance_key(&key, &owner);
    write_record(&key, &supply, sizeof supply);
    write_record(&total, &supply, sizeof supply);
}

static void log_transfer(const struct text *from, const struct text *to, amount value)
{
    struct text line;

    text_set(&line, "Transfer ");
    append_amount(&line, value);
    append(&line, " from ");
    append_text(&line, from);
    append(&line, " to ");
    append_text(&line, to);
    log_text(&line);
}

static void add_to(const struct text *account, amount value)
{
    struct text key;
    amount balance;

    balance_key(&key, account);
    balance = read_amount(&key) + value;
    write_record(&key, &balance, sizeof balance);
}

static void take_from(const struct text *account, amount value)
{
    struct text key;
    amount balance;

    balance_key(&key, account);
    balance = read_amount(&key);
    need(balance >= value, "The account doesn't have enough balance");
    balance -= value;
    write_record(&key, &balance, sizeof balance);
}

/* {"receiver_id", "amount"}, with one yoctoNEAR */
NEAR_EXPORT(ft_transfer)
{
    struct text sender, receiver;
    amount value;

    need_one_yocto();
    predecessor(&sender);
    read_input();
    text_member(&receiver, "receiver_id");
    value = amount_member("amount");
    need(value > 0, "The amount should be a positive number");
    take_from(&sender, value);
    add_to(&receiver, value);
    log_transfer(&sender, &receiver, value);
}

/* {"account_id"} */
NEAR_EXPORT(ft_balance_of)
{
    struct text account, key;

    read_input();
    text_member(&account, "account_id");
    balance_key(&key, &account);
    give_back_amount(read_amount(&key));
}

NEAR_EXPORT(ft_total_supply)
{
    struct text total;

    text_set(&total, "total");
    give_back_amount(read_amount(&total));
}
