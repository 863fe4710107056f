/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_FLEET_SPAN_CUT_VAT_H
#define GASPIPE_SUPERVISOR_FLEET_SPAN_CUT_VAT_H

#include <jansson.h>

#include "supervisor/fleet/span/fleet_cut.h"
#include "supervisor/fleet/span/fleet_object.h"
#include "supervisor/replay/source/source.h"

/* A vat of a source that is being cut, and the span in hand. */
struct cut_vat {
    char *id;           /* owned */
    struct buf name;    /* as JSON has it, without quotes */
    struct buf create;  /* the line that each of its spans begins with */
    json_t *own_bundle; /* of the vat, as of a job; owned; NULL: the line has it, or nobody */
    json_t *bundles;    /* of the span; owned */
    bool is_ignored;    /* it ran in no worker process */
    bool is_open;       /* there is a span in hand */
    char snapshot[FLEET_HASH_SIZE];
    int64_t first, last, deliveries;
    struct object_writer writer;
};

/* NULL when memory ran out. */
struct cut_vat *cut_vat_new(struct scan_span id, struct error *error);
void cut_vat_free(struct cut_vat *vat);

/* Adds a line, or the lines in it, to the span in hand, which is begun if there is none. */
int cut_vat_put(struct cut_vat *vat, const struct buf *lines, struct error *error);

/* Adds a delivery's line. */
int cut_vat_put_delivery(struct cut_vat *vat, const struct source_event *event,
                         struct scan_span fingerprint, struct error *error);

/* Ends the span in hand, if there is one, and hands it to the target if it has deliveries. */
int cut_vat_end(struct cut_vat *vat, const struct fleet_cut_target *target, struct error *error);

/* The span needs this bundle: for the vat of that ID, or "" for all that name it. */
int cut_vat_need_bundle(struct cut_vat *vat, const char *object, const char *for_vat,
                        struct error *error);

#endif
