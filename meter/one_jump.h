/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_ONE_JUMP_H
#define GASPIPE_METER_ONE_JUMP_H

/*
 * A jmp_buf of one size on all machines, for `-include` where a program's structures hold
 * one: what allocates or copies these would be charged by the machine's own size.
 */
#include <setjmp.h>

union gasmeter_jump {
    jmp_buf place;
    char room[512]; /* aarch64's is 312 bytes, x86-64's 200 */
};

_Static_assert(sizeof(jmp_buf) <= 512, "a jmp_buf fits");

typedef union gasmeter_jump gasmeter_jump_buffer[1];

#define jmp_buf gasmeter_jump_buffer
#undef setjmp
#define setjmp(buffer)         _setjmp((buffer)->place)
#define longjmp(buffer, value) longjmp((buffer)->place, value)

#endif
