/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/replay/source/source.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json_text.h"
#include "base/option/option.h"
#include "base/output/output_file.h"
#include "kernel/kernel.h"
#include "store/integrity/check.h"
#include "store/store.h"

enum stage { STAGE_CREATE, STAGE_SNAPSHOT, STAGE_DELIVERIES };

enum { VAT_ID_SIZE = 24 };

struct store_source {
    struct replay_source source;
    struct buf name; /* "DIR: vat NAME" */
    struct store *store;
    struct kernel_vat vat;
    char vat_id[VAT_ID_SIZE];
    enum stage stage;
    bool from_snapshot;
    struct store_snapshot snapshot;
    int64_t position, end;       /* of the next delivery, and after the last one */
    struct buf bundle, vat_name; /* the name as a JSON string */
    struct recorded_delivery delivery;
};

/* ---- the vat ---- */

static bool is_vat_id(const char *text, int64_t *vat)
{
    return text[0] == 'v' && scan_decimal((struct scan_span){text + 1, strlen(text + 1)}, 0, vat);
}

static int is_vat_named(struct kernel *kernel, int64_t id, const char *name, bool *has,
                        struct error *error)
{
    struct kernel_vat vat;
    bool lives;

    if (kernel_vat_get(kernel, id, &vat, &lives, error) != 0)
        return -1;
    *has = lives && strcmp(vat.name, name) == 0;
    if (lives)
        kernel_vat_free(&vat);
    return 0;
}

/* Vats choose the names of the vats that they make: several may have one. */
static int find_named(struct kernel *kernel, const char *name, int64_t *vat, bool *found,
                      struct error *error)
{
    int64_t id = 0;
    bool more = true, has;

    *found = false;
    while (kernel_vat_next(kernel, id, &id, &more, error) == 0) {
        if (!more)
            return 0;
        if (is_vat_named(kernel, id, name, &has, error) != 0)
            return -1;
        if (has && *found)
            return error_set(error, ERROR_INPUT,
                             "vats v%" PRId64 " and v%" PRId64
                             " both have the name %s; give the ID",
                             *vat, id, name);
        if (has) {
            *vat = id;
            *found = true;
        }
    }
    return -1;
}

static int refuse_damaged_vat(struct kernel_vat *vat, struct error *error)
{
    error_set(error, ERROR_SYSTEM, "%s", vat->damage);
    kernel_vat_free(vat);
    return -1;
}

/* By its ID, or among all that live by its name: a static one before others. */
static int store_source_find_vat(struct kernel *kernel, const char *name, struct kernel_vat *vat,
                                 bool *found, struct error *error)
{
    int64_t id;

    if (kernel_vat_named(kernel, name, &id, found, error) != 0)
        return -1;
    if (!*found && !is_vat_id(name, &id)) {
        if (find_named(kernel, name, &id, found, error) != 0)
            return -1;
        if (!*found)
            return 0;
    }
    if (kernel_vat_get(kernel, id, vat, found, error) != 0)
        return -1;
    return *found && vat->damage != NULL ? refuse_damaged_vat(vat, error) : 0;
}

static void try_vat_name(void *context, const char *name)
{
    similar_try(context, name);
}

static int refuse_unknown(struct kernel *kernel, const char *name, struct error *error)
{
    struct similar similar = {.word = name};
    const char *hint;

    if (kernel_vat_names(kernel, try_vat_name, &similar, error) != 0)
        return -1;
    hint = similar_hint(&similar, "");
    return error_set(error, ERROR_INPUT, "no such vat lives in the store%s",
                     hint[0] != '\0' ? hint : "; gaspipe status lists those that do");
}

static int load_vat(struct store_source *stored, const char *name, struct error *error)
{
    const struct kernel_options options = {0};
    struct kernel *kernel = kernel_open(stored->store, &options, error);
    bool found = false;
    int result;

    if (kernel == NULL)
        return -1;
    result = kernel_require_state(kernel, error);
    if (result == 0)
        result = store_source_find_vat(kernel, name, &stored->vat, &found, error);
    if (result == 0 && !found)
        result = refuse_unknown(kernel, name, error);
    kernel_close(kernel);
    return result;
}

/* ---- where its transcript begins ---- */

static int find_transcript_place(struct store_source *stored, bool from_start, struct error *error)
{
    const struct kernel_vat *vat = &stored->vat;
    int64_t position;

    if (store_transcript_bounds(stored->store, vat->id, vat->incarnation, &stored->position,
                                &stored->end, error) != 0)
        return -1;
    if (stored->end == 0)
        return error_set(error, ERROR_INPUT, "no delivery is recorded of it");
    if (from_start)
        return 0;
    if (store_snapshot_last(stored->store, vat->id, vat->incarnation, &position, &stored->snapshot,
                            &stored->from_snapshot, error) != 0)
        return -1;
    if (!stored->from_snapshot)
        return 0;
    if (position >= stored->end)
        return error_set(error, ERROR_INPUT,
                         "it had no delivery since its last snapshot; all are there from the "
                         "start");
    stored->position = position;
    return 0;
}

static int read_store_bundle(struct store_source *stored, struct error *error)
{
    const char *name = stored->vat.name, *id = stored->vat.bundle_id;
    bool found = false;

    if (store_bundle_get(stored->store, id, &stored->bundle, &found, error) != 0)
        return -1;
    if (!found)
        return error_set(error, ERROR_SYSTEM, "the store is damaged: no bundle %s", id);
    json_text_string(&stored->vat_name, name, strlen(name));
    /* The zeros are for the scanner, which reads whole blocks. */
    if (buf_reserve(&stored->bundle, SCAN_PADDING) != 0 || buf_failed(&stored->vat_name))
        return error_memory(error, "a bundle");
    memset(stored->bundle.data + stored->bundle.length, 0, SCAN_PADDING);
    return 0;
}

/* Deliveries and the loading of a snapshot each have a number. */
static int64_t first_number(const struct store_source *stored)
{
    return stored->vat.first_delivery + stored->position - stored->from_snapshot;
}

/* ---- events ---- */

static void put_stored_create(struct store_source *stored, struct source_event *event)
{
    const struct buf *name = &stored->vat_name;

    event->kind = SOURCE_CREATE;
    event->line = 1;
    event->delivery_num = first_number(stored);
    event->bundle = (struct scan_span){stored->bundle.data, stored->bundle.length};
    if (stored->vat.name[0] != '\0')
        event->name = (struct scan_span){name->data + 1, name->length - 2};
    stored->stage = stored->from_snapshot ? STAGE_SNAPSHOT : STAGE_DELIVERIES;
}

static void put_stored_snapshot(struct store_source *stored, struct source_event *event)
{
    event->kind = SOURCE_SNAPSHOT_LOADED;
    event->line = (uint64_t)stored->position + 1;
    event->delivery_num = first_number(stored);
    event->hash = (struct scan_span){stored->snapshot.hash, strlen(stored->snapshot.hash)};
    stored->stage = STAGE_DELIVERIES;
}

static int put_stored_delivery(struct store_source *stored, struct source_event *event,
                               struct error *error)
{
    const struct kernel_vat *vat = &stored->vat;
    const int64_t position = stored->position++;

    event->line = (uint64_t)position + 2;
    event->delivery_num = vat->first_delivery + position;
    if (recorded_delivery_fetch(&stored->delivery, stored->store, vat->id, vat->incarnation,
                                position, error) != 0)
        return -1;
    source_event_of_entry(event, &stored->delivery);
    return 0;
}

static int store_source_next(struct replay_source *source, struct source_event *event,
                             struct error *error)
{
    struct store_source *stored = (struct store_source *)source;

    if (stored->stage == STAGE_DELIVERIES && stored->position >= stored->end)
        return 0;
    *event = (struct source_event){.vat_id = {stored->vat_id, strlen(stored->vat_id)}};
    if (stored->stage == STAGE_CREATE)
        put_stored_create(stored, event);
    else if (stored->stage == STAGE_SNAPSHOT)
        put_stored_snapshot(stored, event);
    else if (put_stored_delivery(stored, event, error) != 0)
        return -1;
    return 1;
}

static int store_source_read_snapshot(struct replay_source *source,
                                      const struct source_event *event, int fd, bool *found,
                                      struct error *error)
{
    const struct scan_span hash = event->hash;
    char text[STORE_HASH_SIZE];

    *found = hash.length == sizeof text - 1;
    if (!*found)
        return 0;
    memcpy(text, hash.at, hash.length);
    text[hash.length] = '\0';
    return store_snapshot_read(((struct store_source *)source)->store, text, fd, error);
}

static void store_source_close(struct replay_source *source)
{
    struct store_source *stored = (struct store_source *)source;

    kernel_vat_free(&stored->vat);
    store_close(stored->store);
    recorded_delivery_free(&stored->delivery);
    buf_free(&stored->bundle);
    buf_free(&stored->vat_name);
    buf_free(&stored->name);
    free(stored);
}

static int open_store(struct store_source *stored, const char *directory, const char *vat,
                      bool from_start, struct error *error)
{
    buf_printf(&stored->name, "%s: vat %s", directory, vat);
    stored->source.name = buf_string(&stored->name);
    if (stored->source.name == NULL)
        return error_memory(error, "reading a transcript");
    stored->store = store_open_reader(directory, error);
    if (stored->store == NULL || store_transaction_begin(stored->store, error) != 0)
        return -1;
    if (store_require_usable(stored->store, error) != 0 || load_vat(stored, vat, error) != 0 ||
        find_transcript_place(stored, from_start, error) != 0 ||
        read_store_bundle(stored, error) != 0)
        return error_prefix(error, "%s", stored->source.name);
    snprintf(stored->vat_id, sizeof stored->vat_id, "v%" PRId64, stored->vat.id);
    return 0;
}

struct replay_source *store_source_open(const char *directory, const char *vat, bool from_start,
                                        struct error *error)
{
    static const struct source_operations operations = {
        .next = store_source_next,
        .read_snapshot = store_source_read_snapshot,
        .close = store_source_close,
    };
    struct store_source *stored = calloc(1, sizeof *stored);

    if (stored == NULL) {
        error_memory(error, "reading a transcript");
        return NULL;
    }
    stored->source.operations = &operations;
    if (open_store(stored, directory, vat, from_start, error) == 0)
        return &stored->source;
    store_source_close(&stored->source);
    return NULL;
}

/* ---- as a file ---- */

static void put_create_line(struct store_source *stored, struct buf *line)
{
    buf_printf(line, "{\"type\":\"create-vat\",\"vatID\":\"%s\",\"dynamic\":%s", stored->vat_id,
               stored->vat.dynamic ? "true" : "false");
    if (stored->vat.name[0] != '\0') {
        buf_append_string(line, ",\"name\":");
        buf_append(line, stored->vat_name.data, stored->vat_name.length);
    }
    buf_printf(line, ",\"deliveryNum\":%" PRId64, first_number(stored));
    buf_append_string(line, ",\"managerType\":\"xsnap\",\"vatSourceBundle\":");
    buf_append(line, stored->bundle.data, stored->bundle.length);
    buf_append_string(line, ",\"time\":0}"); /* a slog's line has one; the store does not */
}

static int write_line(struct output_file *file, struct buf *line, struct error *error)
{
    buf_append_byte(line, '\n');
    return output_file_write(file, line, error);
}

static int write_transcript(struct store_source *stored, struct output_file *file,
                            struct error *error)
{
    struct source_event event;
    struct buf line = {0};
    int result;

    put_create_line(stored, &line);
    result = write_line(file, &line, error);
    buf_free(&line);
    stored->stage = STAGE_DELIVERIES;
    while (result == 0 && (result = store_source_next(&stored->source, &event, error)) == 1)
        result = write_line(file, &stored->delivery.text, error);
    return result;
}

/* SQLite's files of the store: an export over one of them would ruin it. */
static int check_apart(const char *directory, const char *path, struct error *error)
{
    static const char *const names[] = {"", "-wal", "-shm"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char input[PATH_MAX];
        int length = snprintf(input, sizeof input, "%s/gaspipe.sqlite%s", directory, names[i]);

        if (length < 0 || (size_t)length >= sizeof input)
            return error_system(error, ENAMETOOLONG, "%s", directory);
        if (output_file_check(path, "the transcript", input, error) != 0)
            return -1;
    }
    return 0;
}

static int write_file(struct store_source *stored, const char *directory, const char *path,
                      struct error *error)
{
    static char stdout_name[] = "stdout";
    struct output_file file;
    int result;

    if (strcmp(path, "-") == 0) {
        file = (struct output_file){
            .fd = STDOUT_FILENO, .path = stdout_name, .what = "the transcript"};
        return write_transcript(stored, &file, error);
    }
    if (check_apart(directory, path, error) != 0 ||
        output_file_open(&file, path, "the transcript", error) != 0)
        return -1;
    result = write_transcript(stored, &file, error);
    if (result == 0)
        result = output_file_finish(&file, error);
    output_file_discard(&file);
    return result;
}

int store_source_export(const char *directory, const char *vat, const char *path,
                        struct error *error)
{
    struct replay_source *source = store_source_open(directory, vat, true, error);
    int result;

    if (source == NULL)
        return -1;
    result = write_file((struct store_source *)source, directory, path, error);
    store_source_close(source);
    return result;
}
