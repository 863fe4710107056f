/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/json/json_text.h"
#include "trace/memory.h"
#include "trace/read/event_code.h"
#include "trace/read/trace_file.h"

enum { COMPRESSION = 1 };

static int out_of_memory(struct error *error)
{
    return error_memory(error, "a trace");
}

int trace_file_open(struct trace_file *file, const char *path, struct error *error)
{
    const uint32_t version[2] = {TRACE_FILE_VERSION, 0};

    *file = (struct trace_file){0};
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

/* Compressed unless that makes it larger. Frees the content. */
static int put_block(struct trace_file *file, enum trace_block_kind kind, uint32_t process,
                     struct buf *content, struct error *error)
{
    struct trace_block block = {
        .kind = kind, .process = process, .length = (uint32_t)content->length};
    const size_t bound = ZSTD_compressBound(content->length);
    char *const packed = malloc(bound);
    const char *stored = content->data;
    size_t size = content->length;
    int result = -1;

    if (packed != NULL && !buf_failed(content)) {
        const size_t length = ZSTD_compressCCtx(file->packer, packed, bound, content->data,
                                                content->length, COMPRESSION);

        if (!ZSTD_isError(length) && length < content->length) {
            stored = packed;
            size = length;
        }
        block.stored = (uint32_t)size;
        block.sum = (uint32_t)crc32(0, (const Bytef *)stored, (uInt)size);
        buf_append(&file->gathered, &block, sizeof block);
        result = buf_append(&file->gathered, stored, size);
    }
    free(packed);
    buf_free(content);
    return result == 0 ? 0 : out_of_memory(error);
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

int trace_file_events(struct trace_file *file, uint32_t process, unsigned lane, uint32_t thread,
                      const uint64_t *events, size_t count, struct error *error)
{
    struct buf content = {0};

    if (count == 0)
        return 0;
    event_code_put(&content, lane);
    event_code_put(&content, thread);
    event_code_write(&content, events, count);
    return put_block(file, TRACE_BLOCK_EVENTS, process, &content, error);
}

int trace_file_lane_ended(struct trace_file *file, uint32_t process, unsigned lane,
                          struct error *error)
{
    struct buf content = {0};

    event_code_put(&content, lane);
    return put_block(file, TRACE_BLOCK_LANE_ENDED, process, &content, error);
}

int trace_file_clock(struct trace_file *file, struct trace_moment moment, struct error *error)
{
    struct buf content = {0};

    buf_printf(&content, "{\"ticks\":%" PRIu64 ",\"mono\":%" PRId64 "}", moment.ticks, moment.mono);
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

int trace_file_flush(struct trace_file *file, struct error *error)
{
    return output_file_write(&file->file, &file->gathered, error);
}

void trace_file_drop(struct trace_file *file)
{
    if (file->file.path != NULL)
        output_file_discard(&file->file);
    buf_free(&file->gathered);
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
