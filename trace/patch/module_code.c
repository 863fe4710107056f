/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/patch/module_code.h"

#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/number.h"
#include "trace/patch/unwind.h"

/* The open file, from which a module's names and bytes are borrowed. */
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
    return strcmp(x->name, y->name); /* the choice between two names must not vary */
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

/* Keeps one function for each address, and finds how far each may extend. */
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

        functions[i].space =
            i + 1 < count && functions[i + 1].address < end ? functions[i + 1].address : end;
        /* A symbol's size may be too large. */
        if (functions[i].size > end - functions[i].address)
            functions[i].size = end - functions[i].address;
    }
}

/* gcc splits off rarely executed parts, which are jumped to and never called; no code calls the
 * entry point. */
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

/* For files without symbols. Entries of .plt are not functions. */
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

static int by_function_address(const void *a, const void *b)
{
    const uint64_t address = *(const uint64_t *)a;
    const struct code_function *const function = b;

    return address < function->address ? -1 : address > function->address;
}

/* A stripped file still names what it exports. */
static void name_exported(struct module_code *code)
{
    Elf *const elf = code->file->elf;
    GElf_Shdr head;
    Elf_Scn *const section = find_section(elf, SHT_DYNSYM, NULL, &head);
    Elf_Data *const data = section != NULL ? elf_getdata(section, NULL) : NULL;
    const size_t count = data != NULL && head.sh_entsize > 0 ? head.sh_size / head.sh_entsize : 0;
    GElf_Sym symbol;

    for (size_t i = 0; i < count && code->function_count > 0; i++) {
        struct code_function *function;
        const char *name;

        if (gelf_getsym(data, (int)i, &symbol) == NULL || symbol.st_shndx == SHN_UNDEF ||
            GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
            continue;
        function = bsearch(&symbol.st_value, code->functions, code->function_count,
                           sizeof *code->functions, by_function_address);
        name = elf_strptr(elf, head.sh_link, symbol.st_name);
        if (function != NULL && name != NULL && *name != '\0')
            function->name = name;
    }
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
        settle_functions(code);
        name_exported(code);
        return 0;
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

/* ---- branches ---- */

static int add_target(struct branches *branches, uint64_t target, struct error *error)
{
    uint64_t *const targets =
        array_reserve(branches->targets, &branches->capacity, branches->count + 1, sizeof *targets);

    if (targets == NULL)
        return error_memory(error, "the branches of a program");
    branches->targets = targets;
    targets[branches->count++] = target;
    return 0;
}

static bool is_branch(const ZydisDecodedInstruction *instruction)
{
    return (instruction->meta.category == ZYDIS_CATEGORY_COND_BR ||
            instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR) &&
           instruction->raw.imm[0].is_relative;
}

/* Skips bytes that cannot be decoded, such as a table among the code, one by one. */
static int scan_function(struct branches *branches, const ZydisDecoder *decoder,
                         const struct code_function *function, const uint8_t *bytes,
                         struct error *error)
{
    ZydisDecodedInstruction instruction;
    uint64_t at = 0;

    while (at < function->size) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes + at,
                                                        function->size - at, &instruction))) {
            at++;
            continue;
        }
        at += instruction.length;
        if (is_branch(&instruction) &&
            add_target(branches, function->address + at + (uint64_t)instruction.raw.imm[0].value.s,
                       error) != 0)
            return -1;
    }
    return 0;
}

/* `at` is where the next instruction begins, from the function's address on. */
static bool stays_ahead(const ZydisDecodedInstruction *instruction, uint64_t at, uint64_t size)
{
    const uint64_t target = at + (uint64_t)instruction->raw.imm[0].value.s;

    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_STRINGOP:
        return false;
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
        return is_branch(instruction) && target >= at && target < size;
    default:
        return true;
    }
}

bool module_code_is_leaf(const struct module_code *code, const struct code_function *function)
{
    ZydisDecodedInstruction instruction;
    ZydisDecoder decoder;
    size_t length = 0;
    const uint8_t *const bytes = module_code_bytes(code, function->address, &length);
    uint64_t at = 0;

    if (bytes == NULL || length < function->size)
        return false;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (at < function->size) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + at,
                                                        function->size - at, &instruction)))
            return false;
        at += instruction.length;
        if (!stays_ahead(&instruction, at, function->size))
            return false;
    }
    return true;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

int branches_find(struct branches *branches, const struct module_code *code, struct error *error)
{
    ZydisDecoder decoder;

    *branches = (struct branches){0};
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t i = 0; i < code->function_count; i++) {
        const struct code_function *const function = &code->functions[i];
        size_t length = 0;
        const uint8_t *const bytes = module_code_bytes(code, function->address, &length);

        if (bytes == NULL || length < function->size)
            continue;
        if (scan_function(branches, &decoder, function, bytes, error) != 0) {
            branches_free(branches);
            return -1;
        }
    }
    if (branches->count > 0)
        qsort(branches->targets, branches->count, sizeof *branches->targets, by_value);
    return 0;
}

void branches_free(struct branches *branches)
{
    free(branches->targets);
    *branches = (struct branches){0};
}

/* Returns true if a target is in [begin, end). */
static bool branches_lead_into(const struct branches *branches, uint64_t begin, uint64_t end)
{
    size_t low = 0, high = branches->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (branches->targets[middle] < begin)
            low = middle + 1;
        else
            high = middle;
    }
    return low < branches->count && branches->targets[low] < end;
}

/* ---- entries ---- */

/*
 * The jump to a trampoline takes five bytes. The instructions that begin in them are copied after
 * the trampoline and executed there. Three hazards:
 *
 * - A branch into the five bytes would land in the middle of the jump. Such functions are not
 * traced.
 * - An instruction may mean something else at another address (relative operands, calls). It is
 *   rewritten, or the function is not traced.
 * - A thread may be between these instructions. The writer of the patch has made sure that none is
 *   (trace/agent/agent.c).
 */
const char *trace_outcome_words(enum trace_outcome outcome)
{
    static const char *const words[TRACE_OUTCOMES] = {
        [TRACE_PATCHED] = "traced",
        [TRACE_TOO_SHORT] = "too short",
        [TRACE_BRANCHED_INTO] = "with a branch into the first five bytes",
        [TRACE_UNMOVABLE] = "with an instruction that cannot be moved",
        [TRACE_LEAF] = "short ones that call nothing (--all traces them)",
        [TRACE_NO_SPACE] = "too many",
    };

    return words[outcome];
}

/* The copy that is being written. Addresses are the process's. */
struct moving {
    const uint8_t *bytes; /* of the instruction */
    uint64_t from, next;  /* addresses of it and of the next one */
    uint64_t begin;       /* of the function */
    uint8_t *out;
    uint64_t to; /* the address of out[0] */
    size_t length;
    bool ends; /* control never reaches the next instruction */
};

static bool put_distance(uint8_t *place, int64_t distance)
{
    const int32_t short_distance = (int32_t)distance;

    memcpy(place, &short_distance, sizeof short_distance);
    return short_distance == distance;
}

static uint64_t here(const struct moving *moving)
{
    return moving->to + moving->length;
}

static bool put_jump(struct moving *moving, const char *opcode, size_t size, uint64_t target)
{
    uint8_t *const out = moving->out + moving->length;

    memcpy(out, opcode, size);
    moving->length += size + 4;
    return put_distance(out + size, (int64_t)(target - here(moving)));
}

/* Rewrites a call as a push of the original return address and a jump, so that the callee returns,
 * and unwinders find it, at the original place. */
static bool put_call(struct moving *moving, uint64_t target)
{
    const uint32_t low = (uint32_t)moving->next, high = (uint32_t)(moving->next >> 32);
    uint8_t *const out = moving->out + moving->length;
    static const uint8_t store[] = {0xc7, 0x44, 0x24, 0x04}; /* movl high, 4(%rsp) */

    out[0] = 0x68; /* push, sign-extended */
    memcpy(out + 1, &low, 4);
    memcpy(out + 5, store, sizeof store);
    memcpy(out + 9, &high, 4);
    moving->length += 13;
    moving->ends = true;
    return put_jump(moving, "\xe9", 1, target);
}

static bool move_branch(struct moving *moving, const ZydisDecodedInstruction *instruction)
{
    const uint64_t target = moving->next + (uint64_t)instruction->raw.imm[0].value.s;
    const uint8_t *const bytes = moving->bytes;

    /* A loop back to the entry would land in the middle of the jump. */
    if (target > moving->begin && target < moving->begin + TRACE_JUMP_SIZE)
        return false;
    if (instruction->meta.category == ZYDIS_CATEGORY_COND_BR) {
        char opcode[2] = {'\x0f', 0};

        if ((bytes[0] & 0xf0) == 0x70)
            opcode[1] = (char)(0x80 | (bytes[0] & 15));
        else if (bytes[0] == 0x0f)
            opcode[1] = (char)bytes[1];
        else
            return false; /* jrcxz, loop */
        return put_jump(moving, opcode, 2, target);
    }
    if (bytes[0] == 0xeb || bytes[0] == 0xe9) {
        moving->ends = true;
        return put_jump(moving, "\xe9", 1, target);
    }
    return bytes[0] == 0xe8 && put_call(moving, target);
}

static bool is_last(const ZydisDecodedInstruction *instruction)
{
    return instruction->meta.category == ZYDIS_CATEGORY_RET ||
           instruction->mnemonic == ZYDIS_MNEMONIC_JMP ||
           instruction->mnemonic == ZYDIS_MNEMONIC_UD2 ||
           instruction->mnemonic == ZYDIS_MNEMONIC_HLT;
}

static bool move_other(struct moving *moving, const ZydisDecodedInstruction *instruction)
{
    uint8_t *const out = moving->out + moving->length;

    /* A call through memory would leave a return address in the copy. */
    if (instruction->meta.category == ZYDIS_CATEGORY_CALL)
        return false;
    memcpy(out, moving->bytes, instruction->length);
    moving->length += instruction->length;
    moving->ends = is_last(instruction);
    if (instruction->raw.modrm.offset == 0 || instruction->raw.modrm.mod != 0 ||
        instruction->raw.modrm.rm != 5)
        return true;
    /* relative to the instruction's end */
    return put_distance(
        out + instruction->raw.disp.offset,
        (int64_t)(moving->next + (uint64_t)instruction->raw.disp.value - here(moving)));
}

static bool move_instruction(struct moving *moving, const ZydisDecodedInstruction *instruction)
{
    return instruction->raw.imm[0].is_relative ? move_branch(moving, instruction)
                                               : move_other(moving, instruction);
}

/* For functions shorter than five bytes: the padding up to the next function is never executed,
 * unless something branches to it. */
static bool is_padded(const struct branches *branches, const struct code_function *function,
                      uint64_t used)
{
    return function->address + TRACE_JUMP_SIZE <= function->space &&
           !branches_lead_into(branches, function->address + used,
                               function->address + TRACE_JUMP_SIZE);
}

enum trace_outcome relocate_entry(const struct module_code *code, const struct branches *branches,
                                  const struct code_function *function, uint64_t base, uint64_t at,
                                  uint8_t out[RELOCATED_MAX], size_t *length)
{
    struct moving moving = {.begin = base + function->address, .out = out, .to = at};
    ZydisDecodedInstruction instruction;
    ZydisDecoder decoder;
    size_t available = 0;
    uint64_t used = 0;
    const uint8_t *const bytes = module_code_bytes(code, function->address, &available);

    if (bytes == NULL || available < function->size)
        return TRACE_UNMOVABLE;
    if (branches_lead_into(branches, function->address + 1, function->address + TRACE_JUMP_SIZE))
        return TRACE_BRANCHED_INTO;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (used < TRACE_JUMP_SIZE && !moving.ends && used < function->size) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + used,
                                                        function->size - used, &instruction)))
            return TRACE_UNMOVABLE;
        moving.bytes = bytes + used;
        moving.from = moving.begin + used;
        used += instruction.length;
        moving.next = moving.begin + used;
        if (!move_instruction(&moving, &instruction))
            return TRACE_UNMOVABLE;
    }
    if (used < TRACE_JUMP_SIZE && !(moving.ends && is_padded(branches, function, used)))
        return TRACE_TOO_SHORT;
    if (!moving.ends && !put_jump(&moving, "\xe9", 1, moving.next))
        return TRACE_UNMOVABLE;
    *length = moving.length;
    return TRACE_PATCHED;
}
