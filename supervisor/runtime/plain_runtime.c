/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/runtime/plain_runtime.h"

#include <stdint.h>

__asm__(".pushsection .rodata\n"
        "plain_runtime_begin:\n"
        ".incbin \"runtime/plain.js\"\n"
        "plain_runtime_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const char plain_runtime_begin[];
extern const char plain_runtime_end[];

struct iovec plain_runtime(void)
{
    return (struct iovec){
        .iov_base = (char *)plain_runtime_begin,
        .iov_len = (uintptr_t)plain_runtime_end - (uintptr_t)plain_runtime_begin,
    };
}
