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
 * What a vat may use. Its limits are in the record vN.limits, from when it was made;
 * of a vat whose store is limited, vN.storeBytes says what is in it. Neither is in
 * a crank's hash: a limit that is not passed changes nothing.
 */

/* Keeps the limits of a vat that is new. */
int limits_create(struct kernel *kernel, int64_t vat, const struct kernel_limits *limits,
                  struct error *error);

/* The limits of a vat; all zeros where it has none. */
int limits_read(struct kernel *kernel, int64_t vat, struct kernel_limits *limits,
                struct error *error);

/* A limit that people change. */
struct limit_change {
    const char *name; /* as kernel_set_limit() takes it; static in what limits_look() fills */
    int64_t value;
    int64_t before;
    bool of_kernel; /* the kernel holds the vat to it, not its worker */
};

/* Fills name, before and of_kernel; ERROR_INPUT: there is no such limit. */
int limits_look(struct kernel *kernel, int64_t vat, const char *name, struct limit_change *change,
                struct error *error);

/* Keeps the limit of that name and value. */
int limits_change(struct kernel *kernel, int64_t vat, const struct limit_change *change,
                  struct error *error);

/* Whether a record is one of these. */
bool limits_is_record(struct iovec key);

/*
 * Counts what a syscall or its answer has, as JSON. -1 with ERROR_INPUT when the delivery has
 * transferred more than it may.
 */
int limits_take_transfer(struct kernel *kernel, size_t bytes, struct error *error);

/*
 * Counts a syscall of the delivery under way, before it is done. -1 with ERROR_INPUT
 * when the vat passes a limit with it.
 */
int limits_take(struct kernel *kernel, const struct vat_syscall *syscall, struct error *error);

/*
 * Meters: computrons that vats may use, mN.remaining ("unlimited" or a number)
 * and mN.threshold, below which the vatAdmin vat is told.
 */

enum { VAT_METER_UNLIMITED = -1 };

/* `meter_id` gets "mN". */
int vat_meter_create(struct kernel *kernel, int64_t remaining, int64_t threshold,
                     char meter_id[KERNEL_REF_SIZE], struct error *error);

struct vat_meter {
    int64_t remaining; /* computrons, or VAT_METER_UNLIMITED */
    int64_t threshold;
};

/* *found is false for what is no meter. */
int vat_meter_get(struct kernel *kernel, const char *meter_id, struct vat_meter *meter, bool *found,
                  struct error *error);
int vat_meter_set(struct kernel *kernel, const char *meter_id, const struct vat_meter *meter,
                  struct error *error);

/* Takes off what was used; *crossed: it is below the threshold now and was not before. */
int vat_meter_deduct(struct kernel *kernel, const char *meter_id, int64_t computrons,
                     struct vat_meter *left, bool *crossed, struct error *error);

#endif
