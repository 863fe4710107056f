/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/syscall_name.h"

static const char *const names[] = {
#include <syscall_names.inc>
};

const char *syscall_name(size_t number)
{
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}
