/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_EXAMPLES_WASM_CONTRACT_H
#define GASPIPE_EXAMPLES_WASM_CONTRACT_H

#include "examples/wasm/near.h"

/*
 * Functions that the examples share: texts, the members of the input, amounts, accounts, storage. A
 * contract is one source file, so that nothing of this that it does not use gets into its module.
 * Whatever goes wrong ends the call with a panic.
 */

enum { TEXT_MAX = 384, INPUT_MAX = 1024, REGISTER = 0 };

typedef unsigned __int128 amount; /* yoctoNEAR, or parts of a token; decimal outside */

/* The compiler makes calls of these, and there is no library. */
void *memcpy(void *to, const void *from, __SIZE_TYPE__ count);
void *memset(void *to, int byte, __SIZE_TYPE__ count);
amount __multi3(amount left, amount right);

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

amount __multi3(amount left, amount right)
{
    amount product = 0;

    for (; right != 0; right >>= 1, left <<= 1)
        if (right & 1)
            product += left;
    return product;
}

static inline uint64_t address(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

static inline uint32_t length_of(const char *text)
{
    uint32_t length = 0;

    while (text[length] != '\0')
        length++;
    return length;
}

static inline _Noreturn void fail(const char *words)
{
    panic_utf8(length_of(words), address(words));
}

static inline void need(int is_so, const char *words)
{
    if (!is_so)
        fail(words);
}

/* ---- texts; the length is set before anything is appended ---- */

struct text {
    uint32_t length;
    char bytes[TEXT_MAX];
};

static inline void append_bytes(struct text *text, const char *bytes, uint32_t length)
{
    need(length <= TEXT_MAX - text->length, "A text is too long");
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static inline void append(struct text *text, const char *words)
{
    append_bytes(text, words, length_of(words));
}

static inline void append_text(struct text *text, const struct text *other)
{
    append_bytes(text, other->bytes, other->length);
}

/* In quotes. Nothing in it has to be escaped, since text_member() takes nothing of that kind. */
static inline void append_quoted(struct text *text, const struct text *other)
{
    append(text, "\"");
    append_text(text, other);
    append(text, "\"");
}

static inline int text_is(const struct text *text, const struct text *other)
{
    if (text->length != other->length)
        return 0;
    for (uint32_t i = 0; i < text->length; i++)
        if (text->bytes[i] != other->bytes[i])
            return 0;
    return 1;
}

static inline void text_set(struct text *text, const char *words)
{
    text->length = 0;
    append(text, words);
}

static inline void text_from_register(struct text *text)
{
    text->length = (uint32_t)register_len(REGISTER);
    need(text->length <= TEXT_MAX, "A text is too long");
    read_register(REGISTER, address(text->bytes));
}

static inline void give_back(const struct text *text)
{
    value_return(text->length, address(text->bytes));
}

static inline void log_text(const struct text *text)
{
    log_utf8(text->length, address(text->bytes));
}

/* ---- the input: a JSON object, of which members are found by their names ---- */

static char input_bytes[INPUT_MAX];
static uint32_t input_length;

static inline void read_input(void)
{
    input(REGISTER);
    input_length = (uint32_t)register_len(REGISTER);
    need(input_length <= INPUT_MAX, "The input is too long");
    read_register(REGISTER, address(input_bytes));
}

/* Returns true if "name" is there. */
static inline int is_name(uint32_t at, const char *name, uint32_t length)
{
    if (at + length + 2 > input_length || input_bytes[at] != '"' ||
        input_bytes[at + length + 1] != '"')
        return 0;
    for (uint32_t i = 0; i < length; i++)
        if (input_bytes[at + 1 + i] != name[i])
            return 0;
    return 1;
}

/* Returns the start of the member's value, after the colon; 0 if absent. */
static inline uint32_t find_member(const char *name)
{
    const uint32_t length = length_of(name);

    for (uint32_t at = 0; at < input_length; at++) {
        uint32_t after = at + length + 2;

        if (!is_name(at, name, length))
            continue;
        while (after < input_length && (input_bytes[after] == ':' || input_bytes[after] == ' '))
            after++;
        if (after > at + length + 2)
            return after;
    }
    return 0;
}

/* A string without escapes. */
static inline void text_member(struct text *value, const char *name)
{
    uint32_t at = find_member(name);

    need(at != 0 && at < input_length && input_bytes[at] == '"',
         "A member of the input is missing");
    value->length = 0;
    for (at++; at < input_length && input_bytes[at] != '"'; at++) {
        need(input_bytes[at] != '\\' && (unsigned char)input_bytes[at] >= ' ',
             "A text with an escape");
        append_bytes(value, &input_bytes[at], 1);
    }
}

/* ---- amounts ---- */

static inline amount amount_of(const char *digits, uint32_t length)
{
    amount value = 0;

    need(length > 0 && length <= 38, "No amount");
    for (uint32_t i = 0; i < length; i++) {
        need(digits[i] >= '0' && digits[i] <= '9', "No amount");
        value = value * 10 + (unsigned)(digits[i] - '0');
    }
    return value;
}

static inline amount amount_member(const char *name)
{
    struct text text;

    text_member(&text, name);
    return amount_of(text.bytes, text.length);
}

/* A number that is written without quotes. */
static inline amount number_member(const char *name)
{
    const uint32_t at = find_member(name);
    uint32_t end = at;

    need(at != 0, "A member of the input is missing");
    while (end < input_length && input_bytes[end] >= '0' && input_bytes[end] <= '9')
        end++;
    return amount_of(input_bytes + at, end - at);
}

/* Divides by ten in pieces of 32 bits, since there is no library for 128. The rest. */
static inline unsigned divide_by_ten(amount *value)
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

static inline void append_amount(struct text *text, amount value)
{
    char digits[40];
    uint32_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + divide_by_ten(&value));
    while (value != 0);
    append_bytes(text, digits + at, sizeof digits - at);
}

static inline void give_back_amount(amount value)
{
    struct text result;

    text_set(&result, "\"");
    append_amount(&result, value);
    append(&result, "\"");
    give_back(&result);
}

/* ---- accounts ---- */

static inline void predecessor(struct text *account)
{
    predecessor_account_id(REGISTER);
    text_from_register(account);
}

static inline void current_account(struct text *account)
{
    current_account_id(REGISTER);
    text_from_register(account);
}

static inline amount attached(void)
{
    amount value = 0;

    attached_deposit(address(&value));
    return value;
}

static inline void need_one_yocto(void)
{
    need(attached() == 1, "Requires attached deposit of exactly 1 yoctoNEAR");
}

/* ---- storage: records under a prefix and a text ---- */

static inline void make_key(struct text *key, const char *prefix, const struct text *rest)
{
    text_set(key, prefix);
    append_text(key, rest);
}

/* False, with the value as it was, where there is no such record. */
static inline int read_record(const struct text *key, void *value, uint32_t size)
{
    if (storage_read(key->length, address(key->bytes), REGISTER) != 1)
        return 0;
    need(register_len(REGISTER) == size, "A record is damaged");
    read_register(REGISTER, address(value));
    return 1;
}

static inline void write_record(const struct text *key, const void *value, uint32_t size)
{
    storage_write(key->length, address(key->bytes), size, address(value), REGISTER);
}

#endif
