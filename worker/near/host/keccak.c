/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/near/host/keccak.h"

#include <string.h>

enum { LANES = 25, ROUNDS = 24, STATE_BYTES = 200 };

/* As the Keccak reference (version 3.0, section 1.2) derives them. */
static const uint64_t round_constants[ROUNDS] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
};

static uint64_t rotate(uint64_t lane, unsigned by)
{
    return by == 0 ? lane : lane << by | lane >> (64 - by);
}

static void theta(uint64_t *a)
{
    uint64_t column[5];

    for (unsigned x = 0; x < 5; x++)
        column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
    for (unsigned i = 0; i < LANES; i++)
        a[i] ^= column[(i + 4) % 5] ^ rotate(column[(i + 1) % 5], 1);
}

/* rho and pi: each lane is turned and goes where another was. */
static void rho_pi(uint64_t *a)
{
    uint64_t lane = a[1];
    unsigned x = 1, y = 0, turn = 0;

    for (unsigned t = 0; t < ROUNDS; t++) {
        const unsigned next = (2 * x + 3 * y) % 5;
        uint64_t kept;

        turn += t + 1;
        x = y;
        y = next;
        kept = a[x + 5 * y];
        a[x + 5 * y] = rotate(lane, turn % 64);
        lane = kept;
    }
}

static void chi(uint64_t *a)
{
    for (unsigned row = 0; row < LANES; row += 5) {
        uint64_t b[5];

        memcpy(b, a + row, sizeof b);
        for (unsigned x = 0; x < 5; x++)
            a[row + x] = b[x] ^ (~b[(x + 1) % 5] & b[(x + 2) % 5]);
    }
}

static void permute(uint64_t *a)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        theta(a);
        rho_pi(a);
        chi(a);
        a[0] ^= round_constants[round];
    }
}

static void absorb(uint64_t *a, const uint8_t *block, size_t rate)
{
    for (size_t i = 0; i < rate; i++)
        a[i / 8] ^= (uint64_t)block[i] << (8 * (i % 8));
    permute(a);
}

void near_keccak(const uint8_t *bytes, size_t length, uint8_t *hash, size_t size)
{
    const size_t rate = STATE_BYTES - 2 * size;
    uint64_t a[LANES] = {0};
    uint8_t last[STATE_BYTES] = {0};

    for (; length >= rate; bytes += rate, length -= rate)
        absorb(a, bytes, rate);
    if (length != 0)
        memcpy(last, bytes, length);
    last[length] = 0x01;
    last[rate - 1] |= 0x80;
    absorb(a, last, rate);
    for (size_t i = 0; i < size; i++)
        hash[i] = (uint8_t)(a[i / 8] >> (8 * (i % 8)));
}
