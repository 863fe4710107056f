/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that ecrecover recovers, by the table tests/data/ecrecover.txt, and what that costs. */
#include "tests/unit/worker/near_logic.h"

struct recovery {
    char hash[65], signature[129], key[129]; /* key: "-" where none is recovered */
    char v[2], refuse_malleable[2];          /* a digit each */
};

static void recovers(const struct recovery *recovery)
{
    const bool found = recovery->key[0] != '-';
    uint8_t bytes[64] = {0};
    struct logic logic;
    struct logic_slice hash, signature;

    logic_open(&logic);
    logic_begin(&logic);
    hash = logic_write(&logic, bytes, logic_unhex(recovery->hash, bytes));
    signature = logic_write(&logic, bytes, logic_unhex(recovery->signature, bytes));
    LOGIC_GIVES(&logic, found, ecrecover, hash.length, hash.at, signature.length, signature.at,
                (uint64_t)(recovery->v[0] - '0'), (uint64_t)(recovery->refuse_malleable[0] - '0'),
                1);
    logic_costs_are(&logic, found ? "read_memory_base 2 read_memory_byte 96 ecrecover_base 1 "
                                    "write_register_base 1 write_register_byte 64"
                                  : "read_memory_base 2 read_memory_byte 96 ecrecover_base 1");
    if (found)
        logic_register_is_hex(&logic, 1, recovery->key);
    logic_close(&logic);
}

static void test_ecrecover(void **state)
{
    FILE *file = fopen("tests/data/ecrecover.txt", "r");
    struct recovery recovery;
    unsigned rows = 0;
    char line[512];

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        assert_int_equal(sscanf(line, "%64s %128s %1s %1s %128s", recovery.hash, recovery.signature,
                                recovery.v, recovery.refuse_malleable, recovery.key),
                         5);
        recovers(&recovery);
        rows++;
    }
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rows, 81);
}

/* ecrecover ends the call if an argument has the wrong form. */
static void ecrecover_refuses(void **state)
{
    struct logic logic;

    (void)state;
    logic_open(&logic);
    logic_begin(&logic);
    LOGIC_FAILS(&logic, "ECDSA recover error: The length of the signature: 63", ecrecover, 32, 0,
                63, 32, 0, 0, 1);
    LOGIC_FAILS(&logic, "ECDSA recover error: V recovery byte", ecrecover, 32, 0, 64, 32, 4, 0, 1);
    LOGIC_FAILS(&logic, "ECDSA recover error: The length of the hash: 31", ecrecover, 31, 0, 64, 32,
                0, 0, 1);
    LOGIC_FAILS(&logic, "ECDSA recover error: Malleability flag", ecrecover, 32, 0, 64, 32, 0, 2,
                1);
    logic_close(&logic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ecrecover),
        cmocka_unit_test(ecrecover_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
