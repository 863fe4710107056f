/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/delivery_result.h"
#include "supervisor/vats/vat.h"

static struct slog_writer *slog_of(const struct vat *vat)
{
    if (vat->quiet)
        return NULL;
    return vat->aside != NULL ? vat->aside : vat->warehouse->options.slog;
}

static struct slog_writer *begin(const struct vat *vat, const char *type)
{
    struct slog_writer *slog = slog_of(vat);

    if (slog == NULL)
        return NULL;
    slog_line_begin(slog, type);
    slog_field_text(slog, "vatID", vat->id_text);
    return slog;
}

/* Once for each bundle that the vat has while this process runs. */
int vat_log_create(struct vat *vat, struct error *error)
{
    struct slog_writer *slog;

    if (vat->announced || (slog = begin(vat, "create-vat")) == NULL)
        return 0;
    vat->announced = true;
    slog_field_bool(slog, "dynamic", vat->dynamic);
    slog_field_text(slog, "description", vat->name);
    slog_field_text(slog, "name", vat->name);
    slog_field_text(slog, "managerType", "xsnap");
    slog_field_raw(slog, "vatSourceBundle", vat->bundle.data, vat->bundle.length);
    return slog_line_end(slog, stamp_now(), error);
}

int vat_log_startup(struct vat *vat, bool finish, struct error *error)
{
    struct slog_writer *slog = begin(vat, finish ? "vat-startup-finish" : "vat-startup-start");
    const struct stamp now = stamp_now();

    if (slog == NULL)
        return 0;
    if (finish)
        return slog_line_finish(slog, vat->starting, now, error);
    vat->starting = now;
    return slog_line_end(slog, now, error);
}

int vat_log_snapshot_load(struct vat *vat, int64_t position, const char *hash, struct error *error)
{
    struct slog_writer *slog = begin(vat, "heap-snapshot-load");

    if (slog == NULL)
        return 0;
    slog_field_integer(slog, "snapPos", position);
    slog_field_text(slog, "hash", hash);
    return slog_line_end(slog, stamp_now(), error);
}

int vat_log_snapshot_save(struct vat *vat, int64_t position, const struct store_snapshot *snapshot,
                          struct error *error)
{
    struct slog_writer *slog = begin(vat, "heap-snapshot-save");

    if (slog == NULL)
        return 0;
    slog_field_text(slog, "snapshotID", snapshot->hash);
    slog_field_integer(slog, "endPosition", position);
    slog_field_integer(slog, "uncompressedSize", snapshot->size);
    slog_field_integer(slog, "compressedSize", snapshot->compressed_size);
    slog_field_bool(slog, "restartWorker", true);
    return slog_line_end(slog, stamp_now(), error);
}

/* ---- deliveries that are made once more ---- */

static struct slog_delivery common(const struct vat *vat, const char *dispatch)
{
    return (struct slog_delivery){
        .replay = true,
        .vat_id = vat->id_text,
        .delivery_num = vat->replay.first_num + vat->replay.position,
        .dispatch = dispatch,
    };
}

/* The word that an array begins with. */
static void take_word(struct scan_span array, char word[VAT_ID_SIZE])
{
    struct scan_cursor cursor;
    struct scan_span first = {0};

    if (scan_open(array, '[', &cursor) && scan_element(&cursor, &first) == SCAN_FOUND)
        first = scan_string(first);
    snprintf(word, VAT_ID_SIZE, "%.*s", first.at != NULL ? (int)first.length : 0,
             first.at != NULL ? first.at : "");
}

/* SwingSet counts the worker's start as one. */
int vat_log_replay_start(struct vat *vat, struct error *error)
{
    struct slog_writer *slog = begin(vat, "start-replay");

    vat->replay.began = stamp_now();
    if (slog == NULL)
        return 0;
    slog_field_integer(slog, "deliveries", vat->replay.end - vat->replay.position + 1);
    return slog_line_end(slog, vat->replay.began, error);
}

int vat_log_replay_finish(struct vat *vat, struct error *error)
{
    struct slog_writer *slog = begin(vat, "finish-replay");

    if (slog == NULL)
        return 0;
    return slog_line_finish(slog, vat->replay.began, stamp_now(), error);
}

int vat_log_replay_deliver(struct vat *vat, struct error *error)
{
    struct slog_writer *slog = slog_of(vat);
    const struct scan_span vd = vat->replay.recorded.delivery;
    char dispatch[VAT_ID_SIZE];
    struct slog_delivery delivery;

    if (slog == NULL)
        return 0;
    take_word(vd, dispatch);
    delivery = common(vat, dispatch);
    slog_line_delivery(slog, "deliver", &delivery);
    slog_field_raw(slog, "vd", vd.at, vd.length);
    return slog_line_end(slog, vat->replay.sent, error);
}

int vat_log_replay_syscall(struct vat *vat, struct scan_span syscall, struct scan_span answer,
                           struct stamp come, struct stamp answered, struct error *error)
{
    struct slog_writer *slog = slog_of(vat);
    const struct slog_delivery delivery = common(vat, NULL);
    const int64_t syscall_num = (int64_t)vat->replay.compare.made - 1; /* it was answered */
    char word[VAT_ID_SIZE];

    if (slog == NULL)
        return 0;
    take_word(syscall, word);
    slog_line_syscall(slog, "syscall", &delivery, syscall_num, word);
    slog_field_raw(slog, "vsc", syscall.at, syscall.length);
    if (slog_line_end(slog, come, error) != 0)
        return -1;
    slog_line_syscall(slog, "syscall-result", &delivery, syscall_num, word);
    slog_field_raw(slog, "vsr", answer.at, answer.length);
    return slog_line_finish(slog, come, answered, error);
}

int vat_log_replay_result(struct vat *vat, const struct vat_ending *ending, struct stamp come,
                          struct error *error)
{
    struct slog_writer *slog = slog_of(vat);
    struct slog_delivery delivery;
    char dispatch[VAT_ID_SIZE];
    struct buf dr = {0};

    if (slog == NULL)
        return 0;
    take_word(vat->replay.recorded.delivery, dispatch);
    delivery = common(vat, dispatch);
    delivery_result_put(&dr, ending->problem, ending->value, &ending->meter);
    slog_line_delivery(slog, "deliver-result", &delivery);
    slog_field_raw(slog, "dr", dr.data, dr.length);
    buf_free(&dr);
    return slog_line_finish(slog, vat->replay.sent, come, error);
}
