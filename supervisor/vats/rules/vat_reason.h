/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_VATS_RULES_VAT_REASON_H
#define GASPIPE_SUPERVISOR_VATS_RULES_VAT_REASON_H

#include <stdbool.h>

#include "base/error.h"

/* Why a vat's worker ended before its time, and whose fault that was. */
enum { VAT_REASON_SIZE = 512 };

enum vat_cause {
    VAT_CAUSE_OTHER,
    VAT_CAUSE_TIME,       /* it took too long */
    VAT_CAUSE_MEMORY,     /* the host gave it no memory */
    VAT_CAUSE_CRASH,      /* a signal that a program's own fault raises */
    VAT_CAUSE_NO_PROCESS, /* the host could not start one */
};

struct vat_reason {
    char text[VAT_REASON_SIZE]; /* "": none yet */
    enum error_kind blame;      /* as vat_loss() takes it */
    enum vat_cause cause;
};

/* Notes a reason, unless there is one: the first caused the others. */
void vat_reason_set(struct vat_reason *reason, enum error_kind blame, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
