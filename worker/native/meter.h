/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_METER_H
#define GASPIPE_WORKER_NATIVE_METER_H

#include <stddef.h>
#include <stdint.h>

/* A symbol that the worker gives to the contracts that it loads. */
struct native_symbol {
    const char *name;
    uintptr_t address;
};

/* The run-time part of the compiled-in meter, if the worker has it. It counts contracts that
 * gaspipe-cc compiled, not the worker. */
struct native_meter {
    uint64_t (*read)(void);
    void (*budget)(uint64_t units);
    void (*on_spent)(void (*spent)(void *argument), void *argument);
    /* Called before and after a contract's code, with all of its memory new, for the meter's
     * profile. */
    void (*begin)(void);
    void (*end)(void);
    const struct native_symbol *functions; /* functions that a metered contract calls; ends with
                                              NULL */
    /* The meter's thread-local variables, as offsets from the thread pointer; ends with NULL. */
    const struct native_symbol *(*variables)(void);
};

#endif
