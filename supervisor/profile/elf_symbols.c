/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/elf_symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "trace/patch/unwind.h"

/* The function of the last lookup; all zeros: none yet. */
struct elf_scope {
    Dwarf_Die function;
    bool known;
};

struct elf_symbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    /* The last result: libdwfl searches all symbols each time. */
    struct elf_function last;
    GElf_Addr last_end;
    struct unwind_start *starts; /* by address; owned */
    size_t start_count;
    bool starts_read;
    struct elf_scope scope; /* found last */
    char **names;           /* of functions without a symbol; owned, and each of them */
    size_t name_count, name_capacity;
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
        if (symbols->module != NULL && dwfl_report_end(symbols->dwfl, NULL, NULL) == 0)
            return symbols;
    }
    elf_symbols_close(symbols);
    return NULL;
}

/* From an offset in the file to an address as libdwfl has it; false: not in a segment of code. */
static bool offset_to_address(const struct elf_symbols *symbols, uint64_t offset,
                              GElf_Addr *address)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    GElf_Phdr segment;

    for (int i = 0; elf != NULL && gelf_getphdr(elf, i, &segment) != NULL; i++) {
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
            offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz) {
            *address = offset - segment.p_offset + segment.p_vaddr + bias;
            return true;
        }
    }
    return false;
}

static bool is_function_symbol(const GElf_Sym *symbol)
{
    return GELF_ST_TYPE(symbol->st_info) == STT_FUNC ||
           GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
}

/* ---- functions without symbols ---- */

static Elf_Data *find_eh_frame(Elf *elf, GElf_Addr *address)
{
    Elf_Scn *section = NULL;
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((section = elf_nextscn(elf, section)) != NULL) {
        GElf_Shdr head;
        const char *name;

        if (gelf_getshdr(section, &head) == NULL || head.sh_type == SHT_NOBITS)
            continue;
        name = elf_strptr(elf, names, head.sh_name);
        if (name == NULL || strcmp(name, ".eh_frame") != 0)
            continue;
        *address = head.sh_addr;
        return elf_rawdata(section, NULL);
    }
    return NULL;
}

static int compare_starts(const void *a, const void *b)
{
    const struct unwind_start *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

/* A stripped file still says how to unwind its functions, and so where they begin. */
static void read_starts(struct elf_symbols *symbols)
{
    GElf_Addr bias, address;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    const Elf_Data *data = elf != NULL ? find_eh_frame(elf, &address) : NULL;
    struct error ignored;

    symbols->starts_read = true;
    if (data == NULL || data->d_buf == NULL ||
        unwind_starts_read(data->d_buf, data->d_size, address, &symbols->starts,
                           &symbols->start_count, &ignored) != 0) {
        symbols->start_count = 0;
        return;
    }
    if (symbols->start_count > 0) /* qsort(3) may not be given NULL */
        qsort(symbols->starts, symbols->start_count, sizeof *symbols->starts, compare_starts);
}

/* The range that holds the address; NULL: none does. */
static const struct unwind_start *find_unwind_start(const struct elf_symbols *symbols,
                                                    GElf_Addr address)
{
    size_t from = 0, to = symbols->start_count;

    while (from < to) {
        const size_t middle = from + (to - from) / 2;

        if (symbols->starts[middle].address <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from > 0 && address - symbols->starts[from - 1].address < symbols->starts[from - 1].size
               ? &symbols->starts[from - 1]
               : NULL;
}

static const char *keep_address_name(struct elf_symbols *symbols, GElf_Addr address)
{
    char **names = array_reserve(symbols->names, &symbols->name_capacity, symbols->name_count + 1,
                                 sizeof *names);

    if (names == NULL)
        return NULL;
    symbols->names = names;
    if (asprintf(&names[symbols->name_count], "0x%" PRIx64, (uint64_t)address) < 0)
        return NULL;
    return names[symbols->name_count++];
}

/* The address in the file, which libdwfl has moved by its bias. */
static bool name_by_address(struct elf_symbols *symbols, GElf_Addr address)
{
    const struct unwind_start *start;
    GElf_Addr bias = 0, found;
    const char *name;

    (void)dwfl_module_getelf(symbols->module, &bias);
    if (!symbols->starts_read)
        read_starts(symbols);
    start = find_unwind_start(symbols, address - bias);
    found = start != NULL ? start->address : address - bias;
    name = keep_address_name(symbols, found);
    if (name == NULL)
        return false;
    symbols->last = (struct elf_function){.name = name, .address = found + bias};
    symbols->last_end = found + bias + (start != NULL ? start->size : 1);
    return true;
}

bool elf_symbols_find(struct elf_symbols *symbols, uint64_t offset, struct elf_function *function)
{
    GElf_Addr address;
    GElf_Off within;
    GElf_Sym symbol;
    const char *name;

    if (!offset_to_address(symbols, offset, &address))
        return false;
    if (address < symbols->last.address || address >= symbols->last_end) {
        name = dwfl_module_addrinfo(symbols->module, address, &within, &symbol, NULL, NULL, NULL);
        if (name != NULL && is_function_symbol(&symbol)) {
            symbols->last = (struct elf_function){.name = name, .address = address - within};
            symbols->last_end = symbols->last.address + symbol.st_size;
        } else if (!name_by_address(symbols, address)) {
            return false;
        }
    }
    *function = symbols->last;
    function->within = address - symbols->last.address;
    return true;
}

const char *elf_symbols_source(const struct elf_symbols *symbols,
                               const struct elf_function *function, int *line)
{
    Dwfl_Line *source = dwfl_module_getsrc(symbols->module, function->address);

    return source == NULL ? NULL : dwfl_lineinfo(source, NULL, line, NULL, NULL, NULL);
}

struct elf_function elf_symbols_at(const struct elf_symbols *symbols, uint64_t address)
{
    GElf_Addr bias = 0;

    (void)dwfl_module_getelf(symbols->module, &bias);
    return (struct elf_function){.name = "", .address = address + bias};
}

/* ---- inlined functions ---- */

enum { DEEPEST = 100 }; /* blocks within blocks; a file may say anything */

struct inlined {
    struct buf names; /* each ended by '\n' */
    size_t count;
};

static bool has_inlined_name(const struct inlined *inlined, const char *name)
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

static void add_inlined_name(struct inlined *inlined, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *const name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));

    if (name == NULL || *name == '\0' || strchr(name, '\n') != NULL ||
        inlined->count == ELF_INLINED_MAX || has_inlined_name(inlined, name))
        return;
    buf_append_string(&inlined->names, name);
    buf_append_byte(&inlined->names, '\n');
    inlined->count++;
}

/* Collects the functions inlined into the block, and those inlined into them. */
static void collect_inlined(struct inlined *inlined, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;

    if (depth == DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        const int tag = dwarf_tag(&die);

        if (tag == DW_TAG_inlined_subroutine)
            add_inlined_name(inlined, &die);
        if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block)
            collect_inlined(inlined, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

struct wanted {
    Dwarf_Addr address;
    Dwarf_Die *function;
    bool found;
};

/* Not dwarf_getscopes(3): if the first instruction was inlined, it names only the inlined function.
 */
static int on_debug_function(Dwarf_Die *die, void *context)
{
    struct wanted *const wanted = context;

    if (dwarf_haspc(die, wanted->address) <= 0)
        return DWARF_CB_OK;
    *wanted->function = *die;
    wanted->found = true;
    return DWARF_CB_ABORT;
}

static bool find_debug_function(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Die *function)
{
    Dwarf_Addr bias;
    Dwarf_Die *const unit = dwfl_module_addrdie(module, address, &bias);
    struct wanted wanted = {.function = function};

    if (unit == NULL)
        return false;
    wanted.address = address - bias;
    (void)dwarf_getfuncs(unit, on_debug_function, &wanted, 0);
    return wanted.found;
}

static char *inlined_names(Dwarf_Die *function)
{
    struct inlined inlined = {.count = 0};
    char *names = NULL;

    collect_inlined(&inlined, function, 0);
    if (inlined.count > 0 && !buf_failed(&inlined.names))
        names = strndup(inlined.names.data, inlined.names.length - 1);
    buf_free(&inlined.names);
    return names;
}

/* False: no debug information for the function at the address. */
static bool describe_function(Dwfl_Module *module, Dwarf_Addr address,
                              struct elf_description *description)
{
    Dwarf_Die function;

    *description = (struct elf_description){0};
    if (!find_debug_function(module, address, &function))
        return false;
    description->source = dwarf_decl_file(&function);
    if (description->source != NULL && dwarf_decl_line(&function, &description->line) != 0)
        description->source = NULL;
    description->inlined = inlined_names(&function);
    return true;
}

/* The innermost inlined call that holds the address: *name, if there is one. */
static void find_inlined_at(Dwarf_Die *parent, Dwarf_Addr address, const char **name, int depth)
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
        find_inlined_at(&die, address, name, depth + 1);
        return;
    } while (dwarf_siblingof(&die, &die) == 0);
}

/* The innermost function inlined at the address, borrowed; NULL: none. */
static const char *innermost_inlined(Dwfl_Module *module, Dwarf_Addr address,
                                     struct elf_scope *scope)
{
    const char *name = NULL;
    Dwarf_Addr bias;

    if (dwfl_module_getdwarf(module, &bias) == NULL)
        return NULL;
    if (!scope->known || dwarf_haspc(&scope->function, address - bias) <= 0)
        scope->known = find_debug_function(module, address, &scope->function);
    if (scope->known)
        find_inlined_at(&scope->function, address - bias, &name, 0);
    return name;
}

/* ---- lines ---- */

struct elf_description elf_symbols_describe(const struct elf_symbols *symbols,
                                            const struct elf_function *function)
{
    struct elf_description description;

    if (!describe_function(symbols->module, function->address, &description) ||
        description.source == NULL)
        description.source = elf_symbols_source(symbols, function, &description.line);
    return description;
}

struct elf_line elf_symbols_line(struct elf_symbols *symbols, uint64_t offset)
{
    struct elf_line line = {0};
    GElf_Addr address;
    Dwfl_Line *source;

    if (!offset_to_address(symbols, offset, &address))
        return line;
    source = dwfl_module_getsrc(symbols->module, address);
    if (source != NULL)
        line.source = dwfl_lineinfo(source, NULL, &line.line, NULL, NULL, NULL);
    if (line.source != NULL)
        line.inlined = innermost_inlined(symbols->module, address, &symbols->scope);
    else
        line.line = 0;
    return line;
}

const uint8_t *elf_symbols_bytes(const struct elf_symbols *symbols, uint64_t offset,
                                 size_t *available)
{
    GElf_Addr bias;
    Elf *const elf = dwfl_module_getelf(symbols->module, &bias);
    size_t size = 0;
    const char *const file = elf != NULL ? elf_rawfile(elf, &size) : NULL;

    *available = offset < size ? size - offset : 0;
    return file != NULL && offset < size ? (const uint8_t *)file + offset : NULL;
}

void elf_symbols_build_id(const struct elf_symbols *symbols, char text[41])
{
    const unsigned char *bits;
    GElf_Addr address;
    GElf_Addr bias;
    int length;

    text[0] = '\0';
    if (dwfl_module_getelf(symbols->module, &bias) == NULL)
        return;
    length = dwfl_module_build_id(symbols->module, &bits, &address);
    for (int i = 0; i < length && i < 20; i++)
        snprintf(text + (size_t)i * 2, 3, "%02x", bits[i]);
}

void elf_symbols_close(struct elf_symbols *symbols)
{
    if (symbols == NULL)
        return;
    dwfl_end(symbols->dwfl);
    for (size_t i = 0; i < symbols->name_count; i++)
        free(symbols->names[i]);
    free(symbols->names);
    free(symbols->starts);
    free(symbols);
}
