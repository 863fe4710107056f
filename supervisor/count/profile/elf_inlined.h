/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_COUNT_PROFILE_ELF_INLINED_H
#define GASPIPE_SUPERVISOR_COUNT_PROFILE_ELF_INLINED_H

#include <elfutils/libdwfl.h>

#include "base/buf.h"
#include "supervisor/count/profile/elf_symbols.h"

/* elf_symbols_describe() of the function at an address as libdwfl has it; false: there is no debug
 * information for it. */
bool elf_inlined_describe(Dwfl_Module *module, Dwarf_Addr address,
                          struct elf_description *description);

/* The function that holds the address asked for last; all zeros: none was. */
struct elf_scope {
    Dwarf_Die function;
    bool known;
};

/* The name of the innermost function that was compiled in at the address, borrowed; NULL: none. */
const char *elf_inlined_at(Dwfl_Module *module, Dwarf_Addr address, struct elf_scope *scope);

#endif
