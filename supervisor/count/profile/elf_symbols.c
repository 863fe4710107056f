/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/profile/elf_symbols.h"

#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>

struct elf_symbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    /* Found last: libdwfl looks through all symbols each time. */
    struct elf_function last;
    GElf_Addr last_end;
};

struct elf_symbols *elf_symbols_open(const char *path)
{
    static const Dwfl_Callbacks callbacks = {
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .section_address = dwfl_offline_section_address,
    };
    struct elf_symbols *symbols = calloc(1, sizeof *symbols);

    if (symbols == NULL)
        return NULL;
    symbols->dwfl = dwfl_begin(&callbacks);
    if (symbols->dwfl != NULL) {
        symbols->module = dwfl_report_offline(symbols->dwfl, "", path, -1);
        /* The first symbol of any table is empty. */
        if (symbols->module != NULL && dwfl_report_end(symbols->dwfl, NULL, NULL) == 0 &&
            dwfl_module_getsymtab(symbols->module) > 1)
            return symbols;
    }
    elf_symbols_close(symbols);
    return NULL;
}

/* From an offset in the file to an address as libdwfl has it; false: not in a segment. */
static bool address_of(const struct elf_symbols *symbols, uint64_t offset, GElf_Addr *address)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    GElf_Phdr segment;

    for (int i = 0; elf != NULL && gelf_getphdr(elf, i, &segment) != NULL; i++) {
        if (segment.p_type == PT_LOAD && offset >= segment.p_offset &&
            offset - segment.p_offset < segment.p_filesz) {
            *address = offset - segment.p_offset + segment.p_vaddr + bias;
            return true;
        }
    }
    return false;
}

static bool is_function(const GElf_Sym *symbol)
{
    return GELF_ST_TYPE(symbol->st_info) == STT_FUNC ||
           GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
}

bool elf_symbols_find(struct elf_symbols *symbols, uint64_t offset, struct elf_function *function)
{
    GElf_Addr address;
    GElf_Off within;
    GElf_Sym symbol;
    const char *name;

    if (!address_of(symbols, offset, &address))
        return false;
    if (address < symbols->last.address || address >= symbols->last_end) {
        name = dwfl_module_addrinfo(symbols->module, address, &within, &symbol, NULL, NULL, NULL);
        if (name == NULL || !is_function(&symbol))
            return false;
        symbols->last = (struct elf_function){.name = name, .address = address - within};
        symbols->last_end = symbols->last.address + symbol.st_size;
    }
    *function = symbols->last;
    return true;
}

const char *elf_symbols_source(const struct elf_symbols *symbols,
                               const struct elf_function *function, int *line)
{
    Dwfl_Line *source = dwfl_module_getsrc(symbols->module, function->address);

    return source == NULL ? NULL : dwfl_lineinfo(source, NULL, line, NULL, NULL, NULL);
}

void elf_symbols_close(struct elf_symbols *symbols)
{
    if (symbols == NULL)
        return;
    dwfl_end(symbols->dwfl);
    free(symbols);
}
