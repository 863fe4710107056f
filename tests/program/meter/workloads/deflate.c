/* SPDX-License-Identifier: Apache-2.0 */
/* zlib at work: text compressed at three levels, and back. usage: deflate ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { TEXT_SIZE = 200000 };

static unsigned char text[TEXT_SIZE], back[TEXT_SIZE], packed[TEXT_SIZE * 2];

int main(int argc, char **argv)
{
    static const char *const words[] = {"deliver", "result", "syscall", "vat", "crank", "meter"};
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    unsigned long sum = 0;
    unsigned next = 1;

    for (size_t at = 0; at + 16 < TEXT_SIZE;) {
        next = next * 1103515245 + 12345;
        at += (size_t)sprintf((char *)text + at, "%s%u ", words[next >> 16 & 3], next >> 24 & 31);
    }
    for (int i = 0; i < rounds; i++) {
        for (int level = 1; level <= 9; level += 4) {
            uLongf packed_size = sizeof packed, size = sizeof back;

            if (compress2(packed, &packed_size, text, sizeof text, level) != Z_OK ||
                uncompress(back, &size, packed, packed_size) != Z_OK ||
                memcmp(text, back, sizeof text) != 0)
                return 1;
            sum = sum * 31 + packed_size + crc32(0, packed, (uInt)packed_size);
        }
    }
    printf("%u\n", (unsigned)sum);
    return 0;
}
