/* SPDX-License-Identifier: Apache-2.0 */
#include "base/visible.h"

void visible_bytes(char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];

        if (byte < 0x20 || byte == 0x7f) {
            bytes[i] = ' ';
        } else if (byte == 0xc2 && i + 1 < length && ((unsigned char)bytes[i + 1] & 0xe0) == 0x80) {
            bytes[i++] = ' ';
            bytes[i] = ' ';
        }
    }
}
