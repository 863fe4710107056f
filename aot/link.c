/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links one object file to an image that depends on no address: all that it refers to lies in
 * itself, at a distance that is known here. A linker in the same process needs no file and no
 * second program, which the sandbox would refuse.
 */
#include <elf.h>
#include <openssl/sha.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "aot/object.h"

struct linking {
    const uint8_t *object;
    size_t length;
    const Elf64_Ehdr *file;
    const Elf64_Shdr *sections;
    uint64_t *places; /* of sections in the image; 0: not in it. Owned */
    const Elf64_Sym *symbols;
    size_t symbol_count;
    const char *names;
    struct buf *image;
    struct compiled_header header;
    struct error *error;
};

enum { IMAGE_CODE_AT = 4096 };

static int link_fail(struct linking *linking, const char *words, uint64_t number)
{
    return error_set(linking->error, ERROR_SYSTEM, "the compiled code %s (%llu)", words,
                     (unsigned long long)number);
}

/* ---- the object file ---- */

static const void *part(const struct linking *linking, uint64_t offset, uint64_t length)
{
    if (offset > linking->length || length > linking->length - offset)
        return NULL;
    return linking->object + offset;
}

static const void *contents(const struct linking *linking, const Elf64_Shdr *section)
{
    return part(linking, section->sh_offset, section->sh_size);
}

static int find_sections(struct linking *linking)
{
    linking->file = part(linking, 0, sizeof *linking->file);
    if (linking->file == NULL || memcmp(linking->file->e_ident, ELFMAG, SELFMAG) != 0 ||
        linking->file->e_machine != EM_X86_64)
        return link_fail(linking, "is no object file for x86-64", linking->length);
    linking->sections = part(linking, linking->file->e_shoff,
                             (uint64_t)linking->file->e_shnum * sizeof *linking->sections);
    if (linking->sections == NULL)
        return link_fail(linking, "has no sections", linking->file->e_shoff);
    for (size_t i = 0; i < linking->file->e_shnum; i++) {
        const Elf64_Shdr *section = &linking->sections[i];

        if (section->sh_type != SHT_NOBITS && contents(linking, section) == NULL)
            return link_fail(linking, "is cut off in section", i);
        if (section->sh_type != SHT_SYMTAB || section->sh_link >= linking->file->e_shnum)
            continue;
        linking->symbols = contents(linking, section);
        linking->symbol_count = section->sh_size / sizeof *linking->symbols;
        linking->names = contents(linking, &linking->sections[section->sh_link]);
    }
    return linking->symbols != NULL ? 0 : link_fail(linking, "has no symbols", 0);
}

/* ---- the image ---- */

static int append_zeros(struct buf *image, uint64_t length)
{
    if (buf_reserve(image, length) != 0)
        return -1;
    memset(image->data + image->length, 0, length);
    image->length += length;
    return 0;
}

static int align_image(struct buf *image, uint64_t alignment)
{
    const uint64_t rest = alignment > 1 ? image->length % alignment : 0;

    return rest != 0 ? append_zeros(image, alignment - rest) : 0;
}

static int place_section(struct linking *linking, size_t index)
{
    const Elf64_Shdr *section = &linking->sections[index];

    if (!(section->sh_flags & SHF_ALLOC) || section->sh_size == 0)
        return 0;
    if (section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_WRITE))
        return link_fail(linking, "has variables in section", index);
    if (align_image(linking->image, section->sh_addralign) != 0)
        return error_memory(linking->error, "the compiled code");
    linking->places[index] = linking->image->length;
    return buf_append(linking->image, contents(linking, section), section->sh_size) == 0
               ? 0
               : error_memory(linking->error, "the compiled code");
}

static int place_sections(struct linking *linking)
{
    linking->places = calloc(linking->file->e_shnum + 1u, sizeof *linking->places);
    if (linking->places == NULL || append_zeros(linking->image, IMAGE_CODE_AT) != 0)
        return error_memory(linking->error, "the compiled code");
    for (size_t i = 0; i < linking->file->e_shnum; i++)
        if (place_section(linking, i) != 0)
            return -1;
    linking->header.code_at = IMAGE_CODE_AT;
    linking->header.code_size = (uint32_t)(linking->image->length - IMAGE_CODE_AT);
    linking->header.size = linking->image->length;
    return linking->image->length <= INT32_MAX
               ? 0
               : link_fail(linking, "is too large", linking->image->length);
}

/* The place of a symbol in the image; 0 with an error if it has none. */
static uint64_t place_of_symbol(struct linking *linking, size_t index)
{
    const Elf64_Sym *symbol = &linking->symbols[index];

    if (index >= linking->symbol_count || symbol->st_shndx >= linking->file->e_shnum ||
        linking->places[symbol->st_shndx] == 0) {
        (void)error_set(linking->error, ERROR_SYSTEM, "the compiled code needs %.100s",
                        index < linking->symbol_count ? linking->names + symbol->st_name : "?");
        return 0;
    }
    return linking->places[symbol->st_shndx] + symbol->st_value;
}

/* ---- relocations ---- */

static int apply_relocation(struct linking *linking, uint64_t section_at,
                            const Elf64_Rela *relocation)
{
    const uint64_t at = section_at + relocation->r_offset;
    const uint64_t target = place_of_symbol(linking, ELF64_R_SYM(relocation->r_info));
    const int32_t distance = (int32_t)((int64_t)(target - at) + relocation->r_addend);

    if (target == 0)
        return -1;
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        break;
    default:
        return link_fail(linking, "depends on an address, by a relocation of type",
                         ELF64_R_TYPE(relocation->r_info));
    }
    if (at > linking->image->length - sizeof distance)
        return link_fail(linking, "has a relocation outside of it", at);
    memcpy(linking->image->data + at, &distance, sizeof distance);
    return 0;
}

static int relocate_sections(struct linking *linking)
{
    for (size_t i = 0; i < linking->file->e_shnum; i++) {
        const Elf64_Shdr *section = &linking->sections[i];
        const Elf64_Rela *relocations = contents(linking, section);

        if (section->sh_type != SHT_RELA || section->sh_info >= linking->file->e_shnum ||
            linking->places[section->sh_info] == 0)
            continue;
        for (size_t k = 0; k < section->sh_size / sizeof *relocations; k++)
            if (apply_relocation(linking, linking->places[section->sh_info], &relocations[k]) != 0)
                return -1;
    }
    return 0;
}

static int find_entries(struct linking *linking)
{
    for (size_t i = 1; i < linking->symbol_count; i++)
        if (strcmp(linking->names + linking->symbols[i].st_name, "entries") == 0) {
            linking->header.entries_at = (uint32_t)place_of_symbol(linking, i);
            return linking->header.entries_at != 0 ? 0 : -1;
        }
    return link_fail(linking, "has no entries", 0);
}

/* ---- headers ---- */

static void write_headers(struct linking *linking)
{
    const Elf64_Ehdr file = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof file,
        .e_ehsize = sizeof file,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 1,
    };
    const Elf64_Phdr segment = {
        .p_type = PT_LOAD,
        .p_flags = PF_R | PF_X,
        .p_filesz = linking->image->length,
        .p_memsz = linking->image->length,
        .p_align = IMAGE_CODE_AT,
    };
    uint8_t checksum[COMPILED_HASH_SIZE];

    _Static_assert(sizeof file + sizeof segment <= COMPILED_HEADER_AT, "they do not overlap");
    memcpy(linking->image->data, &file, sizeof file);
    memcpy(linking->image->data + sizeof file, &segment, sizeof segment);
    memcpy(linking->image->data + COMPILED_HEADER_AT, &linking->header, sizeof linking->header);
    SHA256((const uint8_t *)linking->image->data, linking->image->length, checksum);
    memcpy(linking->image->data + COMPILED_HEADER_AT + offsetof(struct compiled_header, checksum),
           checksum, sizeof checksum);
}

int aot_link(struct buf *image, const void *object, size_t length,
             const struct compiled_header *header, struct error *error)
{
    struct linking linking = {
        .object = object, .length = length, .image = image, .header = *header, .error = error};
    int result = -1;

    if (find_sections(&linking) == 0 && place_sections(&linking) == 0 &&
        relocate_sections(&linking) == 0 && find_entries(&linking) == 0) {
        write_headers(&linking);
        result = 0;
    }
    free(linking.places);
    return result;
}
