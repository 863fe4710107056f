/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/profile/native_profile.h"

#include <Zydis/Zydis.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "supervisor/profile/elf_symbols.h"

/* No worker has so much code, or gets so deep. */
enum { PLACES_MAX = 1 << 22, CELLS_MAX = 1 << 24, FILES_MAX = 4096, DEPTH_MAX = 1024 };

static int not_a_stream(struct error *error)
{
    return error_set(error, ERROR_INPUT, "invalid profile from a worker's counter");
}

/* ---- files ---- */

static int take_file(struct region_stream *stream, const char *path, size_t length,
                     struct error *error)
{
    char **files;

    if (stream->file_count == FILES_MAX || memchr(path, '\0', length) != NULL)
        return not_a_stream(error);
    files = array_reserve(stream->files, &stream->file_capacity, stream->file_count + 1,
                          sizeof(char *));
    if (files == NULL)
        return error_memory(error, "a profile");
    stream->files = files;
    files[stream->file_count] = strndup(path, length);
    if (files[stream->file_count] == NULL)
        return error_memory(error, "a profile");
    stream->file_count++;
    return 0;
}

/* ---- places ---- */

/* Makes the items up to that number, all zeros. NULL: out of memory. */
static struct region_place *reserve_place(struct region_places *places, uint32_t number)
{
    struct region_place *items =
        array_reserve(places->items, &places->capacity, (size_t)number + 1, sizeof *items);

    if (items == NULL)
        return NULL;
    places->items = items;
    if (number >= places->count) {
        memset(items + places->count, 0, (number + 1 - places->count) * sizeof *items);
        places->count = (size_t)number + 1;
    }
    return &items[number];
}

static uint32_t depth_of(const struct region_stream *stream, uint32_t chain)
{
    return chain > 0 ? stream->chains.items[chain].length : 0;
}

/* A sequence has a length. A chain is numbered next, after its caller. */
static bool is_valid_place(const struct region_stream *stream,
                           const struct profile_stream_place *given, bool is_chain)
{
    if (given->file > stream->file_count || given->number >= PLACES_MAX)
        return false;
    if (is_chain)
        return given->number == (stream->chains.count > 0 ? stream->chains.count : 1) &&
               given->caller < given->number && depth_of(stream, given->caller) < DEPTH_MAX;
    return given->length > 0;
}

static int take_native_place(struct region_stream *stream, const struct profile_stream_place *given,
                             bool is_chain, struct error *error)
{
    struct region_place *place;

    if (!is_valid_place(stream, given, is_chain))
        return not_a_stream(error);
    place = reserve_place(is_chain ? &stream->chains : &stream->sequences, given->number);
    if (place == NULL)
        return error_memory(error, "a profile");
    *place = (struct region_place){
        .offset = given->offset,
        .file = given->file > 0 ? given->file - 1 : REGION_NO_FILE,
        .caller = given->caller,
        .length = is_chain ? depth_of(stream, given->caller) + 1 : given->length,
    };
    return 0;
}

static int take_native_places(struct region_stream *stream, const char *bytes, uint32_t count,
                              bool is_chain, struct error *error)
{
    struct profile_stream_place given;

    for (uint32_t i = 0; i < count; i++) {
        memcpy(&given, bytes + i * sizeof given, sizeof given);
        if (take_native_place(stream, &given, is_chain, error) != 0)
            return -1;
    }
    return 0;
}

/* ---- regions ---- */

static bool has_place(const struct region_places *places, uint32_t number)
{
    return number < places->count && places->items[number].length > 0;
}

static bool adds_up(const struct region_stream *stream, const struct region *region)
{
    uint64_t left = region->totals.instructions;

    if (left > INT64_MAX)
        return false;
    for (size_t i = 0; i < region->cell_count; i++) {
        const struct profile_stream_cell *cell = &region->cells[i];

        if (!has_place(&stream->sequences, cell->place) ||
            (cell->chain > 0 && !has_place(&stream->chains, cell->chain)) ||
            cell->instructions > left)
            return false;
        left -= cell->instructions;
    }
    return left == 0;
}

static int take_region(struct region_stream *stream, const char *bytes, uint32_t count,
                       struct error *error)
{
    struct region *region = malloc(sizeof *region + count * sizeof *region->cells);

    if (region == NULL)
        return error_memory(error, "a profile");
    *region = (struct region){.cell_count = count};
    memcpy(&region->totals, bytes, sizeof region->totals);
    memcpy(region->cells, bytes + sizeof region->totals, count * sizeof *region->cells);
    if (!adds_up(stream, region)) {
        free(region);
        return not_a_stream(error);
    }
    if (stream->regions == NULL)
        stream->last = &stream->regions;
    *stream->last = region;
    stream->last = &region->next;
    return 0;
}

void region_stream_forget(struct region_stream *stream, const struct region *upto)
{
    bool more = true;

    while (more && stream->regions != NULL) {
        struct region *region = stream->regions;

        more = region != upto;
        stream->regions = region->next;
        free(region);
    }
}

/* ---- records ---- */

/* The length of what follows the head; SIZE_MAX: not a valid record. */
static size_t record_body_size(const struct profile_stream_head *head)
{
    switch (head->type) {
    case PROFILE_STREAM_PROCESS:
        return head->count > 0 && head->count <= INT32_MAX ? 0 : SIZE_MAX;
    case PROFILE_STREAM_FILE:
        return head->count < PATH_MAX ? ((size_t)head->count + 7) / 8 * 8 : SIZE_MAX;
    case PROFILE_STREAM_PLACES:
    case PROFILE_STREAM_CHAINS:
        return head->count <= PLACES_MAX ? head->count * sizeof(struct profile_stream_place)
                                         : SIZE_MAX;
    case PROFILE_STREAM_REGION:
        return head->count <= CELLS_MAX ? sizeof(struct profile_stream_region) +
                                              head->count * sizeof(struct profile_stream_cell)
                                        : SIZE_MAX;
    default:
        return SIZE_MAX;
    }
}

static int take_region_record(struct region_stream *stream, const struct profile_stream_head *head,
                              const char *body, struct error *error)
{
    switch (head->type) {
    case PROFILE_STREAM_PROCESS:
        stream->process = (int32_t)head->count;
        return 0;
    case PROFILE_STREAM_FILE:
        return take_file(stream, body, head->count, error);
    case PROFILE_STREAM_REGION:
        return take_region(stream, body, head->count, error);
    default:
        return take_native_places(stream, body, head->count, head->type == PROFILE_STREAM_CHAINS,
                                  error);
    }
}

/* How many of the bytes were taken; -1 with the error. */
static ssize_t take_records(struct region_stream *stream, const char *bytes, size_t length,
                            struct error *error)
{
    struct profile_stream_head head;
    size_t at = 0, body;

    while (length - at >= sizeof head) {
        memcpy(&head, bytes + at, sizeof head);
        body = record_body_size(&head);
        if (body == SIZE_MAX)
            return not_a_stream(error);
        if (length - at - sizeof head < body)
            break;
        if (take_region_record(stream, &head, bytes + at + sizeof head, error) != 0)
            return -1;
        at += sizeof head + body;
    }
    return (ssize_t)at;
}

int region_stream_feed(struct region_stream *stream, const void *bytes, size_t length,
                       struct error *error)
{
    ssize_t taken;

    buf_append(&stream->bytes, bytes, length);
    if (buf_failed(&stream->bytes))
        return error_memory(error, "a profile");
    taken = take_records(stream, stream->bytes.data, stream->bytes.length, error);
    if (taken < 0)
        return -1;
    buf_consume(&stream->bytes, (size_t)taken);
    return 0;
}

void region_stream_free(struct region_stream *stream)
{
    region_stream_forget(stream, NULL);
    for (size_t i = 0; i < stream->file_count; i++)
        free(stream->files[i]);
    free(stream->files);
    free(stream->sequences.items);
    free(stream->chains.items);
    buf_free(&stream->bytes);
    *stream = (struct region_stream){0};
}

struct native_file {
    char *path;                  /* owned; NULL: code of no file */
    const char *module;          /* its name without directory, or "[generated]" */
    struct elf_symbols *symbols; /* NULL: none that can be read */
    const char *build_id;        /* NULL: none */
    struct pair_table functions; /* from an address to the number of its function and 1 */
};

struct native_run {
    uint32_t line; /* its number */
    uint32_t count;
};

/* ---- files and functions ---- */

static bool has_path(const struct native_file *file, const char *path)
{
    if (path == NULL || file->path == NULL)
        return path == file->path;
    return strcmp(file->path, path) == 0;
}

static bool open_native_file(struct native_code *code, const char *path, struct native_file *file)
{
    const char *const slash = path != NULL ? strrchr(path, '/') : NULL;
    char build_id[41] = "";

    *file = (struct native_file){
        .path = path != NULL ? strdup(path) : NULL,
        .module = profile_texts_copy_name(&code->texts, slash != NULL ? slash + 1 : "[generated]"),
        .symbols = path != NULL ? elf_symbols_open(path) : NULL,
    };
    if (file->symbols != NULL)
        elf_symbols_build_id(file->symbols, build_id);
    if (build_id[0] != '\0')
        file->build_id = profile_texts_copy(&code->texts, build_id);
    if (file->module != NULL && (path == NULL) == (file->path == NULL) &&
        (build_id[0] == '\0') == (file->build_id == NULL))
        return true;
    free(file->path);
    elf_symbols_close(file->symbols);
    return false;
}

/* NULL without memory. */
static struct native_file *native_file_of_place(struct native_code *code, const char *path)
{
    struct native_file *files;

    for (size_t i = 0; i < code->file_count; i++)
        if (has_path(&code->files[i], path))
            return &code->files[i];
    files = array_reserve(code->files, &code->file_capacity, code->file_count + 1, sizeof *files);
    if (files == NULL)
        return NULL;
    code->files = files;
    return open_native_file(code, path, &files[code->file_count]) ? &files[code->file_count++]
                                                                  : NULL;
}

/* NULL becomes NULL. False without memory. */
static bool copy_optional_name(struct native_code *code, const char *name, const char **copy)
{
    *copy = name != NULL ? profile_texts_copy_name(&code->texts, name) : NULL;
    return (name == NULL) == (*copy == NULL);
}

static bool fill_function(struct native_code *code, const struct native_file *file,
                          const struct elf_function *found, struct profile_function *function)
{
    struct elf_description description = {0};
    bool filled;

    if (file->symbols != NULL)
        description = elf_symbols_describe(file->symbols, found);
    *function = (struct profile_function){
        .module = file->module, .build_id = file->build_id, .line = description.line};
    filled = copy_optional_name(code, found->name, &function->name) &&
             copy_optional_name(code, description.source, &function->file);
    if (filled && description.inlined != NULL) {
        function->inlined = profile_texts_copy(&code->texts, description.inlined);
        filled = function->inlined != NULL;
    }
    free(description.inlined);
    return filled;
}

static size_t add_native_function(struct native_code *code, const struct native_file *file,
                                  const struct elf_function *found)
{
    struct profile_function *const functions = array_reserve(
        code->functions, &code->function_capacity, code->function_count + 1, sizeof *functions);

    if (functions == NULL)
        return SIZE_MAX;
    code->functions = functions;
    return fill_function(code, file, found, &functions[code->function_count])
               ? code->function_count++
               : SIZE_MAX;
}

/* The number of the function that holds the byte at `offset` of the file; *within: the byte's
 * distance from its beginning. SIZE_MAX if out of memory. */
static size_t find_native_function(struct native_code *code, const char *path, uint64_t offset,
                                   uint64_t *within)
{
    struct native_file *const file = native_file_of_place(code, path);
    struct elf_function found = {.name = "[unknown]", .address = UINT64_MAX, .within = offset};
    struct pair *number;

    if (file == NULL)
        return SIZE_MAX;
    if (file->symbols != NULL)
        (void)elf_symbols_find(file->symbols, offset, &found); /* stays [unknown] if not found */
    *within = found.within;
    number = pair_table_find(&file->functions, found.address, 0);
    if (number == NULL)
        return SIZE_MAX;
    if (number->value == 0)
        number->value = add_native_function(code, file, &found) + 1;
    return number->value - 1;
}

/* ---- lines ---- */

/* The line's number; SIZE_MAX if out of memory. libdw returns one pointer for each path in a unit.
 * Code of one line that is inside and outside an inlined function counts as two lines. */
static size_t line_number(struct native_code *code, const struct elf_line *found, size_t function)
{
    struct pair *const place =
        pair_table_find(&code->places, (uint64_t)function << 32 | (uint32_t)found->line,
                        (uint64_t)(uintptr_t)found->source);
    struct profile_line *lines;
    struct pair *known;

    if (place == NULL)
        return SIZE_MAX;
    if (place->value == 0)
        place->value = ++code->place_count;
    known = pair_table_find(&code->line_numbers, place->value, (uint64_t)(uintptr_t)found->inlined);
    if (known == NULL)
        return SIZE_MAX;
    if (known->value != 0)
        return known->value - 1;
    lines = array_reserve(code->lines, &code->line_capacity, code->line_count + 1, sizeof *lines);
    if (lines == NULL)
        return SIZE_MAX;
    code->lines = lines;
    lines += code->line_count;
    *lines = (struct profile_line){.function = (uint32_t)function, .line = found->line};
    if (!copy_optional_name(code, found->source, &lines->file) ||
        !copy_optional_name(code, found->inlined, &lines->inlined))
        return SIZE_MAX;
    known->value = ++code->line_count;
    return code->line_count - 1;
}

/* Adds `count` instructions of a line, which extend the last run if that is of the same line. */
static bool add_run(struct native_code *code, uint32_t first, size_t line, uint32_t count)
{
    struct native_run *runs;

    if (line == SIZE_MAX)
        return false;
    if (code->run_count > first && code->runs[code->run_count - 1].line == line) {
        code->runs[code->run_count - 1].count += count;
        return true;
    }
    runs = array_reserve(code->runs, &code->run_capacity, code->run_count + 1, sizeof *runs);
    if (runs == NULL)
        return false;
    code->runs = runs;
    runs[code->run_count++] = (struct native_run){.line = (uint32_t)line, .count = count};
    return true;
}

/* The instruction's size in bytes; 0: not a valid instruction, or not in the file. */
static size_t instruction_size(const ZydisDecoder *decoder, const struct elf_symbols *symbols,
                               uint64_t offset)
{
    ZydisDecodedInstruction instruction;
    size_t available;
    const uint8_t *const bytes = elf_symbols_bytes(symbols, offset, &available);

    return bytes != NULL && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes,
                                                                       available, &instruction))
               ? instruction.length
               : 0;
}

/* Adds the runs of a sequence of `length` instructions at that offset: *first and *count in `runs`.
 */
static bool add_runs(struct native_code *code, struct elf_symbols *symbols, uint64_t offset,
                     uint32_t length, size_t function, uint32_t *first, uint32_t *count)
{
    struct elf_line found = {0};
    ZydisDecoder decoder;
    uint32_t done = 0;
    size_t size = 1;

    *first = (uint32_t)code->run_count;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (symbols != NULL && done < length && size > 0) {
        found = elf_symbols_line(symbols, offset);
        if (!add_run(code, *first, line_number(code, &found, function), 1))
            return false;
        size = instruction_size(&decoder, symbols, offset);
        offset += size;
        done++;
    }
    /* Bytes that cannot be decoded belong to the line before. */
    if (done < length && !add_run(code, *first, line_number(code, &found, function), length - done))
        return false;
    *count = (uint32_t)code->run_count - *first;
    return true;
}

void native_code_free(struct native_code *code)
{
    for (size_t i = 0; i < code->file_count; i++) {
        free(code->files[i].path);
        elf_symbols_close(code->files[i].symbols);
        pair_table_free(&code->files[i].functions);
    }
    free(code->functions);
    free(code->lines);
    free(code->runs);
    free(code->files);
    pair_table_free(&code->places);
    pair_table_free(&code->line_numbers);
    profile_texts_free(&code->texts);
    *code = (struct native_code){0};
}

/* ---- a profile ---- */

/* A profile in the making. */
struct making {
    struct region_stream *stream;
    struct native_code *code;
    struct profile *profile;
    struct pair_table local; /* from a function's number to its index in the profile and 1 */
    struct pair_table nodes; /* from a chain to its node */
    struct pair_table lines; /* from a line's number to its index in the profile and 1 */
};

static const char *path_of(const struct making *making, const struct region_place *place)
{
    return place->file == REGION_NO_FILE ? NULL : making->stream->files[place->file];
}

/* The function's number; SIZE_MAX if out of memory. A call at a function's end returns to the next
 * function, so a call's place is the byte before its return address. */
static size_t number_of_function(const struct making *making, struct region_place *place,
                                 bool is_call)
{
    uint64_t within;
    size_t number;

    if (place->function > 0)
        return place->function - 1;
    number = find_native_function(making->code, path_of(making, place),
                                  is_call && place->offset > 0 ? place->offset - 1 : place->offset,
                                  &within);
    if (number == SIZE_MAX)
        return SIZE_MAX;
    place->function = (uint32_t)number + 1;
    place->begins_function = within == 0;
    return number;
}

/* The function's index in the profile; SIZE_MAX if out of memory. */
static size_t function_of_place(struct making *making, struct region_place *place, bool is_call)
{
    const size_t number = number_of_function(making, place, is_call);
    struct pair *const local =
        number != SIZE_MAX ? pair_table_find(&making->local, number, 0) : NULL;
    struct profile_function *function;

    if (local == NULL)
        return SIZE_MAX;
    if (local->value == 0) {
        function = profile_add_function(making->profile);
        if (function == NULL)
            return SIZE_MAX;
        *function = making->code->functions[number];
        local->value = making->profile->function_count;
    }
    return local->value - 1;
}

/* The node of `place` as `caller` calls it; 0 without memory. */
static size_t node_within(struct making *making, size_t caller, struct region_place *place,
                          bool is_call)
{
    const size_t function = function_of_place(making, place, is_call);

    return function == SIZE_MAX ? 0 : profile_child(making->profile, caller, function);
}

/* The node of a chain; 0: of none; SIZE_MAX: out of memory. Recursion is no deeper than DEPTH_MAX.
 */
static size_t node_of_chain(struct making *making, uint32_t chain)
{
    struct region_place *call;
    struct pair *known;
    size_t node;

    if (chain == 0)
        return 0;
    known = pair_table_find(&making->nodes, chain, 0);
    if (known == NULL)
        return SIZE_MAX;
    if (known->value != 0)
        return known->value;
    call = &making->stream->chains.items[chain];
    node = node_of_chain(making, call->caller);
    if (node == SIZE_MAX || (node = node_within(making, node, call, true)) == 0)
        return SIZE_MAX;
    known = pair_table_find(&making->nodes, chain, 0); /* it may have moved */
    known->value = node;
    return node;
}

/* NULL without memory. */
static struct profile_line *profile_line_of(struct making *making, uint32_t number)
{
    const struct profile_line *const of = &making->code->lines[number];
    struct pair *const known = pair_table_find(&making->lines, number, 0);
    struct profile_line *line;

    if (known == NULL)
        return NULL;
    if (known->value != 0)
        return &making->profile->lines[known->value - 1];
    line = profile_add_line(making->profile);
    if (line == NULL)
        return NULL;
    known->value = making->profile->line_count;
    *line = *of;
    line->function = (uint32_t)(pair_table_value(&making->local, of->function, 0) - 1);
    return line;
}

static bool find_runs(struct making *making, struct region_place *place)
{
    const struct native_file *file;

    if (place->run_count > 0)
        return true;
    file = native_file_of_place(making->code, path_of(making, place));
    return file != NULL && add_runs(making->code, file->symbols, place->offset,
                                    place->length > 0 ? place->length : 1, place->function - 1,
                                    &place->first_run, &place->run_count);
}

/* Each execution of a sequence counts all of its instructions. A remainder, from an execution that
 * was cut short, counts for the first ones. */
static bool add_lines(struct making *making, struct region_place *place, uint64_t instructions)
{
    const uint64_t length = place->length > 0 ? place->length : 1;
    const uint64_t whole = instructions / length;
    uint64_t over = instructions % length;

    if (!find_runs(making, place))
        return false;
    for (uint32_t i = 0; i < place->run_count; i++) {
        const struct native_run run = making->code->runs[place->first_run + i];
        const uint64_t more = over < run.count ? over : run.count;
        struct profile_line *const line = profile_line_of(making, run.line);

        if (line == NULL)
            return false;
        line->self.of[0] += (int64_t)(whole * run.count + more);
        over -= more;
    }
    return true;
}

static bool add_cell(struct making *making, const struct profile_stream_cell *cell)
{
    struct region_place *const place = &making->stream->sequences.items[cell->place];
    size_t node = node_of_chain(making, cell->chain);

    if (node == SIZE_MAX || (node = node_within(making, node, place, false)) == 0)
        return false;
    making->profile->nodes[node].self.of[0] += (int64_t)cell->instructions;
    if (place->begins_function)
        making->profile->nodes[node].calls +=
            (int64_t)((cell->instructions + place->length - 1) / place->length);
    return add_lines(making, place, cell->instructions);
}

static bool add_cells(struct making *making, const struct region *region)
{
    for (size_t i = 0; i < region->cell_count; i++)
        if (!add_cell(making, &region->cells[i]))
            return false;
    return true;
}

int native_profile_make(struct profile *profile, struct region_stream *stream,
                        const struct region *region, struct native_code *code, struct error *error)
{
    struct making making = {.stream = stream, .code = code, .profile = profile};
    const bool memory = profile_init(profile, PROFILE_INSTRUCTIONS) && add_cells(&making, region);

    pair_table_free(&making.local);
    pair_table_free(&making.nodes);
    pair_table_free(&making.lines);
    return memory ? profile_sum(profile, error) : error_memory(error, "a profile");
}
