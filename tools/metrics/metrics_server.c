/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/number.h"

enum {
    CLIENTS_MAX = 16,
    CLIENT_MEMORY = 32 * 1024, /* bytes, of a connection's buffers */
    STALLED_SECONDS = 1,       /* without a byte, then the connection is closed */
    HTTP_PORT = 80,
    MISDIRECTED = 421,
};

struct metrics_server {
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock; /* of the two texts */
    struct buf prometheus, openmetrics;
    char url[96];
    char host[64]; /* as `where` has it, "127.0.0.1" or "[::1]" */
    uint16_t port;
};

/* ---- answering ---- */

static enum MHD_Result answer_with(struct MHD_Connection *connection, unsigned status,
                                   const char *type, const void *text, size_t length)
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
    result = answer_with(connection, MHD_HTTP_OK,
                         open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                              : "text/plain; version=0.0.4; charset=utf-8",
                         text->length > 0 ? text->data : "", text->length);
    pthread_mutex_unlock(&server->lock);
    return result;
}

/* "HOST:PORT" of this server. A page of another site that has a name for the loopback address would
 * say that name; only a client of HTTP/1.0, which no browser is, may say none. */
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
        return answer_with(connection, MISDIRECTED, "text/plain", other_host, strlen(other_host));
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_with(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", only_get,
                           strlen(only_get));
    if (strcmp(url, "/metrics") != 0)
        return answer_with(connection, MHD_HTTP_NOT_FOUND, "text/plain", elsewhere,
                           strlen(elsewhere));
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

/* The thread has all signals blocked: SIGTERM is for the one that follows the file. */
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

struct metrics_server *metrics_server_open(const char *where, struct error *error)
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

const char *metrics_server_url(const struct metrics_server *server)
{
    return server->url;
}

void metrics_server_set(struct metrics_server *server, struct buf *prometheus,
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

void metrics_server_close(struct metrics_server *server)
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
