/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points of both curves. alt_bn128: the numbers of nearcore's logic/tests/alt_bn128.rs, and of
 * EIP-196 and EIP-197. bls12381: its generators; and with NEARCORE=DIR, a checkout of nearcore, all
 * its files of EIP-2537's vectors.
 */
#include "tests/unit/worker/near_logic.h"

enum { NUMBER = 48, REGISTER = 0, MOST = WASM_PAGE / 2 };

static void set_up(struct logic *logic)
{
    logic_open(logic);
    logic->parameters.max_gas_burnt = logic->context.prepaid_gas = UINT64_MAX / 2;
    logic_begin(logic);
}

/* ---- alt_bn128 ---- */

/* Appends hexadecimal numbers as 32 bytes, the last first; + and - as the byte of a sign. */
static struct logic_slice bn254_write(struct logic *logic, const char *words)
{
    uint8_t bytes[MOST];
    size_t size = 0;

    for (const char *at = words; *at != '\0'; at += strcspn(at, " "), at += *at == ' ') {
        const size_t digits = strcspn(at, " ");
        char number[65] = {0};
        uint8_t reversed[32];

        if (*at == '+' || *at == '-') {
            bytes[size++] = *at == '-';
            continue;
        }
        assert_in_range(digits, 1, 64);
        memset(number, '0', 64);
        memcpy(number + 64 - digits, at, digits);
        logic_unhex(number, reversed);
        for (int i = 31; i >= 0; i--)
            bytes[size++] = reversed[i];
    }
    logic->written = 0;
    return logic_write(logic, bytes, size);
}

/* Calls with these numbers. Expects a point, or an error that begins so. */
static void bn254_gives(near_function *function, const char *words, const char *expected)
{
    struct logic logic;
    struct logic_slice input, point;
    uint8_t bytes[64];

    set_up(&logic);
    input = bn254_write(&logic, words);
    if (expected[0] == 'A') {
        assert_false(logic_call(&logic, function,
                                (uint64_t[LOGIC_ARGUMENTS]){input.length, input.at, REGISTER}));
        if (strncmp(logic.error_text, expected, strlen(expected)) != 0)
            fail_msg("%s, not %s", logic.error_text, expected);
    } else {
        if (!logic_call(&logic, function,
                        (uint64_t[LOGIC_ARGUMENTS]){input.length, input.at, REGISTER}))
            fail_msg("%s", logic.error_text);
        point = bn254_write(&logic, expected);
        memcpy(bytes, logic.memory.bytes + point.at, sizeof bytes);
        logic_register_is(&logic, REGISTER, bytes, sizeof bytes);
    }
    logic_close(&logic);
}

#define A                                                                                          \
    "12b453155ca3be5d0b14a4804cc39a0b4635b06d512735350cd031051644d3ec "                            \
    "2944829dcfa7dd72bb04d12e46869e6a6c8162698f9a6c35724f91f597e25fc4"
#define B                                                                                          \
    "2d6b17489d86fcd5f91e8e92eb55081d8cb4413e408047249ef4fb5baa1b518b "                            \
    "1e4d0a30dbadd9dad40f7847c7013754ded8d0371c052d19f01453f4ae1506d7"
#define THREE                                                                                      \
    "26a1602aeb36e32dd1c534b1c014e920b138f4a8b87f2833ea6051c8cbd5eea2 "                            \
    "01eb929f0ab6720df89837a84f2787d6d8a8bd97e0daab0576321d85143633ee",                            \
        "15ad51e3d708bdf9ae99a3732af9354cc7b0f2ce71832b958b3e9b0215e63578 "                        \
        "231d7b68932527abdeb71488bd5c1e339306c10490d3c65f7daaa651a367c618",                        \
        "1302ac2f870ef22bdec4cd48058f309bcef761a7b40f78744157f3bbf25a016d "                        \
        "0c75e87050e62a4c3bf1e261da5a0f11c7ccaa090a0585365658f7a2b4b96fee"
#define SUM_OF_THREE                                                                               \
    "2ee5c54dee890fb79c9964f7a08c7295111990435dc3adff9fb6d63aadded21f "                            \
    "2c3fa1abf295e7df565379efcdb0398d08fc959a0a7e5d3f30118fefe9450a67"
/* EIP-196's generator, its double, its opposite. */
#define TWICE                                                                                      \
    "030644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd3 "                            \
    "15ed738c0e0a7c92e7845f96b2ae9c0a68a6a449e3538fc7ff3ebf7a5a18a2c4"
#define OPPOSITE     "1 30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd45"
#define ORDER_LESS_1 "30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000000"
#define PRIME        "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47"

static void bn254_multiplies(void **state)
{
    static const char *const three[] = {THREE};
    char words[1000];

    (void)state;
    (void)snprintf(words, sizeof words, "%s 1 %s 1 %s 1", three[0], three[1], three[2]);
    bn254_gives(near_host_alt_bn128_g1_multiexp, words, SUM_OF_THREE);
    bn254_gives(near_host_alt_bn128_g1_multiexp, "", "0 0");
    bn254_gives(near_host_alt_bn128_g1_multiexp, B " 1", B);
    bn254_gives(near_host_alt_bn128_g1_multiexp,
                A " 112b450c0769c7cd80ffa552aaab2153adb5646664ee091639784a7f887411f7 "
                  "32b2c8b9f1e7f5e53c262ae87ccd1366df1af019f2dbfe1a58a6749ba4b923f "
                  "17741cde8d55ccce3a1dac210f531d22f574885226ea46fbbce4a4c75f7ed8 "
                  "19e4956d3cf5e04f938bc9dee72f2fcab15934c7e0450ae15afee161606b071a",
                "2923a9d452a047e0f24ab419d7893ecbf0c32a842afd88f991a6723decba82aa "
                "2e3a00f94191675c0730510133c2fca248160750d87b5157c534146d4d260b61");
    bn254_gives(near_host_alt_bn128_g1_multiexp, "1 2 2", TWICE);
    bn254_gives(near_host_alt_bn128_g1_multiexp, "1 2 0", "0 0");
    bn254_gives(near_host_alt_bn128_g1_multiexp, "0 0 5", "0 0");
    bn254_gives(near_host_alt_bn128_g1_multiexp, "1 2 " ORDER_LESS_1, OPPOSITE);
    bn254_gives(near_host_alt_bn128_g1_multiexp, "1 2 " ORDER_LESS_1 " 1 2 1", "0 0");
}

static void bn254_sums(void **state)
{
    static const char *const three[] = {THREE};
    char words[1000];

    (void)state;
    (void)snprintf(words, sizeof words, "+ %s + %s + %s", three[0], three[1], three[2]);
    bn254_gives(near_host_alt_bn128_g1_sum, words, SUM_OF_THREE);
    bn254_gives(near_host_alt_bn128_g1_sum, "", "0 0");
    bn254_gives(near_host_alt_bn128_g1_sum, "+ " B, B);
    bn254_gives(near_host_alt_bn128_g1_sum,
                "+ " A " - 32b2c8b9f1e7f5e53c262ae87ccd1366df1af019f2dbfe1a58a6749ba4b923f "
                "304cda5602a44a5cea16280a60720540748bf609164ae0464063a772111d7e6f",
                "1e2e53eecef3185d5c874e783cb184d302692a22c20f5f3b3993882e184d8fe8 "
                "3fc2454d3d88f9eac441e9b85a9041e925f30cca7a82d039d1ffb582bfb2004");
    bn254_gives(near_host_alt_bn128_g1_sum, "+ 1 2 + 1 2", TWICE);
    bn254_gives(near_host_alt_bn128_g1_sum, "+ 1 2 - 1 2", "0 0");
    bn254_gives(near_host_alt_bn128_g1_sum, "- 1 2", OPPOSITE);
    bn254_gives(near_host_alt_bn128_g1_sum, "+ 0 0 - 0 0", "0 0");
}

static void bn254_refuses(void **state)
{
    (void)state;
    bn254_gives(near_host_alt_bn128_g1_multiexp, "1 2",
                "AltBn128 invalid input: slice of size 64 cannot be precisely split into chunks of "
                "size 96");
    bn254_gives(near_host_alt_bn128_g1_sum, "1 2",
                "AltBn128 invalid input: slice of size 64 cannot be precisely split into chunks of "
                "size 65");
    bn254_gives(near_host_alt_bn128_g1_multiexp, "92 0 1",
                "AltBn128 invalid input: invalid g1: [92, 0, 0, 0,");
    bn254_gives(near_host_alt_bn128_g1_multiexp, "1 3 1",
                "AltBn128 invalid input: invalid g1: [1,");
    bn254_gives(near_host_alt_bn128_g1_multiexp, "1 " PRIME " 1",
                "AltBn128 invalid input: invalid fq: [47, FD, 7C, D8, 16,");
    bn254_gives(near_host_alt_bn128_g1_multiexp,
                A " 30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001",
                "AltBn128 invalid input: invalid fr: [1, 0, 0, F0, 93,");
}

/* The generator of EIP-197's second group: each number is its part with u, then the other; here
 * the other is first. */
#define G2                                                                                         \
    "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed "                            \
    "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2 "                            \
    "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa "                            \
    "90689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"
/* On the twist, but not in the group. */
#define OUTSIDE                                                                                    \
    "1 0 2869111d5381f072f8e2728fdb825a51aadd70e52c9830e9ab4b871c0531f1bb "                        \
    "d1271953ed9ea0836846e70a1934187998c7f790cb4d7511b7f8da82de048a4"
#define PAIR_1                                                                                     \
    "763111c06b5066cc812f8e058d5b82a7bc356c83a1a5ab743ea4e7163d90a75 "                             \
    "41068a8ed41f6755c1ad2d30aacc3974a4fae3293aee34c7103b4c073358624"
#define PAIR_2                                                                                     \
    " 291aea4fac742aaf8772caa00c8763d509c3d6f20d1be64d73c10d06db031a01 "                           \
    "1de7a958e4adb3a128cd3b942b13bc85ee4124f0dee6f4266b39707c81c06fd4 "                            \
    "1e2d816ba8b96e5cb444883a2b095533becb805c654418fa2c65bba533a34311 "                            \
    "195dd519dc841a301a14de412c520b858c01ccc7ba0bd4177dd85d4b116416bb "
#define PAIR_3                                                                                     \
    "1f1cebcff0a999ffa7c1b582e9afd6c875760fde2679e9fd830bf3979504b04f "                            \
    "179fe95fb3fb3807ebbad5ed2b40ddd06f7b73525382a64a43489606b3454a53"
#define PAIR_4                                                                                     \
    " 201eef3c872a7313da79f6aa628cc9795314fbac78484fdae2eba5086755ad6d "                           \
    "204e0376b942fe92ba6e2746d07d62f5dede7b8b6e172fa89ea0c5c4ccabaa31 "                            \
    "e9f62300f921f5d4f2f7008aec59449a3f5e75add585ec4eccf04f5dc5b32f "                              \
    "17c150f0fb2ff472816b41868b98b9170233ee4647fe4bc41a1336c9a2c6567c"

static void bn254_pairs(const char *words, uint64_t expected)
{
    struct logic logic;
    struct logic_slice input;

    set_up(&logic);
    input = bn254_write(&logic, words);
    LOGIC_GIVES(&logic, expected, alt_bn128_pairing_check, input.length, input.at);
    logic_close(&logic);
}

static void bn254_checks_pairings(void **state)
{
    (void)state;
    bn254_pairs("", 1);
    bn254_pairs(PAIR_1 PAIR_2 PAIR_3 PAIR_4, 1);
    bn254_pairs(PAIR_1 PAIR_2 PAIR_1 PAIR_4, 0);
    bn254_pairs("1 2 " G2, 0);
    bn254_pairs("1 2 " G2 " " OPPOSITE " " G2, 1);
    bn254_pairs(TWICE " " G2 " " OPPOSITE " " G2 " " OPPOSITE " " G2, 1);
    bn254_pairs("0 0 " G2 " 1 2 0 0 0 0", 1);
    bn254_gives(near_host_alt_bn128_pairing_check, "1 2 " OUTSIDE,
                "AltBn128 invalid input: invalid g2: [");
    bn254_gives(near_host_alt_bn128_pairing_check, "0 0 0 0 0 111",
                "AltBn128 invalid input: invalid g2: [0, 0,");
    bn254_gives(near_host_alt_bn128_pairing_check, "0 0 0 " PRIME " 0 0",
                "AltBn128 invalid input: invalid fq: [47, FD,");
    bn254_gives(near_host_alt_bn128_pairing_check, "1",
                "AltBn128 invalid input: slice of size 32 cannot be precisely split into chunks of "
                "size 192");
}

static void bn254_is_paid_by_the_item(void **state)
{
    struct logic logic;
    struct logic_slice input;

    (void)state;
    set_up(&logic);
    input = bn254_write(&logic, "1 2 1 1 2 1");
    LOGIC_WORKS(&logic, alt_bn128_g1_multiexp, input.length, input.at, REGISTER);
    logic_costs_are(&logic, "read_memory_base 1 read_memory_byte 192 write_register_base 1 "
                            "write_register_byte 64 alt_bn128_g1_multiexp_base 1 "
                            "alt_bn128_g1_multiexp_element 2");
    input = bn254_write(&logic, "+ 1 2");
    LOGIC_WORKS(&logic, alt_bn128_g1_sum, input.length, input.at, REGISTER);
    logic_costs_are(&logic, "read_memory_base 1 read_memory_byte 65 write_register_base 1 "
                            "write_register_byte 64 alt_bn128_g1_sum_base 1 "
                            "alt_bn128_g1_sum_element 1");
    input = bn254_write(&logic, "1 2 " G2);
    LOGIC_GIVES(&logic, 0, alt_bn128_pairing_check, input.length, input.at);
    logic_costs_are(&logic, "read_memory_base 1 read_memory_byte 192 "
                            "alt_bn128_pairing_check_base 1 alt_bn128_pairing_check_element 1");
    logic_close(&logic);
}

/* ---- bls12381 ---- */

/* The generators, whose x begins with 9 where it is compressed. */
#define P1_REST                                                                                    \
    "7f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c" \
    "6bb"
#define P1_X     "1" P1_REST
#define P1_SHORT "9" P1_REST
#define P1                                                                                         \
    P1_X "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232" \
         "946c5e7e1"
#define P2_REST                                                                                    \
    "3e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042" \
    "b7e"                                                                                          \
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121" \
    "bdb8"
#define P2_SHORT "9" P2_REST
#define P2                                                                                         \
    "1" P2_REST "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1" \
    "aaa9075ff05f79be"                                                                             \
    "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b8" \
    "2801"
#define MINUS_Y                                                                                    \
    "114d1d6855d545a8aa7d76c8cf2e21f267816aef1db507c96655b9d5caac42364e6f38ba0ecb751bad54dcd6b939" \
    "c2ca"
#define ZEROS_47                                                                                   \
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000" \
    "00"
#define NOWHERE  "40" ZEROS_47 "00" ZEROS_47
#define ZERO_TWO "00" ZEROS_47 ZEROS_47 "02"
#define ONE      "0100000000000000000000000000000000000000000000000000000000000000"

static struct logic_slice hex_write(struct logic *logic, const char *digits)
{
    uint8_t bytes[MOST];

    logic->written = 0;
    return logic_write(logic, bytes, logic_unhex(digits, bytes));
}

/* Calls with these bytes; the status it has to give; then the register, unless NULL. */
static void bls_gives(struct logic *logic, near_function *function, const char *digits,
                      uint64_t status, const char *expected)
{
    const struct logic_slice input = hex_write(logic, digits);
    uint8_t bytes[MOST];

    if (!logic_call(logic, function, (uint64_t[LOGIC_ARGUMENTS]){input.length, input.at, REGISTER}))
        fail_msg("%s", logic->error_text);
    assert_int_equal(logic->result, status);
    if (expected != NULL)
        logic_register_is(logic, REGISTER, bytes, logic_unhex(expected, bytes));
}

static void bls_computes_with_the_generators(void **state)
{
    struct logic logic;

    (void)state;
    set_up(&logic);
    bls_gives(&logic, near_host_bls12381_p1_sum, "", 0, NOWHERE);
    bls_gives(&logic, near_host_bls12381_p1_sum, "00" P1, 0, P1);
    bls_gives(&logic, near_host_bls12381_p1_sum, "01" P1, 0, P1_X MINUS_Y);
    bls_gives(&logic, near_host_bls12381_p1_sum, "00" P1 "01" P1, 0, NOWHERE);
    bls_gives(&logic, near_host_bls12381_p1_sum, "00" P1 "00" NOWHERE, 0, P1);
    bls_gives(&logic, near_host_bls12381_p2_sum, "00" P2, 0, P2);
    bls_gives(&logic, near_host_bls12381_g1_multiexp, P1 ONE P1_X MINUS_Y ONE NOWHERE ONE, 0,
              NOWHERE);
    bls_gives(&logic, near_host_bls12381_g1_multiexp, P1 ONE, 0, P1);
    bls_gives(&logic, near_host_bls12381_g2_multiexp, P2 ONE, 0, P2);
    bls_gives(&logic, near_host_bls12381_p1_decompress, P1_SHORT P1_SHORT, 0, P1 P1);
    bls_gives(&logic, near_host_bls12381_p2_decompress, P2_SHORT, 0, P2);
    bls_gives(&logic, near_host_bls12381_pairing_check, "", 0, NULL);
    bls_gives(&logic, near_host_bls12381_pairing_check, P1 P2, 2, NULL);
    bls_gives(&logic, near_host_bls12381_pairing_check, P1 P2 P1_X MINUS_Y P2, 0, NULL);
    bls_gives(&logic, near_host_bls12381_pairing_check, NOWHERE P2, 0, NULL);
    logic_close(&logic);
}

static void bls_reports_what_is_no_point(void **state)
{
    struct logic logic;

    (void)state;
    set_up(&logic);
    bls_gives(&logic, near_host_bls12381_p1_sum, "02" P1, 1, NULL);
    bls_gives(&logic, near_host_bls12381_p1_sum, "00" P1_X P1_X, 1, NULL);
    bls_gives(&logic, near_host_bls12381_p1_sum, "00" P1_SHORT ZEROS_47 "00", 1, NULL);
    bls_gives(&logic, near_host_bls12381_p1_decompress, P1_X, 1, NULL);
    bls_gives(&logic, near_host_bls12381_map_fp_to_g1, "ff" ZEROS_47, 1, NULL);
    bls_gives(&logic, near_host_bls12381_pairing_check, P1_X P1_X P2, 1, NULL);
    logic_close(&logic);
}

/* blst says that (0, 2), which is on the curve, is not in the group. */
static void bls_takes_points_outside_the_group_after_the_fix(void **state)
{
    struct logic logic;

    (void)state;
    set_up(&logic);
    for (uint64_t fix = 0; fix <= 1; fix++) {
        logic.parameters.bls12381_not_in_group_fix = fix;
        bls_gives(&logic, near_host_bls12381_p1_sum, "00" ZERO_TWO, fix == 0, NULL);
        bls_gives(&logic, near_host_bls12381_p1_decompress, "80" ZEROS_47, fix == 0, NULL);
        bls_gives(&logic, near_host_bls12381_g1_multiexp, ZERO_TWO ONE, 1, NULL);
        bls_gives(&logic, near_host_bls12381_pairing_check, ZERO_TWO P2, 1, NULL);
    }
    logic_close(&logic);
}

static void bls_is_paid_by_the_length(void **state)
{
    struct logic logic;
    struct logic_slice input;

    (void)state;
    set_up(&logic);
    bls_gives(&logic, near_host_bls12381_p2_sum, "00" P2, 0, NULL);
    logic_costs_are(&logic, "read_memory_base 1 read_memory_byte 193 write_register_base 1 "
                            "write_register_byte 192 bls12381_p2_sum_base 1 "
                            "bls12381_p2_sum_element 1");
    bls_gives(&logic, near_host_bls12381_pairing_check, P1 P2, 2, NULL);
    logic_costs_are(&logic, "read_memory_base 1 read_memory_byte 288 bls12381_pairing_base 1 "
                            "bls12381_pairing_element 1");
    bls_gives(&logic, near_host_bls12381_p1_decompress, P1_X, 1, NULL);
    logic_costs_are(&logic, "read_memory_base 1 read_memory_byte 48 bls12381_p1_decompress_base 1 "
                            "bls12381_p1_decompress_element 1");
    input = hex_write(&logic, P1);
    LOGIC_FAILS(&logic,
                "BLS12-381 invalid input: Incorrect input length for bls12381_p1_multiexp: 96 is "
                "not divisible by 128",
                bls12381_g1_multiexp, input.length, input.at, REGISTER);
    LOGIC_FAILS(&logic,
                "BLS12-381 invalid input: Incorrect input length for bls12381_pairing_check: 96 is "
                "not divisible by 288",
                bls12381_pairing_check, input.length, input.at);
    /* A register's length is that of its name: 2^64 - 1. */
    LOGIC_FAILS(&logic, "Integer overflow.", bls12381_p1_sum, UINT64_MAX, REGISTER, REGISTER);
    logic_close(&logic);
}

/* ---- EIP-2537's vectors, in nearcore ---- */

/* An item has: a sign (+), a number (n), a pair of them (N), a point of either curve (p, P), a
 * scalar (s). Its result: a point, whether pairings are 1 (?), an error (!). */
struct eip_file {
    const char *name;
    near_function *function;
    const char *item, *result;
};

/* Appends a part in NEAR's form to *to; returns what follows it. Numbers there have 16 more bytes,
 * the parts of a pair come in the other order, infinity is zeros, scalars begin with the most. */
static const uint8_t *eip_part(char kind, const uint8_t *from, uint8_t **to)
{
    enum { PADDED = 64, SCALAR = 32 };
    static const uint8_t zeros[4 * PADDED];
    const bool is_point = kind == 'p' || kind == 'P', is_pair = kind == 'N' || kind == 'P';
    const size_t count = (is_point ? 2U : 1U) * (is_pair ? 2U : 1U);
    uint8_t *const begin = *to;

    if (kind == '+') {
        *(*to)++ = 0;
        return from;
    }
    for (size_t i = 0; kind == 's' && i < SCALAR; i++)
        *(*to)++ = from[SCALAR - 1 - i];
    if (kind == 's')
        return from + SCALAR;
    for (size_t i = 0; i < count; i++, *to += NUMBER)
        memcpy(*to, from + PADDED * (is_pair ? i ^ 1 : i) + PADDED - NUMBER, NUMBER);
    if (is_point && memcmp(from, zeros, count * PADDED) == 0)
        *begin |= 0x40;
    return from + count * PADDED;
}

static void eip_line_holds(const struct eip_file *file, const char *digits, const char *expected)
{
    static uint8_t bytes[MOST], given[MOST];
    const uint8_t *from = bytes, *const end = bytes + logic_unhex(digits, bytes);
    uint8_t *to = given;
    struct logic logic;
    struct logic_slice input;

    set_up(&logic);
    while (from < end)
        for (const char *kind = file->item; *kind != '\0'; kind++)
            from = eip_part(*kind, from, &to);
    input = logic_write(&logic, given, (size_t)(to - given));
    if (!logic_call(&logic, file->function,
                    (uint64_t[LOGIC_ARGUMENTS]){input.length, input.at, REGISTER}))
        fail_msg("%s: %s", file->name, logic.error_text);
    if (file->result[0] == '?') {
        assert_int_equal(logic.result, strlen(expected) != 64 ? 1 : expected[63] == '1' ? 0 : 2);
    } else if (file->result[0] == '!') {
        assert_true(logic.result == 1 || strstr(expected, "encoding are NOT zeroes") != NULL);
    } else {
        assert_int_equal(logic.result, 0);
        logic_unhex(expected, bytes);
        to = given;
        (void)eip_part(file->result[0], bytes, &to);
        logic_register_is(&logic, REGISTER, given, (uint64_t)(to - given));
    }
    logic_close(&logic);
}

/* Each line: digits, a comma, what is expected. Returns how many there were. */
static unsigned eip_file_holds(const struct eip_file *file, const char *checkout)
{
    static char line[4 * MOST];
    char path[4096];
    unsigned count = 0;
    FILE *stream;

    (void)snprintf(path, sizeof path,
                   "%s/runtime/near-vm-runner/src/logic/tests/bls12381_test_vectors/%s.csv",
                   checkout, file->name);
    stream = fopen(path, "re");
    if (stream == NULL)
        fail_msg("cannot read %s", path);
    for (; fgets(line, sizeof line, stream) != NULL; count++) {
        char *comma = strchr(line, ',');

        assert_non_null(comma);
        *comma = '\0';
        comma[1 + strcspn(comma + 1, "\r\n")] = '\0';
        if (count > 0)
            eip_line_holds(file, line, comma + 1);
    }
    (void)fclose(stream);
    return count - 1;
}

static void bls_gives_what_nearcores_files_have(void **state)
{
    static const struct eip_file files[] = {
        {"g1_add", near_host_bls12381_p1_sum, "+p+p", "p"},
        {"g2_add", near_host_bls12381_p2_sum, "+P+P", "P"},
        {"g1_mul", near_host_bls12381_g1_multiexp, "ps", "p"},
        {"g2_mul", near_host_bls12381_g2_multiexp, "Ps", "P"},
        {"g1_multiexp", near_host_bls12381_g1_multiexp, "ps", "p"},
        {"g2_multiexp", near_host_bls12381_g2_multiexp, "Ps", "P"},
        {"multiexp_g1_error", near_host_bls12381_g1_multiexp, "ps", "!"},
        {"multiexp_g2_error", near_host_bls12381_g2_multiexp, "Ps", "!"},
        {"fp_to_g1", near_host_bls12381_map_fp_to_g1, "n", "p"},
        {"fp2_to_g2", near_host_bls12381_map_fp2_to_g2, "N", "P"},
        {"fp_to_g1_error", near_host_bls12381_map_fp_to_g1, "n", "!"},
        {"fp2_to_g2_error", near_host_bls12381_map_fp2_to_g2, "N", "!"},
        {"pairing", near_host_bls12381_pairing_check, "pP", "?"},
        {"pairing_error", near_host_bls12381_pairing_check, "pP", "?"},
    };
    const char *checkout = getenv("NEARCORE");
    unsigned count = 0;

    (void)state;
    if (checkout == NULL) {
        print_message("NEARCORE does not name a checkout of nearcore\n");
        skip();
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        count += eip_file_holds(&files[i], checkout);
    print_message("%u vectors\n", count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bn254_multiplies),
        cmocka_unit_test(bn254_sums),
        cmocka_unit_test(bn254_refuses),
        cmocka_unit_test(bn254_checks_pairings),
        cmocka_unit_test(bn254_is_paid_by_the_item),
        cmocka_unit_test(bls_computes_with_the_generators),
        cmocka_unit_test(bls_reports_what_is_no_point),
        cmocka_unit_test(bls_takes_points_outside_the_group_after_the_fix),
        cmocka_unit_test(bls_is_paid_by_the_length),
        cmocka_unit_test(bls_gives_what_nearcores_files_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
