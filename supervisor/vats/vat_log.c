/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/vat_log.h"

#include <stdio.h>
#include <string.h>

#include "proto/vat_message.h"

static struct slog_writer *log_writer(const struct vat_log *log)
{
    if (log->quiet)
        return NULL;
    return log->deferred != NULL ? log->deferred : log->slog;
}

static struct slog_writer *begin_vat_line(const struct vat_log *log, const char *type)
{
    struct slog_writer *slog = log_writer(log);

    if (slog == NULL)
        return NULL;
    slog_line_begin(slog, type);
    slog_field_text(slog, "vatID", log->vat_id);
    return slog;
}

int vat_log_create(struct vat_log *log, const char *name, bool dynamic, struct iovec bundle,
                   struct error *error)
{
    struct slog_writer *slog;

    if (log->created || (slog = begin_vat_line(log, "create-vat")) == NULL)
        return 0;
    log->created = true;
    slog_field_bool(slog, "dynamic", dynamic);
    slog_field_text(slog, "description", name);
    slog_field_text(slog, "name", name);
    slog_field_text(slog, "managerType", "xsnap");
    slog_field_raw(slog, "vatSourceBundle", bundle.iov_base, bundle.iov_len);
    return slog_line_end(slog, stamp_now(), error);
}

int vat_log_startup_start(struct vat_log *log, struct error *error)
{
    struct slog_writer *slog = begin_vat_line(log, "vat-startup-start");

    log->starting = stamp_now();
    return slog == NULL ? 0 : slog_line_end(slog, log->starting, error);
}

int vat_log_startup_finish(struct vat_log *log, struct error *error)
{
    struct slog_writer *slog = begin_vat_line(log, "vat-startup-finish");

    return slog == NULL ? 0 : slog_line_finish(slog, log->starting, stamp_now(), error);
}

/* ---- snapshots ---- */

static int write_load(const struct vat_log *log, int64_t position, const char *hash,
                      struct stamp stamp, struct error *error)
{
    struct slog_writer *slog = begin_vat_line(log, "heap-snapshot-load");

    if (slog == NULL)
        return 0;
    slog_field_integer(slog, "snapPos", position);
    slog_field_text(slog, "hash", hash);
    return slog_line_end(slog, stamp, error);
}

int vat_log_snapshot_load(struct vat_log *log, int64_t position, const char *hash,
                          struct error *error)
{
    return write_load(log, position, hash, stamp_now(), error);
}

static int write_save(const struct vat_log *log, int64_t position,
                      const struct store_snapshot *snapshot, struct stamp stamp,
                      struct error *error)
{
    struct slog_writer *slog = begin_vat_line(log, "heap-snapshot-save");

    if (slog == NULL)
        return 0;
    slog_field_text(slog, "snapshotID", snapshot->hash);
    slog_field_integer(slog, "endPosition", position);
    slog_field_integer(slog, "uncompressedSize", snapshot->size);
    slog_field_integer(slog, "compressedSize", snapshot->compressed_size);
    slog_field_bool(slog, "restartWorker", true);
    return slog_line_end(slog, stamp, error);
}

int vat_log_snapshot_save(struct vat_log *log, int64_t position,
                          const struct store_snapshot *snapshot, struct error *error)
{
    return write_save(log, position, snapshot, stamp_now(), error);
}

/* ---- snapshots whose hash comes later ---- */

/* Its writing and its loading. */
_Static_assert(2 * STORE_BACKGROUND_MAX <= SLOG_GAPS_MAX, "each late snapshot may leave two gaps");

void vat_pending_lines_save(struct vat_pending_lines *late, const struct vat_log *log,
                            int64_t position)
{
    struct vat_pending_line *line;

    if (late->count == STORE_BACKGROUND_MAX)
        return; /* one of them could not be packed, which the run does not survive */
    line = &late->lines[late->count++];
    *line = (struct vat_pending_line){.log = *log, .position = position, .saved = stamp_now()};
    if (!log->quiet && log->slog != NULL && slog_gap_leave(log->slog))
        line->slog = log->slog;
}

bool vat_pending_lines_load(struct vat_pending_lines *late, const struct vat_log *log)
{
    struct vat_pending_line *last;

    if (late->count == 0)
        return false;
    last = &late->lines[late->count - 1];
    if (last->slog == NULL || log->deferred != NULL || log->quiet ||
        strcmp(last->log.vat_id, log->vat_id) != 0 || !slog_gap_leave(last->slog))
        return false;
    last->loaded = stamp_now();
    return true;
}

/* Fills one gap with the line that write() writes deferred. */
static int fill_pending_line(struct vat_pending_line *line, const struct store_snapshot *snapshot,
                             bool loads, struct error *error)
{
    struct slog_writer *deferred = slog_writer_deferred(line->slog);
    struct error ignored;
    int result;

    if (deferred == NULL)
        return error_memory(error, "a line of the slogfile");
    line->log.deferred = deferred;
    result = loads ? write_load(&line->log, line->position, snapshot->hash, line->loaded, error)
                   : write_save(&line->log, line->position, snapshot, line->saved, error);
    if (slog_gap_fill(line->slog, deferred, result == 0 ? error : &ignored) != 0)
        result = -1;
    return result;
}

int vat_pending_lines_write(struct vat_pending_lines *late, const struct store_snapshot *snapshot,
                            struct error *error)
{
    struct vat_pending_line line;
    int result = 0;

    if (late->count == 0)
        return 0;
    line = late->lines[0];
    late->count--;
    memmove(&late->lines[0], &late->lines[1], (size_t)late->count * sizeof *late->lines);
    if (line.slog != NULL)
        result = fill_pending_line(&line, snapshot, false, error);
    if (result == 0 && line.slog != NULL && line.loaded.mono != 0)
        result = fill_pending_line(&line, snapshot, true, error);
    return result;
}

/* ---- deliveries that are replayed ---- */

static struct slog_delivery replayed_line_of(const struct vat_log *log,
                                             const struct vat_log_delivery *delivery,
                                             const char *dispatch)
{
    return (struct slog_delivery){
        .replay = true,
        .vat_id = log->vat_id,
        .delivery_num = delivery->num,
        .dispatch = dispatch,
    };
}

/* The word that an array begins with. */
static void take_first_word(struct scan_span array, char word[VAT_ID_SIZE])
{
    struct scan_cursor cursor;
    struct scan_span first = {0};

    if (scan_open(array, '[', &cursor) && scan_element(&cursor, &first) == SCAN_FOUND)
        first = scan_string(first);
    snprintf(word, VAT_ID_SIZE, "%.*s", first.at != NULL ? (int)first.length : 0,
             first.at != NULL ? first.at : "");
}

int vat_log_replay_start(struct vat_log *log, int64_t deliveries, struct error *error)
{
    struct slog_writer *slog = begin_vat_line(log, "start-replay");

    log->replaying = stamp_now();
    if (slog == NULL)
        return 0;
    slog_field_integer(slog, "deliveries", deliveries + 1);
    return slog_line_end(slog, log->replaying, error);
}

int vat_log_replay_finish(struct vat_log *log, struct error *error)
{
    struct slog_writer *slog = begin_vat_line(log, "finish-replay");

    return slog == NULL ? 0 : slog_line_finish(slog, log->replaying, stamp_now(), error);
}

int vat_log_replay_deliver(struct vat_log *log, const struct vat_log_delivery *delivery,
                           struct error *error)
{
    struct slog_writer *slog = log_writer(log);
    char dispatch[VAT_ID_SIZE];
    struct slog_delivery line;

    if (slog == NULL)
        return 0;
    take_first_word(delivery->vd, dispatch);
    line = replayed_line_of(log, delivery, dispatch);
    slog_line_delivery(slog, "deliver", &line);
    slog_field_raw(slog, "vd", delivery->vd.at, delivery->vd.length);
    return slog_line_end(slog, delivery->sent, error);
}

int vat_log_replay_syscall(struct vat_log *log, const struct vat_log_delivery *delivery,
                           int64_t syscall_num, const struct scan_span texts[2],
                           const struct stamp stamps[2], struct error *error)
{
    struct slog_writer *slog = log_writer(log);
    const struct slog_delivery line = replayed_line_of(log, delivery, NULL);
    char word[VAT_ID_SIZE];

    if (slog == NULL)
        return 0;
    take_first_word(texts[0], word);
    slog_line_syscall(slog, "syscall", &line, syscall_num, word);
    slog_field_raw(slog, "vsc", texts[0].at, texts[0].length);
    if (slog_line_end(slog, stamps[0], error) != 0)
        return -1;
    slog_line_syscall(slog, "syscall-result", &line, syscall_num, word);
    slog_field_raw(slog, "vsr", texts[1].at, texts[1].length);
    return slog_line_finish(slog, stamps[0], stamps[1], error);
}

int vat_log_replay_result(struct vat_log *log, const struct vat_log_delivery *delivery,
                          const struct vat_frame *ending, struct error *error)
{
    struct slog_writer *slog = log_writer(log);
    struct slog_delivery line;
    char dispatch[VAT_ID_SIZE];
    struct buf dr = {0};

    if (slog == NULL)
        return 0;
    take_first_word(delivery->vd, dispatch);
    line = replayed_line_of(log, delivery, dispatch);
    delivery_result_put(&dr, ending->problem, ending->value, &ending->meter);
    slog_line_delivery(slog, "deliver-result", &line);
    slog_field_raw(slog, "dr", dr.data, dr.length);
    buf_free(&dr);
    return slog_line_finish(slog, delivery->sent, ending->come, error);
}
