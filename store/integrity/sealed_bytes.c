/* SPDX-License-Identifier: Apache-2.0 */
#include "store/integrity/sealed_bytes.h"

#include <endian.h>
#include <string.h>
#include <xxhash.h>

/* How often a thread searches bytes of this length or more. */
enum { LONG = 512, BIT_SEARCHES = 64, BYTE_SEARCHES = 2 };

/* Results of searches: SQLite reads a page again and again. */
enum { REMEMBERED = 64 };

struct correction {
    uint64_t found; /* the checksum of the damaged bytes; 0: unused */
    bool exists;
    unsigned char value;
    size_t at;
};

static uint64_t checksum_of(const unsigned char *bytes, size_t length, uint64_t seed)
{
    return htole64(XXH3_64bits_withSeed(bytes, length - SEAL_SIZE, seed));
}

void sealed_bytes_seal(unsigned char *bytes, size_t length, uint64_t seed)
{
    const uint64_t checksum = checksum_of(bytes, length, seed);

    memcpy(bytes + length - SEAL_SIZE, &checksum, sizeof checksum);
}

bool sealed_bytes_match(const unsigned char *bytes, size_t length, uint64_t seed)
{
    const uint64_t checksum = checksum_of(bytes, length, seed);

    return memcmp(bytes + length - SEAL_SIZE, &checksum, sizeof checksum) == 0;
}

/* Returns true if one byte of the checksum itself was changed. */
static bool differs_in_one_byte(const unsigned char *bytes, size_t length, uint64_t checksum)
{
    uint64_t difference;

    memcpy(&difference, bytes + length - SEAL_SIZE, sizeof difference);
    difference ^= checksum;
    for (int shift = 0; shift < 64; shift += 8)
        if ((difference & ~((uint64_t)UINT8_MAX << shift)) == 0)
            return true;
    return false;
}

/* Leaves the byte as it was unless the bytes match. */
static bool try_value(unsigned char *bytes, size_t length, uint64_t seed, size_t at, int value)
{
    const unsigned char before = bytes[at];

    bytes[at] = (unsigned char)value;
    if (sealed_bytes_match(bytes, length, seed))
        return true;
    bytes[at] = before;
    return false;
}

/* Returns the place of the byte, or `length`. */
static size_t search_bits(unsigned char *bytes, size_t length, uint64_t seed)
{
    for (size_t at = 0; at < length - SEAL_SIZE; at++)
        for (int bit = 0; bit < 8; bit++)
            if (try_value(bytes, length, seed, at, bytes[at] ^ 1 << bit))
                return at;
    return length;
}

static size_t search_bytes(unsigned char *bytes, size_t length, uint64_t seed)
{
    for (size_t at = 0; at < length - SEAL_SIZE; at++)
        for (int value = 0; value <= UINT8_MAX; value++)
            if (try_value(bytes, length, seed, at, value))
                return at;
    return length;
}

static bool may_search(size_t length, int *left)
{
    return length < LONG || (*left > 0 && (*left)-- > 0);
}

static size_t search(unsigned char *bytes, size_t length, uint64_t seed)
{
    static _Thread_local int bit_searches = BIT_SEARCHES, byte_searches = BYTE_SEARCHES;
    size_t at = length;

    if (may_search(length, &bit_searches))
        at = search_bits(bytes, length, seed);
    if (at == length && may_search(length, &byte_searches))
        at = search_bytes(bytes, length, seed);
    return at;
}

enum sealed_bytes_found sealed_bytes_correct(unsigned char *bytes, size_t length, uint64_t seed)
{
    static _Thread_local struct correction corrections[REMEMBERED];
    const uint64_t found = checksum_of(bytes, length, seed);
    struct correction *correction = &corrections[found % REMEMBERED];
    size_t at;

    if (differs_in_one_byte(bytes, length, found)) {
        sealed_bytes_seal(bytes, length, seed);
        return SEALED_BYTES_CORRECTED;
    }
    if (correction->found == found)
        return correction->exists && correction->at < length &&
                       try_value(bytes, length, seed, correction->at, correction->value)
                   ? SEALED_BYTES_AGAIN
                   : SEALED_BYTES_NOTHING;
    at = search(bytes, length, seed);
    *correction = (struct correction){.found = found, .exists = at < length, .at = at};
    if (!correction->exists)
        return SEALED_BYTES_NOTHING;
    correction->value = bytes[at];
    return SEALED_BYTES_CORRECTED;
}
