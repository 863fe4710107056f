/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/runtime.h"

#include <stdint.h>

__asm__(".pushsection .rodata\n"
        "runtime_plain_begin:\n"
        ".incbin \"runtime/plain.js\"\n"
        "runtime_plain_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const char runtime_plain_begin[];
extern const char runtime_plain_end[];

struct iovec runtime_plain(void)
{
    return (struct iovec){
        .iov_base = (char *)runtime_plain_begin,
        .iov_len = (uintptr_t)runtime_plain_end - (uintptr_t)runtime_plain_begin,
    };
}
