/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_CRANK_PARTS_H
#define GASPIPE_SUPERVISOR_CRANK_PARTS_H

#include "supervisor/crank.h"

/* What the crank*.c files share. */

/* SwingSet's first kernel promises and objects have such numbers; ours are as
 * easily told from small integers. */
enum { CRANK_FIRST_PROMISE = 60, CRANK_FIRST_OBJECT = 20 };

/* ---- crank_text.c: the delivery in JSON and in words ---- */

/* Fills vd, kd, message, description and method. `line` as in crank_begin(). */
int crank_make_texts(struct crank *crank, const struct delivery_line *line, struct error *error);

/* A JSON string. */
void crank_put_text(struct buf *buf, const char *text);

/* A JSON value on one line. 0, or -1 with buf_failed(). */
int crank_put_json(struct buf *buf, const json_t *value);

/* ---- crank_slog.c: its lines; each does nothing without a slogfile ---- */

int crank_log_start(struct crank *crank, struct error *error);
int crank_log_request(struct crank *crank, const struct vat_request *request, struct stamp come,
                      struct stamp answered, struct error *error);

/* Flushes the slogfile, too. */
int crank_log_end(struct crank *crank, const struct crank_end *end, struct error *error);

#endif
