/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_RECORDS_LIMITS_H
#define GASPIPE_KERNEL_RECORDS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "kernel/kernel.h"
#include "proto/vat_message.h"

/*
 * Limits of a vat are in the record vN.limits, written when it is created. If its vatstore
 * is limited, vN.storeBytes has the current size. Neither is in the crank hash, because a
 * limit that is not exceeded changes nothing.
 */

/* Stores the limits of a new vat. */
int limits_create(struct kernel *kernel, int64_t vat, const struct kernel_limits *limits,
                  struct error *error);

/* Reads a vat's limits; all zeros if it has no record. */
int limits_read(struct kernel *kernel, int64_t vat, struct kernel_limits *limits,
                struct error *error);

/* A change of a limit by the operator. */
struct limit_change {
    const char *name; /* as kernel_set_limit() takes it; static in what limits_look() fills */
    int64_t value;
    int64_t before;
    bool of_kernel; /* the kernel holds the vat to it, not its worker */
};

/* Fills name, before and of_kernel; ERROR_INPUT if the name is unknown. */
int limits_look(struct kernel *kernel, int64_t vat, const char *name, struct limit_change *change,
                struct error *error);

/* Stores the new value. */
int limits_change(struct kernel *kernel, int64_t vat, const struct limit_change *change,
                  struct error *error);

/* Returns true for a key that these functions write. */
bool limits_is_record(struct iovec key);

/* Counts the JSON bytes of a syscall or answer. -1 with ERROR_INPUT if the delivery exceeds its
 * transfer limit. */
int limits_take_transfer(struct kernel *kernel, size_t bytes, struct error *error);

/* Counts a syscall before it is performed. -1 with ERROR_INPUT if it exceeds a limit. */
int limits_take(struct kernel *kernel, const struct vat_syscall *syscall, struct error *error);

/* Meters hold computrons that vats may use: mN.remaining ("unlimited" or a number), and
 * mN.threshold, below which the vatAdmin vat is notified. */

enum { VAT_METER_UNLIMITED = -1 };

/* `meter_id` gets "mN". */
int vat_meter_create(struct kernel *kernel, int64_t remaining, int64_t threshold,
                     char meter_id[KERNEL_REF_SIZE], struct error *error);

struct vat_meter {
    int64_t remaining; /* computrons, or VAT_METER_UNLIMITED */
    int64_t threshold;
};

/* *found is false if the id is not a meter's. */
int vat_meter_get(struct kernel *kernel, const char *meter_id, struct vat_meter *meter, bool *found,
                  struct error *error);
int vat_meter_set(struct kernel *kernel, const char *meter_id, const struct vat_meter *meter,
                  struct error *error);

/* Deducts what was used; *crossed: the meter just fell below its threshold. */
int vat_meter_deduct(struct kernel *kernel, const char *meter_id, int64_t computrons,
                     struct vat_meter *left, bool *crossed, struct error *error);

#endif
