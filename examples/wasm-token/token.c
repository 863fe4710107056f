/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fungible token with the core of NEAR's NEP-141 (https://nomicon.io/Standards/Tokens/
 * FungibleToken/Core): new, ft_transfer, ft_balance_of, ft_total_supply. Build it with
 *
 *   clang --target=wasm32 -O2 -nostdlib -I. -Wl,--no-entry examples/wasm-token/token.c \
 *       -o token.wasm
 */
#include "examples/wasm-token/near.h"

enum { TEXT_MAX = 256, INPUT_MAX = 1024, REGISTER = 0 };

struct text {
    char bytes[TEXT_MAX];
    uint32_t length;
};

/* The compiler makes calls of these, and there is no library. */
void *memcpy(void *to, const void *from, __SIZE_TYPE__ count);
void *memset(void *to, int byte, __SIZE_TYPE__ count);

void *memcpy(void *to, const void *from, __SIZE_TYPE__ count)
{
    for (__SIZE_TYPE__ i = 0; i < count; i++)
        ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

void *memset(void *to, int byte, __SIZE_TYPE__ count)
{
    for (__SIZE_TYPE__ i = 0; i < count; i++)
        ((char *)to)[i] = (char)byte;
    return to;
}

static uint64_t address(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static uint32_t length_of(const char *text)
{
    uint32_t length = 0;

    while (text[length] != '\0')
        length++;
    return length;
}

static _Noreturn void fail(const char *words)
{
    panic_utf8(length_of(words), address(words));
}

static void need(int is_so, const char *words)
{
    if (!is_so)
        fail(words);
}

static void append(struct text *text, const char *bytes, uint32_t length)
{
    need(length <= TEXT_MAX - text->length, "A text is too long");
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

/* ---- the input: members of a flat JSON object that are strings ---- */

static char input_bytes[INPUT_MAX];
static uint32_t input_length;

static void read_input(void)
{
    input(REGISTER);
    input_length = (uint32_t)register_len(REGISTER);
    need(input_length <= INPUT_MAX, "The input is too long");
    read_register(REGISTER, address(input_bytes));
}

/* Whether "name" stands there. */
static int is_name(uint32_t at, const char *name, uint32_t length)
{
    if (at + length + 2 > input_length || input_bytes[at] != '"' ||
        input_bytes[at + length + 1] != '"')
        return 0;
    for (uint32_t i = 0; i < length; i++)
        if (input_bytes[at + 1 + i] != name[i])
            return 0;
    return 1;
}

static struct text take_string(uint32_t at)
{
    struct text value = {.length = 0};

    while (at < input_length && input_bytes[at] != '"')
        at++;
    for (at++; at < input_length && input_bytes[at] != '"'; at++)
        append(&value, &input_bytes[at], 1);
    return value;
}

static struct text member(const char *name)
{
    const uint32_t length = length_of(name);

    for (uint32_t at = 0; at < input_length; at++)
        if (is_name(at, name, length))
            return take_string(at + length + 2);
    fail("A member of the input is missing");
}

/* ---- amounts: 128 bits, decimal outside ---- */

typedef unsigned __int128 amount;

/* The compiler multiplies with a call of this, and there is no library. */
amount __multi3(amount left, amount right);

amount __multi3(amount left, amount right)
{
    amount product = 0;

    for (; right != 0; right >>= 1, left <<= 1)
        if (right & 1)
            product += left;
    return product;
}

static amount amount_of(struct text text)
{
    amount value = 0;

    need(text.length > 0 && text.length <= 38, "No amount");
    for (uint32_t i = 0; i < text.length; i++) {
        need(text.bytes[i] >= '0' && text.bytes[i] <= '9', "No amount");
        value = value * 10 + (unsigned)(text.bytes[i] - '0');
    }
    return value;
}

/* Divides by ten in pieces of 32 bits, since there is no library for 128. The rest. */
static unsigned divide_by_ten(amount *value)
{
    amount quotient = 0;
    uint64_t rest = 0;

    for (int shift = 96; shift >= 0; shift -= 32) {
        const uint64_t part = rest << 32 | (uint32_t)(*value >> shift);

        quotient |= (amount)(part / 10) << shift;
        rest = part % 10;
    }
    *value = quotient;
    return (unsigned)rest;
}

static void append_amount(struct text *text, amount value)
{
    char digits[40];
    uint32_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + divide_by_ten(&value));
    while (value != 0);
    append(text, digits + at, sizeof digits - at);
}

/* ---- storage: "b:ACCOUNT" has a balance, "total" the supply ---- */

static struct text balance_key(const struct text *account)
{
    struct text key = {.length = 0};

    append(&key, "b:", 2);
    append(&key, account->bytes, account->length);
    return key;
}

static amount read_amount(const char *key, uint32_t length)
{
    amount value = 0;

    if (storage_read(length, address(key), REGISTER) == 1)
        read_register(REGISTER, address(&value));
    return value;
}

static void write_amount(const char *key, uint32_t length, amount value)
{
    storage_write(length, address(key), sizeof value, address(&value), REGISTER);
}

static struct text predecessor(void)
{
    struct text account = {.length = 0};

    predecessor_account_id(REGISTER);
    account.length = (uint32_t)register_len(REGISTER);
    need(account.length <= TEXT_MAX, "An account's name is too long");
    read_register(REGISTER, address(account.bytes));
    return account;
}

static void give_back(amount value)
{
    struct text result = {.length = 0};

    append(&result, "\"", 1);
    append_amount(&result, value);
    append(&result, "\"", 1);
    value_return(result.length, address(result.bytes));
}

/* ---- methods ---- */

static const char total[] = "total";

/* {"owner_id", "total_supply"} */
NEAR_EXPORT(new)
{
    struct text owner, key;
    amount supply;

    read_input();
    need(read_amount(total, sizeof total - 1) == 0, "The contract has already been initialized");
    owner = member("owner_id");
    supply = amount_of(member("total_supply"));
    key = balance_key(&owner);
    write_amount(key.bytes, key.length, supply);
    write_amount(total, sizeof total - 1, supply);
}

static void log_transfer(const struct text *from, const struct text *to, amount value)
{
    struct text line = {.length = 0};

    append(&line, "Transfer ", 9);
    append_amount(&line, value);
    append(&line, " from ", 6);
    append(&line, from->bytes, from->length);
    append(&line, " to ", 4);
    append(&line, to->bytes, to->length);
    log_utf8(line.length, address(line.bytes));
}

/* {"receiver_id", "amount"}, with one yoctoNEAR */
NEAR_EXPORT(ft_transfer)
{
    struct text sender = predecessor();
    struct text receiver, from, to;
    amount deposit, value, balance;

    attached_deposit(address(&deposit));
    need(deposit == 1, "Requires attached deposit of exactly 1 yoctoNEAR");
    read_input();
    receiver = member("receiver_id");
    value = amount_of(member("amount"));
    need(value > 0, "The amount should be a positive number");
    from = balance_key(&sender);
    to = balance_key(&receiver);
    balance = read_amount(from.bytes, from.length);
    need(balance >= value, "The account doesn't have enough balance");
    write_amount(from.bytes, from.length, balance - value);
    write_amount(to.bytes, to.length, read_amount(to.bytes, to.length) + value);
    log_transfer(&sender, &receiver, value);
}

/* {"account_id"} */
NEAR_EXPORT(ft_balance_of)
{
    struct text account, key;

    read_input();
    account = member("account_id");
    key = balance_key(&account);
    give_back(read_amount(key.bytes, key.length));
}

NEAR_EXPORT(ft_total_supply)
{
    give_back(read_amount(total, sizeof total - 1));
}
