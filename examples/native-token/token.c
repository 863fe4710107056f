/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token of examples/wasm-token as native code: new, ft_transfer, ft_balance_of,
 * ft_total_supply. Build it with
 *
 *   cc -O2 -fPIC -shared -Iworker/native examples/native-token/token.c -o token.so
 *
 * In the storage, "b:ACCOUNT" is a balance, "total" the supply.
 */
#include <stdio.h>
#include <string.h>

#include <gascontract.h>

enum { TEXT_SIZE = 128 };

static void need(bool is_so, const char *words)
{
    if (!is_so)
        gascontract_abort(words, strlen(words));
}

/* ---- the input: a JSON object, of which members are found by their names ---- */

struct input {
    const char *bytes;
    size_t length;
};

/* Returns the place after the first occurrence of the words; NULL if absent. */
static const char *after_words(const struct input *input, const char *words, size_t length)
{
    for (size_t at = 0; at + length <= input->length; at++)
        if (memcmp(input->bytes + at, words, length) == 0)
            return input->bytes + at + length;
    return NULL;
}

/* A string without escapes. */
static void text_member(const struct input *input, const char *name, char text[TEXT_SIZE])
{
    char quoted[TEXT_SIZE];
    const int length = snprintf(quoted, sizeof quoted, "\"%s\":\"", name);
    const char *at = after_words(input, quoted, (size_t)length), *end;
    size_t size;

    need(at != NULL, "A member of the input is missing");
    end = memchr(at, '"', (size_t)(input->bytes + input->length - at));
    size = end != NULL ? (size_t)(end - at) : TEXT_SIZE;
    need(size < TEXT_SIZE && memchr(at, '\\', size) == NULL,
         "A text that is too long, or has an escape");
    memcpy(text, at, size);
    text[size] = '\0';
}

static uint64_t amount_member(const struct input *input, const char *name)
{
    char text[TEXT_SIZE];
    uint64_t value = 0;

    text_member(input, name, text);
    need(text[0] != '\0', "No amount");
    for (const char *at = text; *at != '\0'; at++)
        need(*at >= '0' && *at <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
                 !__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value),
             "No amount");
    return value;
}

/* ---- the storage ---- */

static uint64_t read_amount(const char *key)
{
    uint64_t value = 0;

    (void)gascontract_storage_read(key, strlen(key), &value, sizeof value);
    return value;
}

static void write_amount(const char *key, uint64_t value)
{
    gascontract_storage_write(key, strlen(key), &value, sizeof value);
}

static void balance_key(char key[TEXT_SIZE + 2], const char *account)
{
    snprintf(key, TEXT_SIZE + 2, "b:%s", account);
}

/* ---- methods ---- */

static void give_back(uint64_t value)
{
    char text[32];
    const int length = snprintf(text, sizeof text, "\"%llu\"", (unsigned long long)value);

    gascontract_result(text, (size_t)length);
}

static void start(const struct input *input)
{
    char owner[TEXT_SIZE], key[TEXT_SIZE + 2];
    const uint64_t supply = amount_member(input, "total_supply");

    need(!gascontract_storage_has("total", 5), "The contract has already been initialized");
    text_member(input, "owner_id", owner);
    balance_key(key, owner);
    write_amount(key, supply);
    write_amount("total", supply);
}

static void move(const char *from, const char *to, uint64_t value)
{
    char from_key[TEXT_SIZE + 2], to_key[TEXT_SIZE + 2], line[3 * TEXT_SIZE];
    uint64_t balance;
    int length;

    balance_key(from_key, from);
    balance = read_amount(from_key);
    need(balance >= value, "The account doesn't have enough balance");
    write_amount(from_key, balance - value);
    balance_key(to_key, to);
    write_amount(to_key, read_amount(to_key) + value);
    length = snprintf(line, sizeof line, "Transfer %llu from %s to %s", (unsigned long long)value,
                      from, to);
    gascontract_log(line, (size_t)length);
}

static void transfer(const struct input *input)
{
    const struct gascontract_amount deposit = gascontract_deposit();
    const uint64_t value = amount_member(input, "amount");
    char receiver[TEXT_SIZE];

    need(deposit.low == 1 && deposit.high == 0, "Requires attached deposit of exactly 1 yoctoNEAR");
    need(value > 0, "The amount should be a positive number");
    text_member(input, "receiver_id", receiver);
    move(gascontract_caller(), receiver, value);
}

static void balance_of(const struct input *input)
{
    char account[TEXT_SIZE], key[TEXT_SIZE + 2];

    text_member(input, "account_id", account);
    balance_key(key, account);
    give_back(read_amount(key));
}

void gascontract_call(const char *method, const void *bytes, size_t length)
{
    const struct input input = {bytes, length};

    if (strcmp(method, "new") == 0)
        start(&input);
    else if (strcmp(method, "ft_transfer") == 0)
        transfer(&input);
    else if (strcmp(method, "ft_balance_of") == 0)
        balance_of(&input);
    else if (strcmp(method, "ft_total_supply") == 0)
        give_back(read_amount("total"));
    else
        gascontract_abort("MethodNotFound", strlen("MethodNotFound"));
}
