/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include <xsAll.h>

/*
 * XS's patched string functions ask for each position in a string whether it is ASCII
 * (worker/xs/patches/string-offsets.patch). The answer is kept in its chunk's header, which moves
 * with it. A snapshot has none, so a worker that goes on behind one scans again, as one that was
 * restored from it does.
 *
 * The compiled-in meter does not count in this file: a block cost must not depend on whether a
 * string was scanned before. Each is scanned once, which its making paid for.
 */

enum { NOT_ASCII = -1 }; /* else 0: not known, or its length and 1 */

static int scan(const char *string)
{
    const uint64_t high_bits = 0x8080808080808080;
    const size_t length = strlen(string);
    uint64_t seen = 0, word;
    size_t at = 0;

    for (; at + sizeof word <= length; at += sizeof word) {
        memcpy(&word, string + at, sizeof word);
        seen |= word;
    }
    for (; at < length; at++)
        seen |= (unsigned char)string[at];
    return (seen & high_bits) != 0 ? NOT_ASCII : (int)length + 1;
}

/* Returns the length of a string in a chunk, or -1 if it is not ASCII. */
int xs_ascii_length(char *string)
{
    txChunk *chunk = (txChunk *)(string - sizeof *chunk);

    if (chunk->dummy == 0)
        chunk->dummy = scan(string);
    return chunk->dummy == NOT_ASCII ? -1 : chunk->dummy - 1;
}
