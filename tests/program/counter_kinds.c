/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of hexadecimal bytes with blanks between, each an instruction, on stdin;
 * on stdout the class and the access to memory that the counter takes it for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "counter/kind.h"

int main(void)
{
    char line[256];

    while (fgets(line, sizeof line, stdin) != NULL) {
        uint8_t bytes[16];
        size_t size = 0;
        char *at = line, *end;
        struct opcode opcode;
        struct kind kind;

        for (; size < sizeof bytes; at = end) {
            unsigned long byte = strtoul(at, &end, 16);

            if (end == at)
                break;
            bytes[size++] = (uint8_t)byte;
        }
        opcode = opcode_of(bytes, size);
        kind = kind_of(&opcode);
        printf("%s %s\n", kind_class_names[kind.class], kind_memory_names[kind.memory]);
    }
    return 0;
}
