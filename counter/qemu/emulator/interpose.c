/* SPDX-License-Identifier: Apache-2.0 */
#include "counter/qemu/emulator/interpose.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The program's imports, from its dynamic section. */
struct imports {
    const char *strings;
    const Elf64_Sym *symbols;
    const Elf64_Rela *tables[2]; /* the PLT's relocations; all others */
    size_t sizes[2];             /* in bytes */
    uintptr_t base;
};

/* glibc relocated the addresses in the dynamic section already. */
static void read_dynamic(const Elf64_Dyn *entry, struct imports *imports)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_STRTAB:
            imports->strings = (const char *)entry->d_un.d_ptr;
            break;
        case DT_SYMTAB:
            imports->symbols = (const Elf64_Sym *)entry->d_un.d_ptr;
            break;
        case DT_JMPREL:
            imports->tables[0] = (const Elf64_Rela *)entry->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            imports->sizes[0] = entry->d_un.d_val;
            break;
        case DT_RELA:
            imports->tables[1] = (const Elf64_Rela *)entry->d_un.d_ptr;
            break;
        case DT_RELASZ:
            imports->sizes[1] = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

/* The program comes first in the list; returning 1 ends the walk. */
static int read_program(struct dl_phdr_info *info, size_t size, void *imports_out)
{
    struct imports *imports = imports_out;

    (void)size;
    imports->base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            read_dynamic((const Elf64_Dyn *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                         imports);
    return 1;
}

static bool is_import(uint32_t type)
{
#ifdef __x86_64__
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
#else
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
#endif
}

/* Returns the word that holds the address of `name`, or NULL. */
static void **find_import(const struct imports *imports, const char *name)
{
    for (int table = 0; table < 2; table++) {
        for (size_t i = 0; i < imports->sizes[table] / sizeof(Elf64_Rela); i++) {
            const Elf64_Rela *import = &imports->tables[table][i];
            const Elf64_Sym *symbol = &imports->symbols[ELF64_R_SYM(import->r_info)];

            if (is_import(ELF64_R_TYPE(import->r_info)) &&
                strcmp(imports->strings + symbol->st_name, name) == 0)
                return (void **)(imports->base + import->r_offset);
        }
    }
    return NULL;
}

bool interpose(const char *name, void *replacement, void **original)
{
    struct imports imports = {0};
    uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void **slot;
    void *page;

    dl_iterate_phdr(read_program, &imports);
    slot = find_import(&imports, name);
    if (slot == NULL)
        return false;
    page = (void *)((uintptr_t)slot & -page_size);
    if (mprotect(page, page_size, PROT_READ | PROT_WRITE) < 0)
        return false;
    __atomic_store_n(original, *slot, __ATOMIC_SEQ_CST);
    __atomic_store_n(slot, replacement, __ATOMIC_SEQ_CST);
    /* If this fails, the page stays writable, which does no harm. */
    mprotect(page, page_size, PROT_READ);
    return true;
}
