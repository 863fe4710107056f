/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/read/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/stamp.h"
#include "trace/memory.h"

const char *const trace_clock_names[] = {
    [TRACE_CLOCK_TSC] = "tsc",
    [TRACE_CLOCK_COMPUTRONS] = "computrons",
    [TRACE_CLOCK_CYCLES] = "cycles",
    [TRACE_CLOCK_INSTRUCTIONS] = "instructions",
    [TRACE_CLOCK_CACHE_MISSES] = "cache-misses",
    [TRACE_CLOCK_TLB_MISSES] = "tlb-misses",
    [TRACE_CLOCK_PAGE_FAULTS] = "page-faults",
    [TRACE_CLOCKS] = NULL,
};

bool trace_clock_take(enum trace_clock_kind *kind, const char *name)
{
    for (int i = 0; name != NULL && i < TRACE_CLOCKS; i++)
        if (strcmp(name, trace_clock_names[i]) == 0) {
            *kind = (enum trace_clock_kind)i;
            return true;
        }
    *kind = TRACE_CLOCK_TSC;
    return name == NULL;
}

/* Takes the reading of three that took the shortest time; the others may have been interrupted. */
struct trace_moment trace_moment_now(void)
{
    struct trace_moment best = {0};
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < 3; i++) {
        const uint64_t before = trace_ticks();
        const int64_t mono = stamp_now().mono;
        const uint64_t after = trace_ticks();

        if (after - before >= shortest)
            continue;
        shortest = after - before;
        best = (struct trace_moment){.ticks = before + shortest / 2, .mono = mono};
    }
    return best;
}

/* Nanoseconds of a tick. */
static double pace(const struct trace_clock *clock)
{
    const uint64_t ticks = clock->last.ticks - clock->first.ticks;

    return ticks == 0 ? 0 : (double)(clock->last.mono - clock->first.mono) / (double)ticks;
}

double trace_clock_duration(const struct trace_clock *clock, uint64_t ticks)
{
    return clock->kind == TRACE_CLOCK_TSC ? (double)ticks * pace(clock) : (double)ticks;
}

uint64_t trace_clock_ticks(const struct trace_clock *clock, int64_t mono)
{
    const double nanoseconds = pace(clock);

    return nanoseconds <= 0
               ? 0
               : clock->first.ticks +
                     (uint64_t)(int64_t)((double)(mono - clock->first.mono) / nanoseconds);
}

int64_t trace_clock_mono(const struct trace_clock *clock, uint64_t ticks)
{
    return clock->first.mono +
           (int64_t)((double)(int64_t)(ticks - clock->first.ticks) * pace(clock));
}

/* The lowest two bits of an event's first number; above them the time passed, in zigzag. */
enum { ENTERED, EXPECTED, LEFT, CONTROL };

enum {
    NUMBER_MOST = 10,             /* bytes */
    EVENT_MOST = 2 * NUMBER_MOST, /* bytes */
};

/* ---- numbers ---- */

/* Writes at most NUMBER_MOST bytes. Returns their end. */
static inline uint8_t *put_number(uint8_t *at, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        *at++ = (uint8_t)(0x80 | (number & 0x7f));
    *at++ = (uint8_t)number;
    return at;
}

/* A number in groups of seven bits, the lowest first (LEB128). */
static void event_code_put(struct buf *out, uint64_t number)
{
    uint8_t bytes[NUMBER_MOST];

    buf_append(out, bytes, (size_t)(put_number(bytes, number) - bytes));
}

/* Moves *at past the number. False: no whole number before `end`. */
static bool event_code_take(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        const uint8_t byte = *(*at)++;

        *number |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return true;
    }
    return false;
}

/* The difference of 48-bit times in zigzag, so that small negative ones are small numbers. */
static uint64_t zigzag(uint64_t difference)
{
    const int64_t signed_difference = (int64_t)(difference << TRACE_TIME_SHIFT) >> TRACE_TIME_SHIFT;
    const uint64_t doubled = (uint64_t)signed_difference << 1;

    return signed_difference < 0 ? ~doubled : doubled;
}

static uint64_t unzigzag(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

/* ---- what is expected ---- */

/* The seven events before decide. */
static uint32_t context_after(uint32_t context, uint32_t call)
{
    return (context << 2 ^ call * 0x9e3779b1U >> 18) & (EVENT_CODE_CONTEXTS - 1);
}

static void event_code_follow(struct event_code *code, uint16_t call)
{
    code->expected[code->context] = call;
    code->context = context_after(code->context, call);
}

/* ---- writing ---- */

static uint8_t *write_control(uint8_t *at, uint64_t event)
{
    const uint64_t code = (event >> 1 & 0x7fff) - TRACE_CONTROL;

    return put_number(put_number(at, code << 2 | CONTROL), event >> TRACE_TIME_SHIFT);
}

static uint8_t *write_call(uint8_t *at, struct event_code *code, uint64_t event)
{
    const uint16_t call = (uint16_t)event;
    const uint64_t time = event >> TRACE_TIME_SHIFT;
    const uint64_t passed = zigzag((time - code->time) & TRACE_TIME_MASK) << 2;
    const bool expected = code->expected[code->context] == call;

    code->time = time;
    event_code_follow(code, call);
    if (expected)
        return put_number(at, passed | EXPECTED);
    return put_number(put_number(at, passed | ((call & 1) != 0 ? LEFT : ENTERED)), call >> 1);
}

void event_code_write(struct event_code *code, struct buf *out, const uint64_t *events,
                      size_t count)
{
    uint8_t *begin, *at;

    if (count == 0 || buf_reserve(out, count * EVENT_MOST) != 0)
        return;
    begin = (uint8_t *)out->data + out->length;
    at = begin;
    for (size_t i = 0; i < count; i++)
        at = (events[i] >> 1 & 0x7fff) < TRACE_CONTROL ? write_call(at, code, events[i])
                                                       : write_control(at, events[i]);
    out->length += (size_t)(at - begin);
}

/* ---- reading ---- */

/* `first` is the event's first number. */
static bool read_control(uint64_t first, const uint8_t **at, const uint8_t *end, uint64_t *event)
{
    uint64_t argument;

    if (!event_code_take(at, end, &argument) || first >> 2 > 0x7fff - TRACE_CONTROL)
        return false;
    *event = argument << TRACE_TIME_SHIFT | (TRACE_CONTROL + (first >> 2)) << 1;
    return true;
}

static bool read_call(struct event_code *code, uint64_t first, const uint8_t **at,
                      const uint8_t *end, uint64_t *event)
{
    uint16_t call = code->expected[code->context];
    uint64_t function;

    if ((first & 3) != EXPECTED) {
        if (!event_code_take(at, end, &function) || function >= TRACE_CONTROL)
            return false;
        call = (uint16_t)(function << 1 | ((first & 3) == LEFT));
    }
    event_code_follow(code, call);
    code->time = (code->time + unzigzag(first >> 2)) & TRACE_TIME_MASK;
    *event = code->time << TRACE_TIME_SHIFT | call;
    return true;
}

static bool read_packed_event(struct event_code *code, const uint8_t **at, const uint8_t *end,
                              uint64_t *event)
{
    uint64_t first;

    if (!event_code_take(at, end, &first))
        return false;
    return (first & 3) == CONTROL ? read_control(first, at, end, event)
                                  : read_call(code, first, at, end, event);
}

int event_code_read(const uint8_t *at, const uint8_t *end, uint64_t **events, size_t *count)
{
    struct event_code *const code = calloc(1, sizeof *code);
    size_t capacity = *count;
    int result = code != NULL ? 0 : -2;

    while (result == 0 && at < end) {
        uint64_t *const more = array_reserve(*events, &capacity, *count + 1, sizeof *more);

        if (more != NULL)
            *events = more;
        if (more == NULL)
            result = -2;
        else if (!read_packed_event(code, &at, end, &more[*count]))
            result = -1;
        else
            (*count)++;
    }
    free(code);
    return result;
}

enum {
    COMPRESSION = 1,
    EVENT_BLOCK_FULL = 1 << 17, /* bytes; zstd takes much longer for each byte of small blocks */
};

/* A lane's events that are not in the file yet. */
struct event_block {
    uint32_t process;
    unsigned lane;
    struct buf content;
    struct event_code code;
};

static int trace_file_memory(struct error *error)
{
    return error_memory(error, "a trace");
}

int trace_file_open(struct trace_file *file, const char *path, enum trace_clock_kind clock,
                    struct error *error)
{
    const uint32_t version[2] = {TRACE_FILE_VERSION, 0};

    *file = (struct trace_file){.clock = clock};
    file->packer = ZSTD_createCCtx();
    if (file->packer == NULL)
        return trace_file_memory(error);
    if (output_file_open_growing(&file->file, path, "the trace", error) != 0) {
        ZSTD_freeCCtx(file->packer);
        file->packer = NULL;
        return -1;
    }
    buf_append_string(&file->gathered, TRACE_FILE_MAGIC);
    buf_append(&file->gathered, version, sizeof version);
    return trace_file_flush(file, error);
}

/* Compresses the content, unless that makes it larger. */
static struct iovec pack_content(struct trace_file *file, const struct buf *content)
{
    const size_t bound = ZSTD_compressBound(content->length);
    size_t length;

    buf_clear(&file->packed);
    if (buf_reserve(&file->packed, bound) != 0)
        return (struct iovec){0};
    length = ZSTD_compressCCtx(file->packer, file->packed.data, bound, content->data,
                               content->length, COMPRESSION);
    if (ZSTD_isError(length) || length >= content->length)
        return (struct iovec){content->data, content->length};
    return (struct iovec){file->packed.data, length};
}

/* The content stays the caller's. */
static int gather_block(struct trace_file *file, enum trace_block_kind kind, uint32_t process,
                        const struct buf *content, struct error *error)
{
    struct trace_block block = {
        .kind = kind, .process = process, .length = (uint32_t)content->length};
    struct iovec stored = {0};

    if (!buf_failed(content))
        stored = pack_content(file, content);
    if (stored.iov_base == NULL)
        return trace_file_memory(error);
    block.stored = (uint32_t)stored.iov_len;
    block.sum = (uint32_t)crc32(0, stored.iov_base, (uInt)stored.iov_len);
    buf_append(&file->gathered, &block, sizeof block);
    return buf_append(&file->gathered, stored.iov_base, stored.iov_len) == 0
               ? 0
               : trace_file_memory(error);
}

/* Frees the content. */
static int put_block(struct trace_file *file, enum trace_block_kind kind, uint32_t process,
                     struct buf *content, struct error *error)
{
    const int result = gather_block(file, kind, process, content, error);

    buf_free(content);
    return result;
}

static void trace_file_write_put_text(struct buf *out, const char *text)
{
    json_text_string(out, text, strlen(text));
}

static int put_process_functions(struct trace_file *file, uint32_t process,
                                 const struct patch_plan *plan, struct error *error)
{
    struct buf content = {0};

    for (size_t i = 0; i < plan->count; i++) {
        buf_append_byte(&content, i == 0 ? '[' : ',');
        buf_append_byte(&content, '[');
        trace_file_write_put_text(&content, plan->functions[i].name);
        buf_printf(&content, ",%u,%" PRIu64 "]", plan->functions[i].module,
                   plan->functions[i].address);
    }
    buf_append_byte(&content, ']');
    return put_block(file, TRACE_BLOCK_FUNCTIONS, process, &content, error);
}

int trace_file_process(struct trace_file *file, uint32_t process, uint32_t pid, const char *name,
                       const struct patch_plan *plan, struct error *error)
{
    struct buf content = {0};

    buf_printf(&content, "{\"pid\":%" PRIu32 ",\"name\":", pid);
    trace_file_write_put_text(&content, name);
    buf_append_string(&content, ",\"modules\":[");
    for (unsigned i = 0; i < plan->module_count; i++) {
        buf_append_string(&content, i == 0 ? "{\"path\":" : ",{\"path\":");
        trace_file_write_put_text(&content, plan->modules[i] != NULL ? plan->modules[i] : "");
        buf_append_string(&content, ",\"buildId\":");
        trace_file_write_put_text(&content, plan->build_ids[i]);
        buf_append_byte(&content, '}');
    }
    buf_append_string(&content, "]}");
    if (put_block(file, TRACE_BLOCK_PROCESS, process, &content, error) != 0)
        return -1;
    return put_process_functions(file, process, plan, error);
}

/* ---- events ---- */

static struct event_block *find_block(const struct trace_file *file, uint32_t process,
                                      unsigned lane)
{
    for (size_t i = 0; i < file->block_count; i++)
        if (file->blocks[i].process == process && file->blocks[i].lane == lane)
            return &file->blocks[i];
    return NULL;
}

static struct event_block *add_block(struct trace_file *file, uint32_t process, unsigned lane)
{
    struct event_block *const blocks =
        array_reserve(file->blocks, &file->block_capacity, file->block_count + 1, sizeof *blocks);

    if (blocks == NULL)
        return NULL;
    file->blocks = blocks;
    memset(&blocks[file->block_count], 0, sizeof *blocks);
    blocks[file->block_count].process = process;
    blocks[file->block_count].lane = lane;
    return &blocks[file->block_count++];
}

/* The next events of the lane begin a new block. */
static int end_event_block(struct trace_file *file, struct event_block *block, struct error *error)
{
    int result;

    if (block->content.length == 0 && !buf_failed(&block->content))
        return 0;
    result = gather_block(file, TRACE_BLOCK_EVENTS, block->process, &block->content, error);
    buf_clear(&block->content);
    memset(&block->code, 0, sizeof block->code);
    return result;
}

int trace_file_events(struct trace_file *file, uint32_t process, unsigned lane, uint32_t thread,
                      const uint64_t *events, size_t count, struct error *error)
{
    struct event_block *block = find_block(file, process, lane);

    if (count == 0)
        return 0;
    if (block == NULL)
        block = add_block(file, process, lane);
    if (block == NULL)
        return trace_file_memory(error);
    if (block->content.length == 0) {
        event_code_put(&block->content, lane);
        event_code_put(&block->content, thread);
    }
    event_code_write(&block->code, &block->content, events, count);
    return block->content.length >= EVENT_BLOCK_FULL || buf_failed(&block->content)
               ? end_event_block(file, block, error)
               : 0;
}

int trace_file_lane_ended(struct trace_file *file, uint32_t process, unsigned lane,
                          struct error *error)
{
    struct event_block *const block = find_block(file, process, lane);
    struct buf content = {0};

    if (block != NULL) {
        if (end_event_block(file, block, error) != 0)
            return -1;
        buf_free(&block->content);
        *block = file->blocks[--file->block_count];
    }
    event_code_put(&content, lane);
    return put_block(file, TRACE_BLOCK_LANE_ENDED, process, &content, error);
}

int trace_file_clock(struct trace_file *file, struct trace_moment moment, struct error *error)
{
    struct buf content = {0};

    buf_printf(&content, "{\"ticks\":%" PRIu64 ",\"mono\":%" PRId64, moment.ticks, moment.mono);
    if (file->clock != TRACE_CLOCK_TSC)
        buf_printf(&content, ",\"clock\":\"%s\"", trace_clock_names[file->clock]);
    buf_append_byte(&content, '}');
    return put_block(file, TRACE_BLOCK_CLOCK, 0, &content, error);
}

int trace_file_delivery(struct trace_file *file, const struct trace_delivery *delivery,
                        struct error *error)
{
    struct buf content = {0};

    buf_append_string(&content, "{\"vatID\":");
    trace_file_write_put_text(&content, delivery->vat_id);
    buf_append_string(&content, ",\"vat\":");
    trace_file_write_put_text(&content, delivery->vat);
    buf_append_string(&content, ",\"method\":");
    trace_file_write_put_text(&content, delivery->method);
    buf_printf(&content,
               ",\"crankNum\":%" PRId64 ",\"deliveryNum\":%" PRId64 ",\"begin\":%" PRId64
               ",\"end\":%" PRId64 "}",
               delivery->crank_num, delivery->delivery_num, delivery->begin, delivery->end);
    return put_block(file, TRACE_BLOCK_DELIVERY, 0, &content, error);
}

/* -1: no function matches. */
static int put_matching(struct buf *content, const char *member, const struct patch_plan *plan,
                        const char *pattern, struct error *error)
{
    const char *separator = "";

    buf_printf(content, "\"%s\":[", member);
    for (size_t i = 0; i < plan->count; i++)
        if (fnmatch(pattern, plan->functions[i].name, 0) == 0) {
            buf_printf(content, "%s%zu", separator, i + 1);
            separator = ",";
        }
    buf_append_string(content, "],");
    return *separator != '\0'
               ? 0
               : error_set(error, ERROR_INPUT, "'%s' is no function that can be traced", pattern);
}

int trace_file_requests(struct trace_file *file, uint32_t process, const struct patch_plan *plan,
                        const struct trace_request_marks *marks, struct error *error)
{
    struct buf content = {0};

    buf_append_byte(&content, '{');
    if (put_matching(&content, "begin", plan, marks->begin, error) != 0 ||
        put_matching(&content, "end", plan, marks->end, error) != 0) {
        buf_free(&content);
        return -1;
    }
    buf_printf(&content, "\"beginArgument\":%" PRIu32 ",\"endArgument\":%" PRIu32 "}",
               marks->begin_argument, marks->end_argument);
    return put_block(file, TRACE_BLOCK_REQUESTS, process, &content, error);
}

int trace_file_left_out(struct trace_file *file, uint32_t process, const uint32_t *functions,
                        size_t count, int64_t at, struct error *error)
{
    struct buf content = {0};

    buf_printf(&content, "{\"at\":%" PRId64 ",\"functions\":[", at);
    for (size_t i = 0; i < count; i++)
        buf_printf(&content, "%s%" PRIu32, i == 0 ? "" : ",", functions[i]);
    buf_append_string(&content, "]}");
    return put_block(file, TRACE_BLOCK_LEFT_OUT, process, &content, error);
}

int trace_file_flush(struct trace_file *file, struct error *error)
{
    for (size_t i = 0; i < file->block_count; i++)
        if (end_event_block(file, &file->blocks[i], error) != 0)
            return -1;
    return output_file_write(&file->file, &file->gathered, error);
}

void trace_file_drop(struct trace_file *file)
{
    if (file->file.path != NULL)
        output_file_discard(&file->file);
    for (size_t i = 0; i < file->block_count; i++)
        buf_free(&file->blocks[i].content);
    free(file->blocks);
    file->blocks = NULL;
    file->block_count = file->block_capacity = 0;
    buf_free(&file->gathered);
    buf_free(&file->packed);
    ZSTD_freeCCtx(file->packer);
    file->packer = NULL;
}

int trace_file_close(struct trace_file *file, struct error *error)
{
    int result = 0;

    if (file->file.path != NULL)
        result = trace_file_flush(file, error) == 0 ? output_file_finish(&file->file, error) : -1;
    trace_file_drop(file);
    return result;
}

static int report_damage(const char *path, size_t at, struct error *error)
{
    return error_set(error, ERROR_INPUT, "%s: damaged at byte %zu", path, at);
}

/* Unpacks the block and visits it. */
static int visit_block(const char *path, size_t at, const struct trace_block *block,
                       const uint8_t *stored, trace_block_visit *visit, void *context,
                       struct error *error)
{
    uint8_t *content;
    int result;

    if (block->stored == block->length)
        return visit(context, block, stored, error);
    content = malloc((size_t)block->length + 1);
    if (content == NULL)
        return error_memory(error, "a trace");
    if (ZSTD_decompress(content, block->length, stored, block->stored) != block->length)
        result = report_damage(path, at, error);
    else
        result = visit(context, block, content, error);
    free(content);
    return result;
}

static int read_blocks(const char *path, const uint8_t *bytes, size_t size,
                       trace_block_visit *visit, void *context, bool *torn, struct error *error)
{
    size_t at = TRACE_FILE_HEAD;

    while (at < size) {
        struct trace_block block;

        *torn = size - at < TRACE_BLOCK_HEAD;
        if (*torn)
            return 0;
        memcpy(&block, bytes + at, sizeof block);
        if (block.length > TRACE_BLOCK_MOST || block.stored > block.length)
            return report_damage(path, at, error);
        *torn = block.stored > size - at - TRACE_BLOCK_HEAD;
        if (*torn)
            return 0;
        if (crc32(0, bytes + at + TRACE_BLOCK_HEAD, block.stored) != block.sum)
            return report_damage(path, at, error);
        if (visit_block(path, at, &block, bytes + at + TRACE_BLOCK_HEAD, visit, context, error) !=
            0)
            return -1;
        at += TRACE_BLOCK_HEAD + block.stored;
    }
    return 0;
}

static int check_file_head(const char *path, const uint8_t *bytes, struct error *error)
{
    uint32_t version;

    memcpy(&version, bytes + strlen(TRACE_FILE_MAGIC), sizeof version);
    if (memcmp(bytes, TRACE_FILE_MAGIC, strlen(TRACE_FILE_MAGIC)) != 0)
        return error_set(error, ERROR_INPUT, "%s is not a trace", path);
    if (version != TRACE_FILE_VERSION)
        return error_set(error, ERROR_INPUT,
                         "%s is a trace of version %u; this gaspipe reads version %d", path,
                         version, TRACE_FILE_VERSION);
    return 0;
}

int trace_file_read(const char *path, trace_block_visit *visit, void *context, bool *torn,
                    struct error *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    void *bytes = MAP_FAILED;
    int result;

    _Static_assert(sizeof(struct trace_block) == TRACE_BLOCK_HEAD, "as in the file");
    *torn = false;
    if (fd < 0 || fstat(fd, &status) != 0)
        result = error_set(error, ERROR_INPUT, "%s: %m", path);
    else if (!S_ISREG(status.st_mode) || status.st_size < TRACE_FILE_HEAD)
        result = error_set(error, ERROR_INPUT, "%s is not a trace", path);
    else if ((bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) ==
             MAP_FAILED)
        result = error_system(error, errno, "cannot read %s", path);
    else
        result =
            check_file_head(path, bytes, error) != 0
                ? -1
                : read_blocks(path, bytes, (size_t)status.st_size, visit, context, torn, error);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)status.st_size);
    if (fd >= 0)
        close(fd);
    return result;
}

int trace_file_read_events(const struct trace_block *block, const uint8_t *content,
                           struct trace_lane_events *events, struct error *error)
{
    const uint8_t *at = content, *const end = content + block->length;
    uint64_t lane, thread;
    int result = -1;

    *events = (struct trace_lane_events){0};
    if (event_code_take(&at, end, &lane) && event_code_take(&at, end, &thread) &&
        lane < TRACE_LANES_MAX)
        result = event_code_read(at, end, &events->events, &events->count);
    if (result == 0) {
        events->lane = (unsigned)lane;
        events->thread = (uint32_t)thread;
        return 0;
    }
    free(events->events);
    events->events = NULL;
    return result == -2 ? error_memory(error, "a trace")
                        : error_set(error, ERROR_INPUT, "a block of a trace has no events");
}

bool trace_file_read_lane(const struct trace_block *block, const uint8_t *content, unsigned *lane)
{
    const uint8_t *at = content;
    uint64_t number;

    if (!event_code_take(&at, content + block->length, &number) || number >= TRACE_LANES_MAX)
        return false;
    *lane = (unsigned)number;
    return true;
}
