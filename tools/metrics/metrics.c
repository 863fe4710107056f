/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/number.h"
#include "base/output/output_file.h"
#include "base/stamp.h"
#include "tools/stats/outliers.h"

enum {
    CLIENTS_MAX = 16,
    CLIENT_MEMORY = 32 * 1024, /* bytes, of a connection's buffers */
    STALLED_SECONDS = 1,       /* without a byte, then the connection is closed */
    HTTP_PORT = 80,
    MISDIRECTED = 421,
};

/*
 * Serves metrics to Prometheus under http://ADDRESS:PORT/metrics, on a loopback address only: to
 * reach them from elsewhere, put a proxy in front that checks who may read them. A thread of
 * libmicrohttpd answers with what metrics_server_set() passed last.
 */
struct metrics_server {
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock; /* of the two texts */
    struct buf prometheus, openmetrics;
    char url[96];  /* "http://127.0.0.1:9100/metrics" */
    char host[64]; /* as `where` has it, "127.0.0.1" or "[::1]" */
    uint16_t port;
};

/* ---- answering ---- */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *type,
                               const void *text, size_t length)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (response == NULL)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_metrics(struct metrics_server *server,
                                      struct MHD_Connection *connection)
{
    const char *accept =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    const bool open = accept != NULL && strstr(accept, "application/openmetrics-text") != NULL;
    const struct buf *text = open ? &server->openmetrics : &server->prometheus;
    enum MHD_Result result;

    pthread_mutex_lock(&server->lock);
    result = respond(connection, MHD_HTTP_OK,
                     open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                          : "text/plain; version=0.0.4; charset=utf-8",
                     text->length > 0 ? text->data : "", text->length);
    pthread_mutex_unlock(&server->lock);
    return result;
}

/*
 * True if Host names this server. A page of another site whose name resolves to the loopback
 * address would send that name. Only HTTP/1.0 clients, which browsers are not, may omit Host.
 */
static bool is_addressed(const struct metrics_server *server, struct MHD_Connection *connection,
                         const char *version)
{
    const char *const hosts[] = {server->host, "localhost", "127.0.0.1", "[::1]"};
    const char *given =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    char expected[96];

    if (given == NULL)
        return strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        snprintf(expected, sizeof expected, "%s:%u", hosts[i], (unsigned)server->port);
        if (strcasecmp(given, expected) == 0 ||
            (server->port == HTTP_PORT && strcasecmp(given, hosts[i]) == 0))
            return true;
    }
    return false;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    static const char elsewhere[] = "the metrics are under /metrics\n";
    static const char only_get[] = "only GET\n";
    static const char other_host[] = "the Host of the request is not this server\n";

    (void)upload;
    (void)state;
    *upload_size = 0;
    if (!is_addressed(context, connection, version))
        return respond(connection, MISDIRECTED, "text/plain", other_host, strlen(other_host));
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", only_get,
                       strlen(only_get));
    if (strcmp(url, "/metrics") != 0)
        return respond(connection, MHD_HTTP_NOT_FOUND, "text/plain", elsewhere, strlen(elsewhere));
    return answer_metrics(context, connection);
}

/* ---- where ---- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr) != 0;
}

/* "127.0.0.1" or "[::1]" */
static bool read_host(const char *host, uint16_t port, union address *address)
{
    char plain[INET6_ADDRSTRLEN];
    const size_t length = strlen(host);

    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, host, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(port);
        return true;
    }
    if (length < 3 || length - 2 >= sizeof plain || host[0] != '[' || host[length - 1] != ']')
        return false;
    memcpy(plain, host + 1, length - 2);
    plain[length - 2] = '\0';
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons(port);
    return inet_pton(AF_INET6, plain, &address->v6.sin6_addr) == 1;
}

static int read_where(const char *where, char host[64], union address *address, struct error *error)
{
    const char *colon = strrchr(where, ':');
    uint64_t port;

    snprintf(host, 64, "127.0.0.1");
    if (colon != NULL)
        snprintf(host, 64, "%.*s", (int)(colon - where), where);
    if (!number_read(colon != NULL ? colon + 1 : where, UINT16_MAX, &port) ||
        !read_host(host, (uint16_t)port, address))
        return error_set(error, ERROR_USAGE,
                         "--listen needs PORT, 127.0.0.1:PORT or [::1]:PORT, not '%s'", where);
    if (!is_loopback(address))
        return error_set(error, ERROR_USAGE,
                         "--listen %s: only loopback addresses; a proxy can give the metrics to "
                         "others",
                         where);
    return 0;
}

/* ---- the server ---- */

/* Blocks all signals in the server's thread: SIGTERM is for the thread that follows the file. */
static struct MHD_Daemon *metrics_server_start(struct metrics_server *server,
                                               const union address *address)
{
    const unsigned flags =
        MHD_USE_INTERNAL_POLLING_THREAD | (address->any.sa_family == AF_INET6 ? MHD_USE_IPv6 : 0U);
    struct MHD_Daemon *daemon;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    daemon =
        MHD_start_daemon(flags, 0, NULL, NULL, on_request, server, MHD_OPTION_SOCK_ADDR,
                         &address->any, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CLIENTS_MAX,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CLIENT_MEMORY,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STALLED_SECONDS, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

/* NULL is allowed. */
static void metrics_server_close(struct metrics_server *server)
{
    if (server == NULL)
        return;
    if (server->daemon != NULL)
        MHD_stop_daemon(server->daemon);
    pthread_mutex_destroy(&server->lock);
    buf_free(&server->prometheus);
    buf_free(&server->openmetrics);
    free(server);
}

/* `where`: "PORT", "127.0.0.1:PORT" or "[::1]:PORT"; port 0: a free one. NULL with ERROR_USAGE or
 * ERROR_SYSTEM. */
static struct metrics_server *metrics_server_open(const char *where, struct error *error)
{
    struct metrics_server *server = calloc(1, sizeof *server);
    const union MHD_DaemonInfo *info;
    union address address;
    char host[64];

    if (server == NULL) {
        error_memory(error, "the metrics");
        return NULL;
    }
    if (read_where(where, host, &address, error) != 0) {
        free(server);
        return NULL;
    }
    pthread_mutex_init(&server->lock, NULL); /* cannot fail with default attributes */
    server->daemon = metrics_server_start(server, &address);
    info = server->daemon != NULL ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)
                                  : NULL;
    if (info == NULL) {
        error_system(error, errno, "cannot listen on %s", where);
        metrics_server_close(server);
        return NULL;
    }
    server->port = info->port;
    snprintf(server->host, sizeof server->host, "%s", host);
    snprintf(server->url, sizeof server->url, "http://%s:%u/metrics", host, (unsigned)info->port);
    return server;
}

/* Takes the contents of both buffers, which are empty then. */
static void metrics_server_set(struct metrics_server *server, struct buf *prometheus,
                               struct buf *openmetrics)
{
    struct buf old[2];

    pthread_mutex_lock(&server->lock);
    old[0] = server->prometheus;
    old[1] = server->openmetrics;
    server->prometheus = *prometheus;
    server->openmetrics = *openmetrics;
    pthread_mutex_unlock(&server->lock);
    buf_free(&old[0]);
    buf_free(&old[1]);
    *prometheus = *openmetrics = (struct buf){0};
}

/* The first METRICS_VATS vats have their own series; all others are the vat "others". */
enum { METRICS_VATS = 500 };

/* Prometheus's own text, which node_exporter accepts as well, or OpenMetrics 1.0. */
enum metrics_format { METRICS_PROMETHEUS, METRICS_OPENMETRICS };

/* Upper bounds, in seconds: from an empty delivery to a slow block. */
static const double bounds[] = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};

enum { BOUNDS = sizeof bounds / sizeof *bounds };

struct times {
    uint64_t buckets[BOUNDS]; /* each excludes lower ones */
    uint64_t count;
    double sum; /* seconds */
};

enum part { PART_TOTAL, PART_PIPE, PART_WORKER, PART_KERNEL, PART_UNATTRIBUTED, PARTS };

static const char *const part_names[PARTS] = {"total", "pipe", "worker", "kernel", "unattributed"};

enum kind { KIND_MESSAGE, KIND_NOTIFY, KIND_START, KIND_REAP, KIND_OTHER, KINDS };

static const char *const kind_names[KINDS] = {"message", "notify", "startVat", "bringOutYourDead",
                                              "other"};

struct vat {
    char id[32], name[64];
    uint64_t deliveries[KINDS][2]; /* [1]: failed */
    struct times parts[PARTS];
    double computrons, instructions;
    double cpu_wait, worker_cpu_wait; /* seconds */
    /* The latest; NAN before the first. */
    double snapshot_bytes, heap_slots, heap_bytes;
};

struct metrics {
    struct metrics_server *server; /* NULL: none */
    const char *path;              /* NULL: none */
    int64_t next_flush;            /* CLOCK_MONOTONIC */

    struct vat *vats; /* the last is "others" if there are METRICS_VATS + 1 */
    size_t vat_count, vat_capacity;
    struct outliers outliers;
    struct times blocks, block_phases[PHASES];
    double phases[PHASES]; /* own seconds */
    int64_t height;        /* MODEL_NONE before the first block */
    int64_t latest;        /* start of the latest delivery, nanoseconds since the epoch */
    uint64_t kernels;
    bool failed; /* out of memory while a phase was added */
};

/* ---- gathering ---- */

static void times_add(struct times *times, int64_t nanoseconds)
{
    const double seconds = (double)nanoseconds / 1e9;
    size_t bucket = 0;

    if (nanoseconds == MODEL_NONE || nanoseconds < 0)
        return;
    while (bucket < BOUNDS && seconds > bounds[bucket])
        bucket++;
    if (bucket < BOUNDS)
        times->buckets[bucket]++;
    times->count++;
    times->sum += seconds;
}

static struct vat *metrics_add_vat(struct metrics *metrics, const char *id)
{
    struct vat *vats =
        array_reserve(metrics->vats, &metrics->vat_capacity, metrics->vat_count + 1, sizeof *vats);
    struct vat *vat;

    if (vats == NULL)
        return NULL;
    metrics->vats = vats;
    vat = &vats[metrics->vat_count++];
    *vat = (struct vat){.snapshot_bytes = NAN, .heap_slots = NAN, .heap_bytes = NAN};
    snprintf(vat->id, sizeof vat->id, "%s", id);
    return vat;
}

/* Finds or adds a vat; NULL when out of memory. `name` replaces the vat's unless it is "". */
static struct vat *metrics_find_vat(struct metrics *metrics, const char *id, const char *name)
{
    struct vat *vat = NULL;

    for (size_t i = 0; i < metrics->vat_count && vat == NULL; i++)
        if (strcmp(metrics->vats[i].id, id) == 0)
            vat = &metrics->vats[i];
    if (vat == NULL && metrics->vat_count > METRICS_VATS)
        return &metrics->vats[METRICS_VATS];
    if (vat == NULL)
        vat = metrics_add_vat(metrics, metrics->vat_count < METRICS_VATS ? id : "others");
    if (vat != NULL && name[0] != '\0' && strcmp(vat->id, "others") != 0)
        snprintf(vat->name, sizeof vat->name, "%s", name);
    return vat;
}

static enum kind find_delivery_kind(const char *name)
{
    int kind = 0;

    while (kind < KIND_OTHER && strcmp(name, kind_names[kind]) != 0)
        kind++;
    return (enum kind)kind;
}

static void metrics_add_number(double *sum, double number)
{
    if (!isnan(number))
        *sum += number;
}

/* "others" has no latest number: it is many vats. */
static void set_number(const struct vat *vat, double *latest, double number)
{
    if (!isnan(number) && strcmp(vat->id, "others") != 0)
        *latest = number;
}

static double seconds_or_nan(int64_t nanoseconds)
{
    return nanoseconds == MODEL_NONE ? NAN : (double)nanoseconds / 1e9;
}

int metrics_add(struct metrics *metrics, const struct model_delivery *delivery, struct error *error)
{
    struct vat *vat;

    if (delivery->replay)
        return 0;
    vat = metrics_find_vat(metrics, delivery->vat_id, delivery->vat_name);
    if (vat == NULL || metrics->failed)
        return error_memory(error, "the metrics");
    vat->deliveries[find_delivery_kind(delivery->kind)][delivery->status == MODEL_ERROR]++;
    if (!delivery->clock_changed) {
        times_add(&vat->parts[PART_TOTAL], delivery->total);
        times_add(&vat->parts[PART_PIPE], delivery->pipe);
        times_add(&vat->parts[PART_WORKER], delivery->worker);
        times_add(&vat->parts[PART_KERNEL], delivery->kernel);
        times_add(&vat->parts[PART_UNATTRIBUTED], delivery->unattributed);
    }
    metrics_add_number(&vat->cpu_wait, seconds_or_nan(delivery->cpu_wait));
    metrics_add_number(&vat->worker_cpu_wait, seconds_or_nan(delivery->worker_cpu_wait));
    set_number(vat, &vat->heap_slots, delivery->heap_slots);
    set_number(vat, &vat->heap_bytes, delivery->allocated);
    metrics_add_number(&vat->computrons, delivery->compute);
    metrics_add_number(&vat->instructions, delivery->instructions);
    if (delivery->start != MODEL_NONE)
        metrics->latest = delivery->start;
    return outliers_add(&metrics->outliers, delivery, true, error);
}

void metrics_add_phase(struct metrics *metrics, const struct phase_span *span)
{
    struct vat *vat;

    metrics->phases[span->phase] += (double)span->own / 1e9;
    if (span->phase != PHASE_SNAPSHOT_SAVE)
        return;
    vat = metrics_find_vat(metrics, span->vat_id, "");
    if (vat == NULL)
        metrics->failed = true;
    else
        set_number(vat, &vat->snapshot_bytes, span->bytes);
}

void metrics_add_block(struct metrics *metrics, const struct phase_block *block)
{
    metrics->height = block->height;
    times_add(&metrics->blocks, block->total);
    for (int phase = 0; phase < PHASES; phase++)
        if (block->own[phase] > 0)
            times_add(&metrics->block_phases[phase], block->own[phase]);
}

void metrics_note(struct metrics *metrics, const struct model_note *note)
{
    metrics->kernels += note->kind == MODEL_NOTE_KERNEL;
}

/* ---- giving them ---- */

struct output {
    struct buf *out;
    enum metrics_format format;
};

/* In OpenMetrics a counter's family lacks the "_total" of its samples. */
static void put_family(const struct output *output, const char *name, const char *type,
                       const char *help)
{
    const bool suffixed = strcmp(type, "counter") == 0 && output->format == METRICS_PROMETHEUS;

    buf_printf(output->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffixed ? "_total" : "",
               help, name, suffixed ? "_total" : "", type);
}

static void put_label(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\')
            buf_append_byte(out, '\\');
        buf_append_byte(out, *value == '\n' ? ' ' : *value);
    }
    buf_append_byte(out, '"');
}

static void put_vat_labels(struct buf *out, const struct vat *vat)
{
    put_label(out, "vat", vat->id);
    buf_append_byte(out, ',');
    put_label(out, "name", vat->name);
}

/* `labels`: the text between the braces. */
static void put_seconds_histogram(struct buf *out, const char *name, const char *labels,
                                  const struct times *times)
{
    const char *comma = labels[0] != '\0' ? "," : "";
    uint64_t below = 0;

    for (int i = 0; i < BOUNDS; i++) {
        below += times->buckets[i];
        buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, labels, comma, bounds[i],
                   below);
    }
    buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, comma, times->count);
    buf_printf(out, "%s_sum{%s} %.9f\n%s_count{%s} %" PRIu64 "\n", name, labels, times->sum, name,
               labels, times->count);
}

static void put_delivery_counts(const struct output *output, const struct metrics *metrics)
{
    struct buf *out = output->out;

    put_family(output, "slog_deliveries", "counter", "Deliveries that were not replayed.");
    for (size_t i = 0; i < metrics->vat_count; i++) {
        for (int each = 0; each < KINDS * 2; each++) {
            const uint64_t number = metrics->vats[i].deliveries[each / 2][each % 2];

            if (number == 0)
                continue;
            buf_append_string(out, "slog_deliveries_total{");
            put_vat_labels(out, &metrics->vats[i]);
            buf_printf(out, ",kind=\"%s\",status=\"%s\"} %" PRIu64 "\n", kind_names[each / 2],
                       each % 2 == 1 ? "error" : "ok", number);
        }
    }
}

static void put_part_times(const struct output *output, const struct metrics *metrics)
{
    struct buf labels = {0};

    put_family(output, "slog_delivery_seconds", "histogram",
               "Time of deliveries by part: total is the sum of the others.");
    for (size_t i = 0; i < metrics->vat_count; i++) {
        for (int part = 0; part < PARTS; part++) {
            const struct times *times = &metrics->vats[i].parts[part];

            if (times->count == 0)
                continue;
            buf_clear(&labels);
            put_vat_labels(&labels, &metrics->vats[i]);
            buf_printf(&labels, ",part=\"%s\"", part_names[part]);
            if (buf_string(&labels) == NULL)
                output->out->failed = true;
            else
                put_seconds_histogram(output->out, "slog_delivery_seconds", labels.data, times);
        }
    }
    buf_free(&labels);
}

/* A number of each vat that has one. */
static void put_vats(const struct output *output, const struct metrics *metrics, const char *name,
                     const char *type, const char *help, size_t place)
{
    struct buf *out = output->out;

    put_family(output, name, type, help);
    for (size_t i = 0; i < metrics->vat_count; i++) {
        double number;

        memcpy(&number, (const char *)&metrics->vats[i] + place, sizeof number);
        if (isnan(number) || number == 0)
            continue;
        buf_printf(out, "%s%s{", name, strcmp(type, "counter") == 0 ? "_total" : "");
        put_vat_labels(out, &metrics->vats[i]);
        buf_printf(out, strstr(name, "_seconds") != NULL ? "} %.9f\n" : "} %.0f\n", number);
    }
}

static void put_phases(const struct output *output, const struct metrics *metrics)
{
    struct buf *out = output->out;

    put_family(output, "slog_phase_seconds", "counter",
               "Time of each phase of the kernel, without the phases within it.");
    for (int phase = 0; phase < PHASES && phase_name((enum phase)phase) != NULL; phase++)
        buf_printf(out, "slog_phase_seconds_total{phase=\"%s\"} %.9f\n",
                   phase_name((enum phase)phase), metrics->phases[phase]);
}

static void put_blocks(const struct output *output, const struct metrics *metrics)
{
    struct buf *out = output->out;
    char label[128];

    if (metrics->height == MODEL_NONE)
        return;
    put_family(output, "slog_block_height", "gauge", "Height of the latest block that has ended.");
    buf_printf(out, "slog_block_height %" PRId64 "\n", metrics->height);
    put_family(output, "slog_block_seconds", "histogram", "Time from a block to the next one.");
    put_seconds_histogram(out, "slog_block_seconds", "", &metrics->blocks);
    put_family(output, "slog_block_phase_seconds", "histogram",
               "Time of each phase in a block, without the phases within it.");
    for (int phase = 0; phase < PHASES; phase++) {
        if (metrics->block_phases[phase].count == 0)
            continue;
        snprintf(label, sizeof label, "phase=\"%s\"", phase_name((enum phase)phase));
        put_seconds_histogram(out, "slog_block_phase_seconds", label,
                              &metrics->block_phases[phase]);
    }
}

static int put_stalls(const struct output *output, struct metrics *metrics, struct error *error)
{
    size_t count;
    uint64_t all;
    struct outlier **found = outliers_find(&metrics->outliers, &count, &all, error);

    if (found == NULL)
        return -1;
    free(found);
    put_family(output, "slog_stalls", "gauge",
               "Spans so far that took at least 1 ms longer than similar ones.");
    buf_printf(output->out, "slog_stalls %" PRIu64 "\n", all);
    return 0;
}

static void put_reading(const struct output *output, const struct metrics *metrics)
{
    struct buf *out = output->out;

    put_family(output, "slog_kernels", "counter", "Processes of the kernel in the slog.");
    buf_printf(out, "slog_kernels_total %" PRIu64 "\n", metrics->kernels);
    if (metrics->latest == MODEL_NONE)
        return;
    put_family(output, "slog_latest_delivery_timestamp_seconds", "gauge",
               "When the latest delivery began, since the epoch.");
    buf_printf(out, "slog_latest_delivery_timestamp_seconds %.6f\n", (double)metrics->latest / 1e9);
}

/*
 * Appends all metrics. -1 with ERROR_SYSTEM if finding stalls fails; other failures stay in the
 * buffer.
 */
static int metrics_put(struct metrics *metrics, enum metrics_format format, struct buf *out,
                       struct error *error)
{
    const struct output output = {out, format};

    put_delivery_counts(&output, metrics);
    put_part_times(&output, metrics);
    put_vats(&output, metrics, "slog_computrons", "counter", "Computrons of deliveries.",
             offsetof(struct vat, computrons));
    put_vats(&output, metrics, "slog_instructions", "counter",
             "Machine instructions of deliveries, where they are counted.",
             offsetof(struct vat, instructions));
    put_vats(&output, metrics, "slog_cpu_wait_seconds", "counter",
             "Time within deliveries in which gaspipe was ready to run but had no CPU.",
             offsetof(struct vat, cpu_wait));
    put_vats(&output, metrics, "slog_worker_cpu_wait_seconds", "counter", "The same of workers.",
             offsetof(struct vat, worker_cpu_wait));
    put_vats(&output, metrics, "slog_heap_bytes", "gauge",
             "What the engine took for heap and chunks, at the latest delivery.",
             offsetof(struct vat, heap_bytes));
    put_vats(&output, metrics, "slog_heap_slots", "gauge",
             "Slots in use in the engine's heap, at the latest delivery.",
             offsetof(struct vat, heap_slots));
    put_vats(&output, metrics, "slog_heap_snapshot_bytes", "gauge",
             "Size of the latest heap snapshot, not compressed.",
             offsetof(struct vat, snapshot_bytes));
    put_phases(&output, metrics);
    put_blocks(&output, metrics);
    if (put_stalls(&output, metrics, error) != 0)
        return -1;
    put_reading(&output, metrics);
    if (format == METRICS_OPENMETRICS)
        buf_append_string(out, "# EOF\n");
    return 0;
}

enum { PAUSE_NS = 1000000000 };

void metrics_close(struct metrics *metrics)
{
    if (metrics == NULL)
        return;
    metrics_server_close(metrics->server);
    outliers_free(&metrics->outliers);
    free(metrics->vats);
    free(metrics);
}

struct metrics *metrics_open(const char *path, const char *where, struct error *error)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);

    if (metrics == NULL) {
        error_memory(error, "the metrics");
        return NULL;
    }
    metrics->path = path;
    metrics->height = metrics->latest = MODEL_NONE;
    metrics->kernels = 1;
    metrics->outliers.keep = 1;
    metrics->outliers.least = 1000000; /* as slogreport stalls */
    if (where == NULL)
        return metrics;
    metrics->server = metrics_server_open(where, error);
    if (metrics->server == NULL) {
        metrics_close(metrics);
        return NULL;
    }
    log_line("metrics are served at %s", metrics->server->url);
    return metrics;
}

static int write_metrics(struct metrics *metrics, struct buf texts[2], struct error *error)
{
    struct buf copy = {0};
    int result = 0;

    if (metrics_put(metrics, METRICS_PROMETHEUS, &texts[0], error) != 0 ||
        metrics_put(metrics, METRICS_OPENMETRICS, &texts[1], error) != 0)
        return -1;
    if (buf_failed(&texts[0]) || buf_failed(&texts[1]))
        return error_memory(error, "the metrics");
    if (metrics->path != NULL) {
        buf_append(&copy, texts[0].data, texts[0].length);
        result = output_file_write_whole(metrics->path, "the metrics", &copy, error);
    }
    buf_free(&copy);
    if (result == 0 && metrics->server != NULL)
        metrics_server_set(metrics->server, &texts[0], &texts[1]);
    return result;
}

int metrics_flush(struct metrics *metrics, bool now, struct error *error)
{
    const int64_t time = stamp_now().mono;
    struct buf texts[2] = {0};
    int result;

    if (!now && time < metrics->next_flush)
        return 0;
    result = write_metrics(metrics, texts, error);
    buf_free(&texts[0]);
    buf_free(&texts[1]);
    metrics->next_flush = stamp_now().mono + PAUSE_NS;
    return result;
}
