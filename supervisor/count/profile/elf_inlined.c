/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/profile/elf_inlined.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100 }; /* blocks within blocks; a file may say anything */

struct inlined {
    struct buf names; /* each ended by '\n' */
    size_t count;
};

static bool is_there(const struct inlined *inlined, const char *name)
{
    const size_t length = strlen(name);
    const char *at = inlined->names.data, *const end = at + inlined->names.length;

    while (inlined->names.length > 0 && at < end) {
        const char *const line_end = memchr(at, '\n', (size_t)(end - at));

        if ((size_t)(line_end - at) == length && memcmp(at, name, length) == 0)
            return true;
        at = line_end + 1;
    }
    return false;
}

static void add_name(struct inlined *inlined, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *const name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));

    if (name == NULL || *name == '\0' || strchr(name, '\n') != NULL ||
        inlined->count == ELF_INLINED_MAX || is_there(inlined, name))
        return;
    buf_append_string(&inlined->names, name);
    buf_append_byte(&inlined->names, '\n');
    inlined->count++;
}

/* What was compiled into the block, also into what was: calls within calls. */
static void collect(struct inlined *inlined, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;

    if (depth == DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        const int tag = dwarf_tag(&die);

        if (tag == DW_TAG_inlined_subroutine)
            add_name(inlined, &die);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block)
            collect(inlined, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

struct wanted {
    Dwarf_Addr address;
    Dwarf_Die *function;
    bool found;
};

/* dwarf_getscopes(3) would not do: where the first instruction was inlined, it names only that. */
static int on_function(Dwarf_Die *die, void *context)
{
    struct wanted *const wanted = context;

    if (dwarf_haspc(die, wanted->address) <= 0)
        return DWARF_CB_OK;
    *wanted->function = *die;
    wanted->found = true;
    return DWARF_CB_ABORT;
}

static bool find_function(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Die *function)
{
    Dwarf_Addr bias;
    Dwarf_Die *const unit = dwfl_module_addrdie(module, address, &bias);
    struct wanted wanted = {.function = function};

    if (unit == NULL)
        return false;
    wanted.address = address - bias;
    (void)dwarf_getfuncs(unit, on_function, &wanted, 0);
    return wanted.found;
}

static char *inlined_names(Dwarf_Die *function)
{
    struct inlined inlined = {.count = 0};
    char *names = NULL;

    collect(&inlined, function, 0);
    if (inlined.count > 0 && !buf_failed(&inlined.names))
        names = strndup(inlined.names.data, inlined.names.length - 1);
    buf_free(&inlined.names);
    return names;
}

bool elf_inlined_describe(Dwfl_Module *module, Dwarf_Addr address,
                          struct elf_description *description)
{
    Dwarf_Die function;

    *description = (struct elf_description){0};
    if (!find_function(module, address, &function))
        return false;
    description->source = dwarf_decl_file(&function);
    if (description->source != NULL && dwarf_decl_line(&function, &description->line) != 0)
        description->source = NULL;
    description->inlined = inlined_names(&function);
    return true;
}

/* The innermost inlined call that holds the address: *name, if there is one. */
static void descend(Dwarf_Die *parent, Dwarf_Addr address, const char **name, int depth)
{
    Dwarf_Attribute attribute;
    Dwarf_Die die;

    if (depth == DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        const int tag = dwarf_tag(&die);

        if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) ||
            dwarf_haspc(&die, address) <= 0)
            continue;
        if (tag == DW_TAG_inlined_subroutine)
            *name = dwarf_formstring(dwarf_attr_integrate(&die, DW_AT_name, &attribute));
        descend(&die, address, name, depth + 1);
        return;
    } while (dwarf_siblingof(&die, &die) == 0);
}

const char *elf_inlined_at(Dwfl_Module *module, Dwarf_Addr address, struct elf_scope *scope)
{
    const char *name = NULL;
    Dwarf_Addr bias;

    if (dwfl_module_getdwarf(module, &bias) == NULL)
        return NULL;
    if (!scope->known || dwarf_haspc(&scope->function, address - bias) <= 0)
        scope->known = find_function(module, address, &scope->function);
    if (scope->known)
        descend(&scope->function, address - bias, &name, 0);
    return name;
}
