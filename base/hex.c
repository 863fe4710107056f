/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hex.h"

void hex_write(char *text, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *byte = bytes;

    for (size_t i = 0; i < length; i++) {
        text[2 * i] = digits[byte[i] >> 4];
        text[2 * i + 1] = digits[byte[i] & 15];
    }
    text[2 * length] = '\0';
}
