/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_PORTABLE_JMP_BUF_H
#define GASPIPE_METER_PORTABLE_JMP_BUF_H

/* A jmp_buf of the same size on all machines, for `-include`. Otherwise allocating or copying a
 * structure that holds one would cost what the machine's own size costs. */
#include <setjmp.h>

union gasmeter_jump {
    jmp_buf place;
    char space[512]; /* aarch64's is 312 bytes, x86-64's 200 */
};

_Static_assert(sizeof(jmp_buf) <= 512, "a jmp_buf fits");

typedef union gasmeter_jump gasmeter_jump_buffer[1];

#define jmp_buf gasmeter_jump_buffer
#undef setjmp
#define setjmp(buffer)         _setjmp((buffer)->place)
#define longjmp(buffer, value) longjmp((buffer)->place, value)

#endif
