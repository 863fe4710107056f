/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_VAT_FRAME_H
#define GASPIPE_SUPERVISOR_VATS_VAT_FRAME_H

#include <sys/uio.h>

#include "base/buf.h"
#include "base/stamp.h"
#include "proto/meter.h"
#include "proto/vat_message.h"
#include "supervisor/vats/vat_state.h"

/* A frame from a vat's worker, read as far as the worker's state calls for. */
struct vat_frame {
    enum vat_event event; /* VAT_EVENT_DONE, _FAILED, _REQUEST, _STOPPED or _BAD */
    struct iovec payload; /* behind the first byte; borrowed */
    struct stamp come;
    /* Of DONE in DELIVERING and REPLAYING, and of STOPPED in DELIVERING: */
    struct meter meter;
    /* Of DONE in DELIVERING and REPLAYING: */
    const char *problem; /* NULL: the delivery went well */
    const char *value;   /* what came with "ok", JSON; NULL: null */
    struct buf text;     /* of either */
    const char *stack;   /* that came with the problem; NULL: none did */
    struct buf stack_text;
    /* Of REQUEST in DELIVERING and LOADING: */
    struct vat_request request;
};

/*
 * Reads a frame that came while the vat was in that state. One that cannot be read, or that
 * does not answer what was sent, is VAT_EVENT_BAD, with its reason noted: this is found out
 * before the state is left, so that what was under way in it is lost, and told to be. A worker
 * that cannot write its protocol is the host's trouble; a request that makes no sense is the
 * vat's doing, and in DELIVERING it is VAT_EVENT_REFUSED. The caller gives the frame back.
 */
void vat_frame_read(struct vat_frame *frame, enum vat_state state, struct iovec bytes,
                    struct stamp come, struct vat_reason *reason);
void vat_frame_free(struct vat_frame *frame);

#endif
