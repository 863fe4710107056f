/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/module_code.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/number.h"
#include "trace/patch/unwind.h"

/* What stays open with the module: names and bytes are borrowed from it. */
struct module_code_file {
    int fd;
    Elf *elf;
    char *made_names;
};

static int module_code_refuse(const char *path, const char *words, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: %s", path, words);
}

/* ---- functions ---- */

static int by_address(const void *a, const void *b)
{
    const struct code_function *x = a, *y = b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return strcmp(x->name, y->name); /* of two names always the same one */
}

static uint64_t section_end(Elf *elf, uint64_t address)
{
    Elf_Scn *section = NULL;
    GElf_Shdr head;

    while ((section = elf_nextscn(elf, section)) != NULL)
        if (gelf_getshdr(section, &head) != NULL && (head.sh_flags & SHF_EXECINSTR) &&
            address >= head.sh_addr && address - head.sh_addr < head.sh_size)
            return head.sh_addr + head.sh_size;
    return 0;
}

/* One function at each address, and how far each may reach. */
static void settle_functions(struct module_code *code)
{
    struct code_function *const functions = code->functions;
    size_t count = 0;

    if (code->function_count > 0)
        qsort(functions, code->function_count, sizeof *functions, by_address);
    for (size_t i = 0; i < code->function_count; i++)
        if (count == 0 || functions[count - 1].address != functions[i].address)
            functions[count++] = functions[i];
    code->function_count = count;
    for (size_t i = 0; i < count; i++) {
        const uint64_t end = section_end(code->file->elf, functions[i].address);

        functions[i].room =
            i + 1 < count && functions[i + 1].address < end ? functions[i + 1].address : end;
        /* A symbol may claim more than there is. */
        if (functions[i].size > end - functions[i].address)
            functions[i].size = end - functions[i].address;
    }
}

/* gcc splits rarely executed parts off, which are jumped into; the entry is nobody's callee. */
static bool is_entered_by_call(const GElf_Sym *symbol, const char *name, uint64_t entry)
{
    const size_t length = strlen(name);

    return GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_size > 0 && symbol->st_value != entry && strstr(name, ".cold") == NULL &&
           !(length > 5 && strcmp(name + length - 5, ".part") == 0);
}

static int take_symbols(struct module_code *code, Elf_Scn *section, const GElf_Shdr *head,
                        struct error *error)
{
    Elf *const elf = code->file->elf;
    Elf_Data *const data = elf_getdata(section, NULL);
    const size_t count = head->sh_entsize > 0 ? head->sh_size / head->sh_entsize : 0;
    size_t capacity = 0;
    GElf_Ehdr file;
    GElf_Sym symbol;

    if (data == NULL || gelf_getehdr(elf, &file) == NULL)
        return 0;
    code->functions = array_reserve(NULL, &capacity, count + 1, sizeof *code->functions);
    if (code->functions == NULL)
        return error_memory(error, "the functions of a program");
    for (size_t i = 0; i < count; i++) {
        const char *name;

        if (gelf_getsym(data, (int)i, &symbol) == NULL)
            continue;
        name = elf_strptr(elf, head->sh_link, symbol.st_name);
        if (name != NULL && is_entered_by_call(&symbol, name, file.e_entry) &&
            section_end(elf, symbol.st_value) != 0)
            code->functions[code->function_count++] = (struct code_function){
                .address = symbol.st_value, .size = symbol.st_size, .name = name};
    }
    return 0;
}

static Elf_Scn *find_section(Elf *elf, uint32_t type, const char *name, GElf_Shdr *head)
{
    Elf_Scn *section = NULL;
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        const char *own;

        if (gelf_getshdr(section, head) == NULL || (type != SHT_NULL && head->sh_type != type))
            continue;
        own = elf_strptr(elf, names, head->sh_name);
        if (name == NULL || (own != NULL && strcmp(own, name) == 0))
            return section;
    }
    return NULL;
}

/* Where there are no symbols. Those of .plt are no functions. */
static int take_starts(struct module_code *code, struct error *error)
{
    enum { NAME_SIZE = 20 };
    struct unwind_start *starts = NULL;
    Elf *const elf = code->file->elf;
    GElf_Shdr head, text;
    Elf_Scn *const section = find_section(elf, SHT_NULL, ".eh_frame", &head);
    Elf_Data *const data = section != NULL ? elf_getdata(section, NULL) : NULL;
    size_t count = 0;
    GElf_Ehdr file;

    code->stripped = true;
    if (data == NULL || data->d_buf == NULL || gelf_getehdr(elf, &file) == NULL ||
        find_section(elf, SHT_PROGBITS, ".text", &text) == NULL)
        return 0;
    if (unwind_starts_read(data->d_buf, data->d_size, head.sh_addr, &starts, &count, error) != 0)
        return -1;
    code->functions = calloc(count + 1, sizeof *code->functions);
    code->file->made_names = calloc(count + 1, NAME_SIZE);
    if (code->functions == NULL || code->file->made_names == NULL) {
        free(starts);
        return error_memory(error, "the functions of a program");
    }
    for (size_t i = 0; i < count; i++) {
        char *const name = code->file->made_names + i * NAME_SIZE;

        if (starts[i].address - text.sh_addr >= text.sh_size || starts[i].address == file.e_entry)
            continue;
        snprintf(name, NAME_SIZE, "0x%llx", (unsigned long long)starts[i].address);
        code->functions[code->function_count++] = (struct code_function){
            .address = starts[i].address, .size = starts[i].size, .name = name};
    }
    free(starts);
    return 0;
}

static int take_functions(struct module_code *code, struct error *error)
{
    GElf_Shdr head;
    Elf_Scn *const symbols = find_section(code->file->elf, SHT_SYMTAB, NULL, &head);

    if (symbols != NULL && take_symbols(code, symbols, &head, error) != 0)
        return -1;
    if (code->function_count == 0) {
        free(code->functions);
        code->functions = NULL;
        if (take_starts(code, error) != 0)
            return -1;
    }
    settle_functions(code);
    return 0;
}

/* ---- calls of libraries ---- */

static bool is_relro(Elf *elf, uint64_t address)
{
    GElf_Phdr segment;

    for (int i = 0; gelf_getphdr(elf, i, &segment) != NULL; i++)
        if (segment.p_type == PT_GNU_RELRO && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_memsz)
            return true;
    return false;
}

static bool is_call(Elf_Data *symbols, const GElf_Rela *relocation, GElf_Sym *symbol)
{
    const uint64_t type = GELF_R_TYPE(relocation->r_info);

    if (gelf_getsym(symbols, (int)GELF_R_SYM(relocation->r_info), symbol) == NULL ||
        symbol->st_shndx != SHN_UNDEF)
        return false;
    return type == R_X86_64_JUMP_SLOT ||
           (type == R_X86_64_GLOB_DAT && GELF_ST_TYPE(symbol->st_info) == STT_FUNC);
}

static int take_relocations(struct module_code *code, Elf_Scn *section, const GElf_Shdr *head,
                            struct error *error)
{
    Elf *const elf = code->file->elf;
    Elf_Scn *const symbol_section = elf_getscn(elf, head->sh_link);
    Elf_Data *const data = elf_getdata(section, NULL);
    Elf_Data *const symbols = symbol_section != NULL ? elf_getdata(symbol_section, NULL) : NULL;
    const size_t count = head->sh_entsize > 0 ? head->sh_size / head->sh_entsize : 0;
    GElf_Shdr symbol_head;
    GElf_Rela relocation;
    GElf_Sym symbol;
    void *larger;

    if (data == NULL || symbols == NULL || gelf_getshdr(symbol_section, &symbol_head) == NULL)
        return 0;
    larger = reallocarray(code->calls, code->call_count + count + 1, sizeof *code->calls);
    if (larger == NULL)
        return error_memory(error, "the library calls of a program");
    code->calls = larger;
    for (size_t i = 0; i < count; i++) {
        const char *name;

        if (gelf_getrela(data, (int)i, &relocation) == NULL ||
            !is_call(symbols, &relocation, &symbol))
            continue;
        name = elf_strptr(elf, symbol_head.sh_link, symbol.st_name);
        if (name != NULL)
            code->calls[code->call_count++] =
                (struct code_call){.slot = relocation.r_offset,
                                   .name = name,
                                   .read_only = is_relro(elf, relocation.r_offset)};
    }
    return 0;
}

static int take_calls(struct module_code *code, struct error *error)
{
    Elf_Scn *section = NULL;
    GElf_Shdr head;

    while ((section = elf_nextscn(code->file->elf, section)) != NULL)
        if (gelf_getshdr(section, &head) != NULL && head.sh_type == SHT_RELA &&
            (head.sh_flags & SHF_ALLOC) && take_relocations(code, section, &head, error) != 0)
            return -1;
    return 0;
}

/* ---- the file ---- */

static void take_build_id(struct module_code *code)
{
    GElf_Shdr head;
    Elf_Scn *const section = find_section(code->file->elf, SHT_NOTE, ".note.gnu.build-id", &head);
    Elf_Data *const data = section != NULL ? elf_getdata(section, NULL) : NULL;
    size_t name, description;
    GElf_Nhdr note;

    if (data == NULL || gelf_getnote(data, 0, &note, &name, &description) == 0 ||
        HEX_SIZE(note.n_descsz) > sizeof code->build_id)
        return;
    hex_write(code->build_id, (const char *)data->d_buf + description, note.n_descsz);
}

static void take_extent(struct module_code *code)
{
    GElf_Phdr segment;

    code->text_begin = UINT64_MAX;
    for (int i = 0; gelf_getphdr(code->file->elf, i, &segment) != NULL; i++) {
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
            continue;
        if (segment.p_vaddr < code->text_begin)
            code->text_begin = segment.p_vaddr;
        if (segment.p_vaddr + segment.p_memsz > code->text_end)
            code->text_end = segment.p_vaddr + segment.p_memsz;
    }
}

static int module_code_read_all(struct module_code *code, const char *path, struct error *error)
{
    GElf_Ehdr head;

    if (code->file->elf == NULL || elf_kind(code->file->elf) != ELF_K_ELF ||
        gelf_getehdr(code->file->elf, &head) == NULL || head.e_machine != EM_X86_64)
        return module_code_refuse(path, "is not a program for x86-64", error);
    take_extent(code);
    take_build_id(code);
    if (take_functions(code, error) != 0 || take_calls(code, error) != 0)
        return -1;
    return code->function_count == 0 ? module_code_refuse(path, "names no functions", error) : 0;
}

int module_code_open(struct module_code *code, const char *path, struct error *error)
{
    *code = (struct module_code){.file = calloc(1, sizeof *code->file)};
    if (code->file == NULL)
        return error_memory(error, "a program");
    elf_version(EV_CURRENT);
    code->file->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (code->file->fd < 0) {
        (void)error_set(error, ERROR_INPUT, "%s: %m", path);
        module_code_close(code);
        return -1;
    }
    code->file->elf = elf_begin(code->file->fd, ELF_C_READ_MMAP, NULL);
    if (module_code_read_all(code, path, error) == 0)
        return 0;
    module_code_close(code);
    return -1;
}

void module_code_close(struct module_code *code)
{
    if (code->file != NULL) {
        if (code->file->elf != NULL)
            elf_end(code->file->elf);
        if (code->file->fd >= 0)
            close(code->file->fd);
        free(code->file->made_names);
        free(code->file);
    }
    free(code->functions);
    free(code->calls);
    *code = (struct module_code){0};
}

const uint8_t *module_code_bytes(const struct module_code *code, uint64_t address, size_t *length)
{
    GElf_Phdr segment;
    size_t size;
    const char *const bytes = elf_rawfile(code->file->elf, &size);

    for (int i = 0; bytes != NULL && gelf_getphdr(code->file->elf, i, &segment) != NULL; i++) {
        if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) || address < segment.p_vaddr ||
            address - segment.p_vaddr >= segment.p_filesz || segment.p_offset > size ||
            segment.p_filesz > size - segment.p_offset)
            continue;
        *length = segment.p_filesz - (address - segment.p_vaddr);
        return (const uint8_t *)bytes + segment.p_offset + (address - segment.p_vaddr);
    }
    return NULL;
}

uint64_t module_code_variable(const struct module_code *code, const char *name)
{
    GElf_Shdr head;
    Elf_Scn *const section = find_section(code->file->elf, SHT_SYMTAB, NULL, &head);
    Elf_Data *const data = section != NULL ? elf_getdata(section, NULL) : NULL;
    GElf_Sym symbol;

    for (int i = 0; data != NULL && gelf_getsym(data, i, &symbol) != NULL; i++) {
        const char *const own = elf_strptr(code->file->elf, head.sh_link, symbol.st_name);

        if (GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF &&
            own != NULL && strcmp(own, name) == 0)
            return symbol.st_value;
    }
    return 0;
}
