/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/fleet/fleet_cut.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json/json_text.h"
#include "base/json/json_value.h"
#include "base/log.h"
#include "base/text/format.h"
#include "supervisor/fleet/fleet_object.h"
#include "supervisor/replay/replay_bundle.h"
#include "supervisor/replay/replay_options.h"
#include "supervisor/replay/replay_result.h"
#include "supervisor/replay/source/source.h"
#include "supervisor/transcript/recorded_delivery.h"

/* ---- a vat ---- */

/* A vat of a source that is being cut, and the span in progress. */
struct cut_vat {
    char *id;           /* owned */
    struct buf name;    /* as JSON has it, without quotes */
    struct buf create;  /* the line that each of its spans begins with */
    json_t *own_bundle; /* of the vat, as in a job; owned; NULL: in the line, or missing */
    json_t *bundles;    /* of the span; owned */
    bool is_ignored;    /* it ran in no worker process */
    bool is_open;       /* a span is in progress */
    char snapshot[FLEET_HASH_SIZE];
    int64_t first, last, deliveries;
    struct object_writer writer;
};

static void cut_vat_free(struct cut_vat *vat)
{
    if (vat == NULL)
        return;
    free(vat->id);
    buf_free(&vat->name);
    buf_free(&vat->create);
    json_decref(vat->own_bundle);
    json_decref(vat->bundles);
    object_writer_free(&vat->writer);
    free(vat);
}

/* NULL when memory ran out. */
static struct cut_vat *cut_vat_new(struct scan_span id, struct error *error)
{
    struct cut_vat *vat = calloc(1, sizeof *vat);

    if (vat != NULL && (vat->id = strndup(id.at, id.length)) != NULL &&
        (vat->bundles = json_array()) != NULL)
        return vat;
    cut_vat_free(vat);
    error_memory(error, "a vat");
    return NULL;
}

static int cut_vat_begin(struct cut_vat *vat, struct error *error)
{
    vat->is_open = true;
    vat->first = vat->last = vat->deliveries = 0;
    if (vat->own_bundle != NULL && json_array_append(vat->bundles, vat->own_bundle) != 0)
        return error_memory(error, "a span");
    if (object_writer_open(&vat->writer, error) != 0)
        return -1;
    return object_writer_add(&vat->writer, vat->create.data, vat->create.length, error);
}

/* Adds one or several lines to the span in progress, which it begins if necessary. */
static int cut_vat_put(struct cut_vat *vat, const struct buf *lines, struct error *error)
{
    if (buf_failed(lines) || buf_failed(&vat->create))
        return error_memory(error, "a span");
    if (!vat->is_open && cut_vat_begin(vat, error) != 0)
        return -1;
    return object_writer_add(&vat->writer, lines->data, lines->length, error);
}

/* Adds a delivery's line. */
static int cut_vat_put_delivery(struct cut_vat *vat, const struct source_event *event,
                                struct scan_span fingerprint, struct error *error)
{
    const struct recorded_entry entry = {
        .delivery_num = event->delivery_num, .replay = event->replay, .fingerprint = fingerprint};
    struct buf line = {0};
    int result;

    recorded_entry_put(&line, event->delivery, &entry);
    result = cut_vat_put(vat, &line, error);
    buf_free(&line);
    if (result != 0)
        return -1;
    if (vat->deliveries++ == 0)
        vat->first = event->delivery_num;
    vat->last = event->delivery_num;
    return 0;
}

/* A name as JSON has it, to be freed. */
static char *read_name(const struct buf *name)
{
    struct buf text = {0};
    char *copy = NULL;

    scan_unescape((struct scan_span){name->data, name->length}, &text);
    if (buf_string(&text) != NULL)
        copy = text.data;
    return copy;
}

static int hand_over_span(struct cut_vat *vat, const struct fleet_cut_target *target,
                          struct error *error)
{
    char transcript[FLEET_HASH_SIZE];
    char *name = read_name(&vat->name);
    struct fleet_cut_span span = {
        .vat_id = vat->id,
        .vat = name,
        .first = vat->first,
        .end = vat->last + 1,
        .deliveries = vat->deliveries,
        .transcript = transcript,
        .snapshot = vat->snapshot,
        .bundles = vat->bundles,
    };
    int result = name != NULL ? 0 : error_memory(error, "a vat's name");

    if (result == 0)
        result = object_writer_put(&vat->writer, target->transport, transcript, error);
    if (result == 0)
        result = target->add(target->context, &span, error);
    free(name);
    return result;
}

/* Ends the span in progress, if any, and passes it to the target if it has deliveries. */
static int cut_vat_end(struct cut_vat *vat, const struct fleet_cut_target *target,
                       struct error *error)
{
    int result = 0;

    if (vat->is_open && vat->deliveries > 0)
        result = hand_over_span(vat, target, error);
    object_writer_free(&vat->writer);
    vat->is_open = false;
    vat->snapshot[0] = '\0';
    (void)json_array_clear(vat->bundles); /* it is an array */
    return result;
}

/* The span needs this bundle: for the vat of that ID, or "" for all that name it. */
static int cut_vat_need_bundle(struct cut_vat *vat, const char *object, const char *for_vat,
                               struct error *error)
{
    json_t *bundle = json_pack("{s:s,s:s}", "object", object, "vat", for_vat);

    return bundle != NULL && json_array_append_new(vat->bundles, bundle) == 0
               ? 0
               : error_memory(error, "a span");
}

/* ---- the source ---- */

/* The end of every line of the slogfile. */
#define TIMES ",\"time\":0,\"monotime\":0}\n"

struct cutter {
    const struct replay_options *options;
    const struct fleet_cut_target *target;
    struct replay_source *source;
    struct replay_bundles bundles;
    struct buf fingerprint; /* of the session */
    struct cut_vat **vats;
    size_t vat_count, vat_capacity;
    int64_t unfinished; /* deliveries that the recording does not finish */
};

static struct cut_vat *fleet_cut_find_vat(struct cutter *cutter, struct scan_span id)
{
    for (size_t i = 0; i < cutter->vat_count; i++)
        if (scan_is(id, cutter->vats[i]->id))
            return cutter->vats[i];
    return NULL;
}

static struct cut_vat *fleet_cut_add_vat(struct cutter *cutter, struct scan_span id,
                                         struct error *error)
{
    struct cut_vat **vats = array_reserve(cutter->vats, &cutter->vat_capacity,
                                          cutter->vat_count + 1, sizeof(struct cut_vat *));
    struct cut_vat *vat;

    if (vats == NULL) {
        error_memory(error, "the vats");
        return NULL;
    }
    cutter->vats = vats;
    vat = cut_vat_new(id, error);
    if (vat != NULL)
        vats[cutter->vat_count++] = vat;
    return vat;
}

/* ---- bundles ---- */

/* Makes an object of the bundle with this ID, from the user or the source. No object: no ID, or the
 * bundle is missing. */
static int put_bundle_of_id(struct cutter *cutter, struct scan_span id,
                            char object[FLEET_HASH_SIZE], struct error *error)
{
    const struct buf *given;
    struct buf bundle = {0};
    bool found = false;
    int result = 0;

    object[0] = '\0';
    if (id.at == NULL)
        return 0;
    given = replay_bundles_find(&cutter->bundles, id);
    if (given != NULL)
        return fleet_object_put(cutter->target->transport, given->data, given->length, object,
                                error);
    if (cutter->source->operations->read_bundle != NULL)
        result =
            cutter->source->operations->read_bundle(cutter->source, id, &bundle, &found, error);
    if (result == 0 && found)
        result =
            fleet_object_put(cutter->target->transport, bundle.data, bundle.length, object, error);
    buf_free(&bundle);
    return result;
}

/* The span's replay reports a missing bundle. */
static int need_bundle(struct cutter *cutter, struct cut_vat *vat, struct scan_span id,
                       struct error *error)
{
    char object[FLEET_HASH_SIZE];

    if (put_bundle_of_id(cutter, id, object, error) != 0)
        return -1;
    return object[0] != '\0' ? cut_vat_need_bundle(vat, object, "", error) : 0;
}

static int own_bundle(struct cut_vat *vat, const char *object, struct error *error)
{
    vat->own_bundle = json_pack("{s:s,s:s}", "object", object, "vat", vat->id);
    return vat->own_bundle != NULL ? 0 : error_memory(error, "a bundle");
}

/* A create-vat line that names its bundle. */
static int keep_named_bundle(struct cutter *cutter, struct cut_vat *vat, struct scan_span id,
                             struct error *error)
{
    char object[FLEET_HASH_SIZE];

    if (put_bundle_of_id(cutter, id, object, error) != 0)
        return -1;
    return object[0] != '\0' ? own_bundle(vat, object, error) : 0;
}

/* Makes the bundle of a create-vat line an object of its own. Small bundles of plain contracts stay
 * in the line, and so does an invalid one, which the replay reports. */
static int keep_bundle(struct cutter *cutter, struct cut_vat *vat, const struct source_event *event,
                       struct error *error)
{
    struct scan_span bundle = event->bundle;
    struct scan_span format = scan_string(scan_get(bundle, "moduleFormat"));
    const char *name = buf_string(&vat->name);
    const struct buf *given = replay_bundles_find_vat(&cutter->bundles, vat->id, name);
    char object[FLEET_HASH_SIZE], why[REPLAY_WHY_SIZE];

    json_decref(vat->own_bundle);
    vat->own_bundle = NULL;
    if (given != NULL)
        bundle = (struct scan_span){given->data, given->length};
    if (bundle.at == NULL)
        return keep_named_bundle(cutter, vat, event->bundle_id, error);
    if (given == NULL &&
        (!scan_is(format, "endoZipBase64") || !bundle_check(bundle, why, sizeof why))) {
        buf_append_string(&vat->create, ",\"vatSourceBundle\":");
        buf_append(&vat->create, bundle.at, bundle.length);
        return 0;
    }
    if (fleet_object_put(cutter->target->transport, bundle.at, bundle.length, object, error) != 0)
        return -1;
    return own_bundle(vat, object, error);
}

/* ---- snapshots ---- */

static int put_span_snapshot(struct cutter *cutter, int fd, struct error *error)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    char object[FLEET_HASH_SIZE];
    void *bytes;
    int result;

    if (size <= 0)
        return error_system(error, errno, "cannot read a snapshot");
    bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return error_system(error, errno, "cannot read a snapshot");
    result = fleet_object_put(cutter->target->transport, bytes, (size_t)size, object, error);
    (void)munmap(bytes, (size_t)size);
    return result;
}

/* Out of the source, or the user's directory; its SHA-256 was checked then. */
static int fetch_snapshot(struct cutter *cutter, const struct source_event *event, bool *found,
                          struct error *error)
{
    struct replay_source *source = cutter->source;
    const int fd = memfd_create("gaspipe-snapshot", MFD_CLOEXEC);
    int result = 0;

    if (fd < 0)
        return error_system(error, errno, "cannot make a file for a snapshot");
    if (source->operations->read_snapshot != NULL)
        result = source->operations->read_snapshot(source, event, fd, found, error);
    if (result == 0 && !*found && cutter->options->snapshots != NULL)
        result = snapshot_archive_copy(cutter->options->snapshots, event, fd, found, error);
    if (result == 0 && *found)
        result = put_span_snapshot(cutter, fd, error);
    close(fd);
    return result;
}

static int find_cut_snapshot(struct cutter *cutter, const struct source_event *event, bool *found,
                             struct error *error)
{
    struct fleet_transport *transport = cutter->target->transport;
    char hash[FLEET_HASH_SIZE];

    *found = false;
    if (event->hash.length != FLEET_HASH_SIZE - 1)
        return 0;
    snprintf(hash, sizeof hash, "%.*s", (int)event->hash.length, event->hash.at);
    if (strspn(hash, "0123456789abcdef") != sizeof hash - 1)
        return 0;
    if (transport->operations->has_object(transport, hash, found, error) != 0)
        return -1;
    return *found ? 0 : fetch_snapshot(cutter, event, found, error);
}

/* ---- events ---- */

static int put_span_line(struct cut_vat *vat, struct error *error, const char *format, ...)
{
    struct buf line = {0};
    char *text = NULL;
    va_list args;
    int result;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (text == NULL)
        return error_memory(error, "a span");
    buf_append_string(&line, text);
    free(text);
    result = cut_vat_put(vat, &line, error);
    buf_free(&line);
    return result;
}

static int take_create(struct cutter *cutter, struct cut_vat *vat, const struct source_event *event,
                       struct error *error)
{
    const struct scan_span manager = event->manager_type;

    if (cut_vat_end(vat, cutter->target, error) != 0)
        return -1;
    vat->is_ignored =
        manager.at != NULL && !scan_is(manager, "xsnap") && !scan_is(manager, "xs-worker");
    buf_clear(&vat->name);
    buf_append(&vat->name, event->name.at != NULL ? event->name.at : "", event->name.length);
    buf_clear(&vat->create);
    buf_printf(&vat->create, "{\"type\":\"create-vat\",\"vatID\":\"%s\",\"name\":\"%.*s\"", vat->id,
               (int)vat->name.length, vat->name.length > 0 ? vat->name.data : "");
    if (keep_bundle(cutter, vat, event, error) != 0)
        return -1;
    buf_append_string(&vat->create, TIMES);
    return buf_failed(&vat->create) ? error_memory(error, "a vat") : 0;
}

/* The worker starts from a bundle that the line names, or in another way, such as from a snapshot.
 */
static int take_span_start(struct cutter *cutter, struct cut_vat *vat,
                           const struct source_event *event, struct error *error)
{
    const struct scan_span id = event->bundle_id, ids = event->runtime_ids;
    struct scan_cursor cursor;
    struct scan_span runtime;

    if (id.at == NULL)
        return put_span_line(vat, error, "{\"type\":\"start-replay\",\"vatID\":\"%s\"" TIMES,
                             vat->id);
    if (cut_vat_end(vat, cutter->target, error) != 0 ||
        put_span_line(vat, error,
                      "{\"d\":[\"initialize-worker\",{\"source\":{\"bundleID\":\"%.*s\"},"
                      "\"workerOptions\":{\"bundleIDs\":%.*s}}],\"sc\":[],\"r\":{}}\n",
                      (int)id.length, id.at, ids.at != NULL ? (int)ids.length : 4,
                      ids.at != NULL ? ids.at : "null") != 0 ||
        need_bundle(cutter, vat, id, error) != 0)
        return -1;
    if (!scan_open(ids, '[', &cursor))
        return 0;
    while (scan_element(&cursor, &runtime) == SCAN_FOUND)
        if (need_bundle(cutter, vat, scan_string(runtime), error) != 0)
            return -1;
    return 0;
}

static int take_loaded(struct cutter *cutter, struct cut_vat *vat, const struct source_event *event,
                       struct error *error)
{
    const struct scan_span hash = event->hash;
    bool found;

    if (find_cut_snapshot(cutter, event, &found, error) != 0 ||
        (found && cut_vat_end(vat, cutter->target, error) != 0))
        return -1;
    if (found)
        snprintf(vat->snapshot, sizeof vat->snapshot, "%.*s", (int)hash.length, hash.at);
    return put_span_line(
        vat, error, "{\"type\":\"heap-snapshot-load\",\"vatID\":\"%s\",\"hash\":\"%.*s\"" TIMES,
        vat->id, (int)hash.length, hash.at != NULL ? hash.at : "");
}

static int take_delivery(struct cutter *cutter, struct cut_vat *vat,
                         const struct source_event *event, struct error *error)
{
    const struct scan_span fingerprint = {cutter->fingerprint.length > 0 ? cutter->fingerprint.data
                                                                         : NULL,
                                          cutter->fingerprint.length};

    if (event->disorder != 0)
        return error_set(error, ERROR_INPUT, "%s:%" PRIu64 ": out of order in its delivery",
                         cutter->source->name, event->disorder);
    if (event->delivery->finished)
        return cut_vat_put_delivery(vat, event, fingerprint, error);
    cutter->unfinished++;
    return put_span_line(vat, error, "{\"type\":\"start-replay\",\"vatID\":\"%s\"" TIMES, vat->id);
}

static int take_vat_event(struct cutter *cutter, struct cut_vat *vat,
                          const struct source_event *event, struct error *error)
{
    const struct scan_span hash = event->hash, id = event->bundle_id;

    if (event->kind != SOURCE_CREATE && vat->is_ignored)
        return 0;
    switch (event->kind) {
    case SOURCE_CREATE:
        return take_create(cutter, vat, event, error);
    case SOURCE_START:
        return take_span_start(cutter, vat, event, error);
    case SOURCE_UPGRADE:
        if (put_span_line(
                vat, error,
                "{\"type\":\"crank-start\",\"crankType\":\"delivery\",\"messageType\":"
                "\"upgrade-vat\",\"message\":{\"vatID\":\"%s\",\"bundleID\":\"%.*s\"}" TIMES,
                vat->id, (int)id.length, id.at) != 0)
            return -1;
        return need_bundle(cutter, vat, id, error);
    case SOURCE_SNAPSHOT_SAVED:
        return put_span_line(
            vat, error,
            "{\"type\":\"heap-snapshot-save\",\"vatID\":\"%s\",\"snapshotID\":\"%.*s\"" TIMES,
            vat->id, (int)hash.length, hash.at != NULL ? hash.at : "");
    case SOURCE_SNAPSHOT_LOADED:
        return take_loaded(cutter, vat, event, error);
    case SOURCE_DELIVERY:
        return take_delivery(cutter, vat, event, error);
    default:
        return put_span_line(vat, error, "{\"type\":\"terminate\",\"vatID\":\"%s\"" TIMES, vat->id);
    }
}

static int take_event(struct cutter *cutter, const struct source_event *event, struct error *error)
{
    struct cut_vat *vat;

    if (event->kind == SOURCE_SESSION) {
        buf_clear(&cutter->fingerprint);
        if (event->fingerprint.at != NULL)
            buf_append(&cutter->fingerprint, event->fingerprint.at, event->fingerprint.length);
        return buf_failed(&cutter->fingerprint) ? error_memory(error, "a fingerprint") : 0;
    }
    vat = fleet_cut_find_vat(cutter, event->vat_id);
    if (vat == NULL && !source_event_is_wanted(event, &cutter->options->selection))
        return 0;
    if (vat == NULL)
        vat = fleet_cut_add_vat(cutter, event->vat_id, error);
    return vat != NULL ? take_vat_event(cutter, vat, event, error) : -1;
}

/* ---- all of it ---- */

static int cut_all(struct cutter *cutter, struct error *error)
{
    const struct replay_options *options = cutter->options;
    struct source_event event;
    int result;

    if (replay_bundles_read(&cutter->bundles, options->bundles.items, options->bundles.count,
                            error) != 0)
        return -1;
    cutter->source = replay_source_open(options, error);
    if (cutter->source == NULL)
        return -1;
    while ((result = cutter->source->operations->next(cutter->source, &event, error)) == 1)
        if (take_event(cutter, &event, error) != 0)
            return -1;
    for (size_t i = 0; result == 0 && i < cutter->vat_count; i++)
        result = cut_vat_end(cutter->vats[i], cutter->target, error);
    if (result == 0 && cutter->vat_count == 0)
        result = error_set(error, options->selection.vat_count > 0 ? ERROR_USAGE : ERROR_INPUT,
                           "%s: no such vat", cutter->source->name);
    if (result == 0 && cutter->unfinished > 0)
        log_line("%s: %" PRId64 " %s not finished in it, and left out", cutter->source->name,
                 cutter->unfinished,
                 format_plural((uint64_t)cutter->unfinished, "delivery is", "deliveries are"));
    return result;
}

int fleet_cut(const struct replay_options *options, const struct fleet_cut_target *target,
              struct error *error)
{
    struct cutter cutter = {.options = options, .target = target};
    int result = cut_all(&cutter, error);

    for (size_t i = 0; i < cutter.vat_count; i++)
        cut_vat_free(cutter.vats[i]);
    free(cutter.vats);
    if (cutter.source != NULL)
        cutter.source->operations->close(cutter.source);
    replay_bundles_free(&cutter.bundles);
    buf_free(&cutter.fingerprint);
    return result;
}
