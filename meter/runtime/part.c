/* SPDX-License-Identifier: Apache-2.0 */
#include "meter/runtime/notes.h"

/* Linked into the program and into each metered library: registers its notes before anything
 * else. */

extern const char __start_gasmeter_notes[] __attribute__((weak, visibility("hidden")));
extern const char __stop_gasmeter_notes[] __attribute__((weak, visibility("hidden")));

__attribute__((constructor(101))) static void add_part(void)
{
    if (__start_gasmeter_notes)
        gasmeter_add_notes(__start_gasmeter_notes, __stop_gasmeter_notes);
}

__attribute__((destructor(101))) static void keep_part(void)
{
    if (__start_gasmeter_notes)
        gasmeter_keep_notes(__start_gasmeter_notes);
}
