/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/image.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "worker/native/heap.h"
#include "worker/native/host.h"

/* ---- binding ---- */

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

/* Finds a symbol's address; 0 for a weak symbol without a definition. */
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

/* Finds the offset of one of the image's thread-local variables. */
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

/* Finds the offset, from the thread pointer, of one of the meter's thread-local variables. */
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

/* Returns the eight bytes that a relocation changes; they must belong to a variable. */
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

/* Needs section headers, which strip(1) keeps. */
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

/* Relocates an image, binds its calls, and finds its definitions: call, init, is_metered. -1
 * with ERROR_INPUT if a symbol is missing or of a kind that contracts may not have. */
static int native_bind(struct native_image *image, Elf *elf, const struct native_meter *meter,
                       struct error *error)
{
    struct binding binding = {.image = image, .elf = elf, .meter = meter, .error = error};

    if (find_symbols(&binding) != 0 || find_definitions(&binding) != 0)
        return -1;
    return relocate_all(&binding);
}

/* ---- the image ---- */

static int damaged_object(struct error *error)
{
    return error_set(error, ERROR_INPUT, "is a damaged shared object: %s", elf_errmsg(-1));
}

/* ---- what kind of file it is ---- */

static int check_kind(const GElf_Ehdr *header, struct error *error)
{
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64)
        return error_set(error, ERROR_INPUT,
                         "is for another machine (ELF machine %u): a native contract is for x86-64",
                         header->e_machine);
    if (header->e_type != ET_DYN)
        return error_set(error, ERROR_INPUT, "is not a shared object: link it with -shared");
    return 0;
}

/* ---- segments ---- */

static int protection_of(const GElf_Phdr *header)
{
    return (header->p_flags & PF_R ? PROT_READ : 0) | (header->p_flags & PF_W ? PROT_WRITE : 0) |
           (header->p_flags & PF_X ? PROT_EXEC : 0);
}

/* Its pages must follow the end of all earlier segments. */
static int check_segment(const struct native_image *image, const GElf_Phdr *header, size_t length,
                         struct error *error)
{
    if (header->p_filesz > header->p_memsz || header->p_offset > length ||
        header->p_filesz > length - header->p_offset)
        return error_set(error, ERROR_INPUT, "is cut off");
    if (header->p_memsz > NATIVE_IMAGE_MOST || header->p_vaddr > NATIVE_IMAGE_MOST ||
        image->segment_count == NATIVE_SEGMENTS)
        return error_set(error, ERROR_INPUT, "is too large for a contract: %d MiB at most",
                         NATIVE_IMAGE_MOST >> 20);
    if ((header->p_vaddr & ~(uint64_t)(NATIVE_PAGE - 1)) < image->size)
        return error_set(error, ERROR_INPUT, "has two segments in one page");
    if ((header->p_flags & PF_W) && (header->p_flags & PF_X))
        return error_set(error, ERROR_INPUT, "has a segment that is written to and executed");
    return 0;
}

static int add_segment(struct native_image *image, const GElf_Phdr *header, size_t length,
                       struct error *error)
{
    const size_t before = header->p_vaddr & (NATIVE_PAGE - 1);
    struct native_segment *segment = &image->segments[image->segment_count];

    if (check_segment(image, header, length, error) != 0)
        return -1;
    *segment = (struct native_segment){
        .start = (uint8_t *)NATIVE_IMAGE_PLACE + (header->p_vaddr - before),
        .size = native_page_up(before + header->p_memsz),
        .file_size = before + header->p_filesz,
        .offset = header->p_offset,
        .before = before,
        .protection = protection_of(header),
    };
    image->size = header->p_vaddr - before + segment->size;
    image->segment_count++;
    return 0;
}

static int take_header(struct native_image *image, const GElf_Phdr *header, size_t length,
                       struct error *error)
{
    switch (header->p_type) {
    case PT_INTERP:
        return error_set(error, ERROR_INPUT, "is a program: link it with -shared");
    case PT_LOAD:
        return header->p_memsz > 0 ? add_segment(image, header, length, error) : 0;
    case PT_TLS:
        if (header->p_filesz > header->p_memsz || header->p_memsz > NATIVE_IMAGE_MOST ||
            header->p_vaddr > NATIVE_IMAGE_MOST || header->p_align > NATIVE_PAGE)
            return error_set(error, ERROR_INPUT, "has thread-local variables that do not fit");
        image->local_size = header->p_memsz;
        image->local_file_size = header->p_filesz;
        image->local_file = (uint8_t *)NATIVE_IMAGE_PLACE + header->p_vaddr;
        return 0;
    default:
        return 0;
    }
}

static int read_headers(struct native_image *image, Elf *elf, size_t length, struct error *error)
{
    size_t count;
    GElf_Phdr header;

    if (elf_getphdrnum(elf, &count) != 0)
        return damaged_object(error);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(elf, (int)i, &header) == NULL)
            return damaged_object(error);
        if (take_header(image, &header, length, error) != 0)
            return -1;
    }
    return image->segment_count > 0 ? 0 : error_set(error, ERROR_INPUT, "has nothing to load");
}

/* Returns true if the range lies in one readable segment. */
static bool is_readable_range(const struct native_image *image, const uint8_t *at, size_t size)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct native_segment *segment = &image->segments[i];
        const size_t offset = (uintptr_t)at - (uintptr_t)segment->start;

        if ((segment->protection & PROT_READ) && offset <= segment->size &&
            size <= segment->size - offset)
            return true;
    }
    return false;
}

/* Takes memory for the segments, and after them for the thread-local variables. */
static int take_memory(struct native_image *image, struct error *error)
{
    const size_t local_pages = native_page_up(image->local_size);

    if (image->local_size > 0 &&
        !is_readable_range(image, image->local_file, image->local_file_size))
        return error_set(error, ERROR_INPUT, "has thread-local variables outside of it");
    image->start = native_place_take(NATIVE_IMAGE_PLACE, image->size + local_pages, error);
    if (image->start == NULL)
        return -1;
    image->base = image->start;
    image->locals = image->start + image->size;
    native_locals_set(image->locals);
    image->size += local_pages;
    return 0;
}

static void fill_segments(const struct native_image *image, const uint8_t *bytes)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct native_segment *segment = &image->segments[i];

        memcpy(segment->start + segment->before, bytes + segment->offset,
               segment->file_size - segment->before);
    }
}

/* ---- constructors ---- */

/* Finds the section .init_array; _init() is skipped, since crti.o's only asks for a profiler. */
static int find_constructors(struct native_image *image, Elf *elf, struct error *error)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL)
            return damaged_object(error);
        if (header.sh_type != SHT_INIT_ARRAY)
            continue;
        if (header.sh_addr > image->size || header.sh_size > image->size - header.sh_addr ||
            header.sh_addr % sizeof(void *) != 0 || image->constructor_count > 0)
            return error_set(error, ERROR_INPUT, "has constructors that cannot be found");
        image->constructors = (void (**)(void))(image->base + header.sh_addr);
        image->constructor_count = header.sh_size / sizeof *image->constructors;
    }
    return 0;
}

/* ---- variables ---- */

static int keep_variables(struct native_image *image, struct error *error)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        struct native_segment *segment = &image->segments[i];

        if (!(segment->protection & PROT_WRITE))
            continue;
        segment->kept = malloc(segment->file_size + 1);
        if (segment->kept == NULL)
            return error_memory(error, "a contract's variables");
        memcpy(segment->kept, segment->start, segment->file_size);
    }
    return 0;
}

void native_image_reset(struct native_image *image)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct native_segment *segment = &image->segments[i];
        const size_t pages = native_page_up(segment->file_size);

        if (segment->kept == NULL)
            continue;
        memcpy(segment->start, segment->kept, segment->file_size);
        memset(segment->start + segment->file_size, 0, pages - segment->file_size);
        native_place_clear(segment->start + pages, segment->size - pages);
    }
    if (image->local_size == 0)
        return;
    memcpy(image->locals, image->local_file, image->local_file_size);
    memset(image->locals + image->local_file_size, 0, image->local_size - image->local_file_size);
}

void native_image_construct(const struct native_image *image)
{
    for (size_t i = 0; i < image->constructor_count; i++)
        image->constructors[i]();
}

/* ---- loading ---- */

static int protect_segments(const struct native_image *image, struct error *error)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct native_segment *segment = &image->segments[i];

        if (mprotect(segment->start, segment->size, segment->protection) != 0)
            return error_set(error, ERROR_SYSTEM, "a contract's memory cannot be protected: %m");
    }
    return 0;
}

static int load_elf(struct native_image *image, Elf *elf, const uint8_t *bytes, size_t length,
                    const struct native_meter *meter, struct error *error)
{
    GElf_Ehdr header;

    if (elf == NULL || gelf_getehdr(elf, &header) == NULL)
        return damaged_object(error);
    if (check_kind(&header, error) != 0 || read_headers(image, elf, length, error) != 0 ||
        take_memory(image, error) != 0)
        return -1;
    fill_segments(image, bytes);
    if (native_bind(image, elf, meter, error) != 0 || find_constructors(image, elf, error) != 0)
        return -1;
    return keep_variables(image, error) == 0 ? protect_segments(image, error) : -1;
}

int native_image_load(struct native_image *image, const uint8_t *bytes, size_t length,
                      const struct native_meter *meter, struct error *error)
{
    Elf *elf;
    int result;

    (void)elf_version(EV_CURRENT);
    /* elf_memory() only reads the bytes. */
    elf = elf_memory((char *)bytes, length);
    result = load_elf(image, elf, bytes, length, meter, error);
    elf_end(elf);
    if (result != 0)
        native_image_unload(image);
    return result;
}

void native_image_unload(struct native_image *image)
{
    for (size_t i = 0; i < image->segment_count; i++)
        free(image->segments[i].kept);
    native_place_give_back(image->start, image->size);
    *image = (struct native_image){0};
}
