/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_METER_H
#define GASPIPE_WORKER_NATIVE_METER_H

#include <stddef.h>
#include <stdint.h>

/* What a worker gives to the contracts that it loads. */
struct native_symbol {
    const char *name;
    uintptr_t address;
};

/*
 * The run-time part of the compiled-in meter, in a worker that has it: only contracts that
 * gaspipe-cc compiled count with it, not the worker.
 */
struct native_meter {
    uint64_t (*read)(void);
    void (*budget)(uint64_t units);
    void (*on_spent)(void (*spent)(void *argument), void *argument);
    /* Around what a contract does, with all of its memory new: for the meter's profile. */
    void (*begin)(void);
    void (*end)(void);
    const struct native_symbol *functions; /* that a metered contract calls; ends with NULL */
    /* Its thread-local variables, as offsets from the thread pointer; likewise. */
    const struct native_symbol *(*variables)(void);
};

#endif
