/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_TOOLS_METRICS_METRICS_SERVER_H
#define GASPIPE_TOOLS_METRICS_METRICS_SERVER_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Serves metrics to Prometheus under http://ADDRESS:PORT/metrics, on a loopback address only: who
 * wants them from elsewhere puts a proxy in front that knows who may read them. A thread of
 * libmicrohttpd's answers with what metrics_server_set() gave it last.
 */
struct metrics_server;

/* `where`: "PORT", "127.0.0.1:PORT" or "[::1]:PORT"; port 0: a free one. NULL with ERROR_USAGE or
 * ERROR_SYSTEM. */
struct metrics_server *metrics_server_open(const char *where, struct error *error);

/* Where it is, for people: "http://127.0.0.1:9100/metrics". */
const char *metrics_server_url(const struct metrics_server *server);

/* Takes over what is in the buffers, both formats, and leaves them empty. */
void metrics_server_set(struct metrics_server *server, struct buf *prometheus,
                        struct buf *openmetrics);

/* NULL is allowed. */
void metrics_server_close(struct metrics_server *server);

#endif
