/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/varint.h"

void varint_append(struct buf *bytes, uint64_t number)
{
    for (; number > 0x7f; number >>= 7)
        buf_append_byte(bytes, (char)(number | 0x80));
    buf_append_byte(bytes, (char)number);
}

/* 0, -1, 1, -2, … as 0, 1, 2, 3, … */
void varint_append_signed(struct buf *bytes, int64_t number)
{
    uint64_t doubled = (uint64_t)number << 1;

    varint_append(bytes, number < 0 ? ~doubled : doubled);
}

uint64_t varint_read(const char **at)
{
    uint64_t number = 0, byte;
    unsigned shift = 0;

    do {
        byte = (unsigned char)*(*at)++;
        number |= (byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    return number;
}

int64_t varint_read_signed(const char **at)
{
    uint64_t number = varint_read(at);

    return (int64_t)((number & 1) != 0 ? ~(number >> 1) : number >> 1);
}
