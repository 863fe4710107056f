/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls methods of a contract, one after the other, in the world of nearcore's own tests
 * (runtime/near-vm-runner/src/tests/test_builder.rs) with a storage in memory.
 * usage: wasm_near [-q] [-c CODE.so] VERSION GAS FILE METHOD[+DEPOSIT][=INPUT] ...
 * With -c, in machine code by gaspipe compile; the last line on stderr says how many calls it
 * answered and gave up. With -q, of the last call only. Prints a line for each call: METHOD burnt N
 * operations N usage N, then result TEXT or error TEXT where there is one; logs as "log TEXT"
 * before it. Exit status: 0 all were called, 2 usage, or the file cannot be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "worker/near/contract.h"
#include "worker/wasm/compiled/compiled.h"

enum { FILE_LIMIT = 16 * 1024 * 1024, MOST_RECORDS = 1000 };

struct record {
    struct buf key, value;
    bool is_there;
};

static struct record records[MOST_RECORDS];
static bool is_quiet;

static struct record *find(struct wasm_bytes key)
{
    unsigned i = 0;

    for (; i < MOST_RECORDS && records[i].is_there; i++)
        if (records[i].key.length == key.length &&
            memcmp(records[i].key.data, key.data, key.length) == 0)
            return &records[i];
    return i < MOST_RECORDS ? &records[i] : NULL;
}

static int get(void *context, struct wasm_bytes key, struct buf *value, bool *found)
{
    const struct record *record = find(key);

    (void)context;
    *found = record != NULL && record->is_there;
    buf_clear(value);
    return *found ? buf_append(value, record->value.data, record->value.length) : 0;
}

static int set(void *context, struct wasm_bytes key, struct wasm_bytes value)
{
    struct record *record = find(key);

    (void)context;
    if (record == NULL)
        return -1;
    if (!record->is_there)
        buf_append(&record->key, key.data, key.length);
    record->is_there = true;
    buf_clear(&record->value);
    return buf_append(&record->value, value.data, value.length);
}

static int take_away(void *context, struct wasm_bytes key)
{
    struct record *record = find(key);
    struct record *last = record;

    (void)context;
    while (last + 1 < records + MOST_RECORDS && last[1].is_there)
        last++;
    if (last != record) {
        const struct record gone = *record;

        *record = *last;
        *last = gone;
    }
    buf_free(&last->key);
    buf_free(&last->value);
    last->is_there = false;
    return 0;
}

static int print_log(void *context, const char *text, size_t length)
{
    (void)context;
    if (!is_quiet)
        printf("log %.*s\n", (int)length, text);
    return 0;
}

static const struct near_storage storage = {
    .get = get, .set = set, .remove = take_away, .log = print_log};

/* The storage that is used is what the call before left. */
static uint64_t call(struct near_contract *contract, char *method, uint64_t gas, uint64_t usage)
{
    static const uint8_t bytes[] = {0, 1, 2};
    char *input = strchr(method, '='), *deposit;
    struct near_context context = {
        .current_account = "alice",
        .signer_account = "bob",
        .predecessor_account = "carol",
        .chain = "test",
        .signer_key = {bytes, sizeof bytes},
        .random_seed = {bytes, sizeof bytes},
        .block_height = 10,
        .block_timestamp = 42,
        .epoch_height = 1,
        .balance = 2,
        .deposit = 2,
        .storage_usage = usage,
        .prepaid_gas = gas,
    };
    struct near_outcome outcome;

    if (input != NULL) {
        *input++ = '\0';
        context.input = (struct wasm_bytes){(uint8_t *)input, (uint32_t)strlen(input)};
    }
    deposit = strchr(method, '+');
    if (deposit != NULL) {
        *deposit++ = '\0';
        context.deposit = strtoull(deposit, NULL, 10);
    }
    outcome = near_contract_call(contract, method, &context, &storage);
    if (is_quiet)
        return outcome.storage_usage;
    printf("%s burnt %" PRIu64 " operations %" PRIu64 " usage %" PRIu64, method, outcome.burnt_gas,
           outcome.operations, outcome.storage_usage);
    if (outcome.error != NULL)
        printf(" error %s", outcome.error);
    else if (outcome.has_result)
        printf(" result %.*s", (int)outcome.result->length, outcome.result->data);
    putchar('\n');
    return outcome.storage_usage;
}

/* NULL after a message. */
static struct compiled_code *load_code(const char *path)
{
    struct error error;
    struct compiled_code *code = compiled_code_open(path, &error);

    if (code == NULL)
        fprintf(stderr, "wasm_near: %s\n", error.text);
    return code;
}

static void print_tiers(const struct near_contract *contract)
{
    const struct near_tiers tiers = near_contract_tiers(contract);

    fprintf(stderr, "%s, %" PRIu64 " calls compiled, %" PRIu64 " abandoned\n",
            near_contract_is_compiled(contract) ? "compiled" : "interpreted", tiers.compiled,
            tiers.abandoned);
}

int main(int argc, char **argv)
{
    struct near_contract *contract;
    struct compiled_code *code = NULL;
    struct buf bytes = {0};
    struct error error;
    uint64_t usage = 12;

    is_quiet = argc > 1 && strcmp(argv[1], "-q") == 0;
    argc -= is_quiet;
    argv += is_quiet;
    if (argc > 3 && strcmp(argv[1], "-c") == 0) {
        code = load_code(argv[2]);
        if (code == NULL)
            return 2;
        argc -= 2;
        argv += 2;
    }
    if (argc < 5) {
        fputs("usage: wasm_near [-q] [-c CODE.so] VERSION GAS FILE METHOD[+DEPOSIT][=INPUT] ...\n",
              stderr);
        return 2;
    }
    if (io_read_file(argv[3], FILE_LIMIT, &bytes, &error) != 0 ||
        (contract = near_contract_open_compiled((const uint8_t *)bytes.data, bytes.length, argv[1],
                                                code, &error)) == NULL) {
        fprintf(stderr, "wasm_near: %s\n", error.text);
        return 2;
    }
    buf_free(&bytes);
    for (int i = 4; i < argc; i++) {
        is_quiet = is_quiet && i < argc - 1;
        usage = call(contract, argv[i], strtoull(argv[2], NULL, 10), usage);
    }
    if (code != NULL)
        print_tiers(contract);
    near_contract_close(contract);
    compiled_code_close(code);
    for (unsigned i = 0; i < MOST_RECORDS; i++) {
        buf_free(&records[i].key);
        buf_free(&records[i].value);
    }
    return 0;
}
