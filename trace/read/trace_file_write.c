/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "trace/memory.h"
#include "trace/read/event_code.h"
#include "trace/read/trace_file.h"

enum {
    COMPRESSION = 1,
    EVENT_BLOCK_FULL = 1 << 17, /* bytes: small ones take zstd much longer for each byte */
};

/* Events of a lane that are not in a block yet. */
struct event_block {
    uint32_t process;
    unsigned lane;
    struct buf content;
    struct event_code code;
};

static int out_of_memory(struct error *error)
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
        return out_of_memory(error);
    if (output_file_open_growing(&file->file, path, "the trace", error) != 0) {
        ZSTD_freeCCtx(file->packer);
        file->packer = NULL;
        return -1;
    }
    buf_append_string(&file->gathered, TRACE_FILE_MAGIC);
    buf_append(&file->gathered, version, sizeof version);
    return trace_file_flush(file, error);
}

/* What is stored of the content: compressed unless that makes it larger. */
static struct iovec pack(struct trace_file *file, const struct buf *content)
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
        stored = pack(file, content);
    if (stored.iov_base == NULL)
        return out_of_memory(error);
    block.stored = (uint32_t)stored.iov_len;
    block.sum = (uint32_t)crc32(0, stored.iov_base, (uInt)stored.iov_len);
    buf_append(&file->gathered, &block, sizeof block);
    return buf_append(&file->gathered, stored.iov_base, stored.iov_len) == 0 ? 0
                                                                             : out_of_memory(error);
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

static int put_functions(struct trace_file *file, uint32_t process, const struct patch_plan *plan,
                         struct error *error)
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
    return put_functions(file, process, plan, error);
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
static int end_block(struct trace_file *file, struct event_block *block, struct error *error)
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
        return out_of_memory(error);
    if (block->content.length == 0) {
        event_code_put(&block->content, lane);
        event_code_put(&block->content, thread);
    }
    event_code_write(&block->code, &block->content, events, count);
    return block->content.length >= EVENT_BLOCK_FULL || buf_failed(&block->content)
               ? end_block(file, block, error)
               : 0;
}

int trace_file_lane_ended(struct trace_file *file, uint32_t process, unsigned lane,
                          struct error *error)
{
    struct event_block *const block = find_block(file, process, lane);
    struct buf content = {0};

    if (block != NULL) {
        if (end_block(file, block, error) != 0)
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
        if (end_block(file, &file->blocks[i], error) != 0)
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
