/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/bind.h"

#include <gelf.h>
#include <string.h>
#include <sys/mman.h>

#include "worker/native/symbols.h"

struct binding {
    struct native_image *image;
    Elf *elf;
    const struct native_meter *meter;
    struct error *error;
    Elf_Data *symbols; /* the dynamic ones */
    size_t names;      /* the section that has their names */
    size_t symbol_count;
};

static int bind_damaged(const struct binding *binding)
{
    return error_set(binding->error, ERROR_INPUT, "is a damaged shared object: %s", elf_errmsg(-1));
}

/* ---- symbols ---- */

static int find_symbols(struct binding *binding)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(binding->elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL)
            return bind_damaged(binding);
        if (header.sh_type != SHT_DYNSYM || header.sh_entsize == 0)
            continue;
        binding->symbols = elf_getdata(section, NULL);
        binding->names = header.sh_link;
        binding->symbol_count = header.sh_size / header.sh_entsize;
    }
    if (binding->symbols != NULL)
        return 0;
    return error_set(binding->error, ERROR_INPUT, "has no dynamic symbols");
}

static int symbol_at(const struct binding *binding, size_t index, GElf_Sym *symbol,
                     const char **name)
{
    if (gelf_getsym(binding->symbols, (int)index, symbol) == NULL)
        return bind_damaged(binding);
    *name = elf_strptr(binding->elf, binding->names, symbol->st_name);
    return *name != NULL ? 0 : bind_damaged(binding);
}

static bool is_of_meter(const char *name)
{
    return strncmp(name, "gasmeter_", strlen("gasmeter_")) == 0;
}

static int missing(const struct binding *binding, const char *name)
{
    if (is_of_meter(name) && binding->meter == NULL)
        return error_set(binding->error, ERROR_INPUT,
                         "was compiled by gaspipe-cc, whose meter only --counter compiled has");
    return error_set(binding->error, ERROR_INPUT, "needs %.200s, which contracts do not have",
                     name);
}

/* The address of what a symbol stands for; 0 for a weak one that nobody defines. */
static int symbol_address(const struct binding *binding, size_t index, uint64_t *address)
{
    GElf_Sym symbol;
    const char *name;

    if (symbol_at(binding, index, &symbol, &name) != 0)
        return -1;
    if (symbol.st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)
        return error_set(binding->error, ERROR_INPUT,
                         "chooses %.200s when it is loaded (ifunc), as contracts may not", name);
    if (symbol.st_shndx != SHN_UNDEF) {
        *address = (uintptr_t)binding->image->base + symbol.st_value;
        return 0;
    }
    *address = native_symbol_find(name);
    if (*address == 0 && binding->meter != NULL)
        *address = native_symbol_in(binding->meter->functions, name);
    if (*address == 0 && GELF_ST_BIND(symbol.st_info) != STB_WEAK)
        return missing(binding, name);
    return 0;
}

/* Of a thread-local variable: one of the image's own, from its beginning. */
static int local_offset(const struct binding *binding, size_t index, uint64_t *offset)
{
    GElf_Sym symbol = {0};
    const char *name;

    if (index != 0 && symbol_at(binding, index, &symbol, &name) != 0)
        return -1;
    *offset = symbol.st_value;
    if (index == 0 || symbol.st_shndx != SHN_UNDEF)
        return 0;
    return missing(binding, name);
}

/* The same from the thread pointer: one of the meter's, which is the worker's. */
static int meter_offset(const struct binding *binding, size_t index, uint64_t *offset)
{
    GElf_Sym symbol;
    const char *name;

    if (symbol_at(binding, index, &symbol, &name) != 0)
        return -1;
    if (symbol.st_shndx == SHN_UNDEF && is_of_meter(name) && binding->meter != NULL)
        *offset = native_symbol_in(binding->meter->variables(), name);
    else if (symbol.st_shndx == SHN_UNDEF)
        return missing(binding, name);
    else
        return error_set(binding->error, ERROR_INPUT,
                         "has a thread-local %.200s of the model initial-exec: compile it with "
                         "-fPIC",
                         name);
    binding->image->is_metered = true;
    return *offset != 0 ? 0 : missing(binding, name);
}

/* ---- relocations ---- */

/* The eight bytes that a relocation changes, which are a variable's. */
static uint8_t *word_at(const struct binding *binding, uint64_t address)
{
    uint8_t *word;

    if (address > binding->image->size)
        return NULL;
    word = binding->image->base + address;
    for (size_t i = 0; i < binding->image->segment_count; i++) {
        const struct native_segment *segment = &binding->image->segments[i];

        if ((segment->protection & PROT_WRITE) && word >= segment->start &&
            word <= segment->start + segment->size - sizeof(uint64_t))
            return word;
    }
    return NULL;
}

static int relocated(const struct binding *binding, const GElf_Rela *relocation, uint64_t *value)
{
    const size_t index = GELF_R_SYM(relocation->r_info);
    const unsigned type = (unsigned)GELF_R_TYPE(relocation->r_info);

    switch (type) {
    case R_X86_64_RELATIVE:
        *value = (uintptr_t)binding->image->base;
        return 0;
    case R_X86_64_64:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
        return symbol_address(binding, index, value);
    case R_X86_64_DTPMOD64:
        *value = 1;
        return 0;
    case R_X86_64_DTPOFF64:
        return local_offset(binding, index, value);
    case R_X86_64_TPOFF64:
        return meter_offset(binding, index, value);
    default:
        return error_set(binding->error, ERROR_INPUT,
                         "has a relocation of type %u, as contracts may not", type);
    }
}

static bool has_addend(unsigned type)
{
    return type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT && type != R_X86_64_DTPMOD64;
}

static int relocate(const struct binding *binding, const GElf_Rela *relocation)
{
    uint8_t *word = word_at(binding, relocation->r_offset);
    uint64_t value = 0;

    if (GELF_R_TYPE(relocation->r_info) == R_X86_64_NONE)
        return 0;
    if (word == NULL)
        return error_set(binding->error, ERROR_INPUT,
                         "has code that is relocated: compile it with -fPIC");
    if (relocated(binding, relocation, &value) != 0)
        return -1;
    if (has_addend((unsigned)GELF_R_TYPE(relocation->r_info)))
        value += (uint64_t)relocation->r_addend;
    memcpy(word, &value, sizeof value);
    return 0;
}

static int relocate_section(const struct binding *binding, Elf_Scn *section,
                            const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    const size_t count = header->sh_entsize != 0 ? header->sh_size / header->sh_entsize : 0;
    GElf_Rela relocation;

    if (data == NULL)
        return bind_damaged(binding);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getrela(data, (int)i, &relocation) == NULL)
            return bind_damaged(binding);
        if (relocate(binding, &relocation) != 0)
            return -1;
    }
    return 0;
}

/* Section headers stay in a stripped object. */
static int relocate_all(const struct binding *binding)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(binding->elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL)
            return bind_damaged(binding);
        if (!(header.sh_flags & SHF_ALLOC))
            continue;
        if (header.sh_type == SHT_RELR || header.sh_type == SHT_REL)
            return error_set(binding->error, ERROR_INPUT,
                             "has packed relocations: link it without -z pack-relative-relocs");
        if (header.sh_type == SHT_RELA && relocate_section(binding, section, &header) != 0)
            return -1;
    }
    return 0;
}

/* ---- what it defines ---- */

static int take_definition(const struct binding *binding, size_t index)
{
    struct native_image *image = binding->image;
    GElf_Sym symbol;
    const char *name;
    uintptr_t address;

    if (symbol_at(binding, index, &symbol, &name) != 0)
        return -1;
    address = (uintptr_t)image->base + symbol.st_value;
    if (symbol.st_shndx == SHN_UNDEF || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
        symbol.st_value >= image->size)
        return 0;
    if (strcmp(name, "gascontract_call") == 0)
        image->call = (void (*)(const char *, const void *, size_t))address;
    else if (strcmp(name, "gascontract_init") == 0)
        image->init = (void (*)(void))address;
    return 0;
}

static int find_definitions(const struct binding *binding)
{
    for (size_t i = 1; i < binding->symbol_count; i++)
        if (take_definition(binding, i) != 0)
            return -1;
    if (binding->image->call != NULL)
        return 0;
    return error_set(binding->error, ERROR_INPUT,
                     "is no contract: it defines no gascontract_call()");
}

int native_bind(struct native_image *image, Elf *elf, const struct native_meter *meter,
                struct error *error)
{
    struct binding binding = {.image = image, .elf = elf, .meter = meter, .error = error};

    if (find_symbols(&binding) != 0 || find_definitions(&binding) != 0)
        return -1;
    return relocate_all(&binding);
}
