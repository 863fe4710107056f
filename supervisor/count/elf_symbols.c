/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/count/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct function {
    uint64_t start, end; /* offsets in the file */
    const char *name;    /* in the mapped file, checked to be terminated there */
};

struct elf_symbols {
    const char *bytes;
    size_t size;
    struct function *functions; /* in order of their starts */
    size_t count;
};

/* ---- the file, of which nothing is believed ---- */

/* So many bytes at an offset, or NULL when they are not all inside. */
static const void *part(const struct elf_symbols *symbols, uint64_t offset, uint64_t length)
{
    if (offset > symbols->size || length > symbols->size - offset)
        return NULL;
    return symbols->bytes + offset;
}

/* Copies an entry of a table; false when it is not inside. Nothing need be aligned. */
static bool read_entry(const struct elf_symbols *symbols, uint64_t table, uint64_t index,
                       void *entry, size_t size)
{
    const void *from = index < symbols->size ? part(symbols, table, (index + 1) * size) : NULL;

    if (from == NULL)
        return false;
    memcpy(entry, (const char *)from + index * size, size);
    return true;
}

static const char *read_name(const struct elf_symbols *symbols, const Elf64_Shdr *strings,
                             uint32_t name)
{
    const char *start = part(symbols, strings->sh_offset, strings->sh_size);

    if (start == NULL || name >= strings->sh_size ||
        memchr(start + name, '\0', strings->sh_size - name) == NULL)
        return NULL;
    return start + name;
}

/* ---- functions ---- */

/* From an address, as symbols have it, to the offset in the file; false: not from the file. */
static bool offset_of(const struct elf_symbols *symbols, const Elf64_Ehdr *header, uint64_t address,
                      uint64_t *offset)
{
    for (size_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;

        if (!read_entry(symbols, header->e_phoff, i, &segment, sizeof segment))
            return false;
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz) {
            *offset = address - segment.p_vaddr + segment.p_offset;
            return true;
        }
    }
    return false;
}

static bool add_function(struct elf_symbols *symbols, struct function function)
{
    /* Room doubles at each power of two. */
    if ((symbols->count & (symbols->count + 1)) == 0) {
        struct function *larger =
            reallocarray(symbols->functions, 2 * (symbols->count + 1), sizeof *larger);

        if (larger == NULL)
            return false;
        symbols->functions = larger;
    }
    symbols->functions[symbols->count++] = function;
    return true;
}

static void read_table(struct elf_symbols *symbols, const Elf64_Ehdr *header,
                       const Elf64_Shdr *table)
{
    Elf64_Shdr strings;
    Elf64_Sym symbol;

    if (!read_entry(symbols, header->e_shoff, table->sh_link, &strings, sizeof strings))
        return;
    for (uint64_t i = 0; i < table->sh_size / sizeof symbol; i++) {
        struct function function;
        unsigned type;

        if (!read_entry(symbols, table->sh_offset, i, &symbol, sizeof symbol))
            return;
        type = ELF64_ST_TYPE(symbol.st_info);
        function.name = read_name(symbols, &strings, symbol.st_name);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
            function.name == NULL || !offset_of(symbols, header, symbol.st_value, &function.start))
            continue;
        function.end = function.start + symbol.st_size;
        if (!add_function(symbols, function))
            return;
    }
}

static int compare_functions(const void *a, const void *b)
{
    const struct function *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

static void read_functions(struct elf_symbols *symbols)
{
    Elf64_Ehdr header;

    if (!read_entry(symbols, 0, 0, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return;
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;

        if (!read_entry(symbols, header.e_shoff, i, &section, sizeof section))
            break;
        if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
            read_table(symbols, &header, &section);
    }
    if (symbols->count > 0)
        qsort(symbols->functions, symbols->count, sizeof *symbols->functions, compare_functions);
}

static const char *map_file(const char *path, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    struct stat status;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    *size = (size_t)status.st_size;
    return bytes == MAP_FAILED ? NULL : bytes;
}

struct elf_symbols *elf_symbols_open(const char *path)
{
    struct elf_symbols *symbols = calloc(1, sizeof *symbols);

    if (symbols == NULL)
        return NULL;
    symbols->bytes = map_file(path, &symbols->size);
    if (symbols->bytes != NULL)
        read_functions(symbols);
    if (symbols->count > 0)
        return symbols;
    elf_symbols_close(symbols);
    return NULL;
}

const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t offset)
{
    size_t low = 0, high = symbols->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (symbols->functions[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    /* Hand-written code often has symbols without a size. */
    if (low == 0 || (symbols->functions[low - 1].end != symbols->functions[low - 1].start &&
                     symbols->functions[low - 1].end <= offset))
        return NULL;
    return symbols->functions[low - 1].name;
}

void elf_symbols_close(struct elf_symbols *symbols)
{
    if (symbols == NULL)
        return;
    if (symbols->bytes != NULL)
        munmap((void *)(uintptr_t)symbols->bytes, symbols->size);
    free(symbols->functions);
    free(symbols);
}
