/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/image.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "worker/native/bind.h"
#include "worker/native/locals.h"
#include "worker/native/place.h"

static int damaged(struct error *error)
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

/* Its pages are taken behind the place where all segments before it end. */
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
        return damaged(error);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(elf, (int)i, &header) == NULL)
            return damaged(error);
        if (take_header(image, &header, length, error) != 0)
            return -1;
    }
    return image->segment_count > 0 ? 0 : error_set(error, ERROR_INPUT, "has nothing to load");
}

/* Is it all in one segment that can be read? */
static bool is_readable(const struct native_image *image, const uint8_t *at, size_t size)
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

/* The segments, and behind them the thread-local variables. */
static int take_memory(struct native_image *image, struct error *error)
{
    const size_t room = native_page_up(image->local_size);

    if (image->local_size > 0 && !is_readable(image, image->local_file, image->local_file_size))
        return error_set(error, ERROR_INPUT, "has thread-local variables outside of it");
    image->start = native_place_take(NATIVE_IMAGE_PLACE, image->size + room, error);
    if (image->start == NULL)
        return -1;
    image->base = image->start;
    image->locals = image->start + image->size;
    native_locals_set(image->locals);
    image->size += room;
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

/* Those of the section .init_array; crti.o's _init() only asks for a profiler. */
static int find_constructors(struct native_image *image, Elf *elf, struct error *error)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;

    while ((section = elf_nextscn(elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL)
            return damaged(error);
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

static int protect(const struct native_image *image, struct error *error)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct native_segment *segment = &image->segments[i];

        if (mprotect(segment->start, segment->size, segment->protection) != 0)
            return error_set(error, ERROR_SYSTEM, "a contract's memory cannot be protected: %m");
    }
    return 0;
}

static int load(struct native_image *image, Elf *elf, const uint8_t *bytes, size_t length,
                const struct native_meter *meter, struct error *error)
{
    GElf_Ehdr header;

    if (elf == NULL || gelf_getehdr(elf, &header) == NULL)
        return damaged(error);
    if (check_kind(&header, error) != 0 || read_headers(image, elf, length, error) != 0 ||
        take_memory(image, error) != 0)
        return -1;
    fill_segments(image, bytes);
    if (native_bind(image, elf, meter, error) != 0 || find_constructors(image, elf, error) != 0)
        return -1;
    return keep_variables(image, error) == 0 ? protect(image, error) : -1;
}

int native_image_load(struct native_image *image, const uint8_t *bytes, size_t length,
                      const struct native_meter *meter, struct error *error)
{
    Elf *elf;
    int result;

    (void)elf_version(EV_CURRENT);
    /* It is only read. */
    elf = elf_memory((char *)bytes, length);
    result = load(image, elf, bytes, length, meter, error);
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
