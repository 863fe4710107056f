/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_CPU_USAGE_H
#define GASPIPE_WORKER_CPU_USAGE_H

#include <stdint.h>
#include <sys/resource.h>

#include "proto/meter.h"

/* The calling thread's use of its processor, from one meter record that has it to the next. */
struct cpu_usage {
    struct rusage before; /* when the system was asked last */
    int64_t asked;        /* when that was: nanoseconds of CLOCK_MONOTONIC */
};

/* Nanoseconds. Asking the system takes a twentieth of the shortest delivery. */
#define CPU_USAGE_INTERVAL INT64_C(100000)

/* What is told next begins here: what was done before belongs to no delivery. */
void cpu_usage_rebase(struct cpu_usage *usage, int64_t now);

/*
 * Puts into the meter what was used since this was done last, or since cpu_usage_rebase(), so
 * that the system is asked once: the delivery's own coming, and one sleep until it came, are in
 * it. Nothing, where that was less than CPU_USAGE_INTERVAL ago; it is in the next one then.
 */
void cpu_usage_take(struct cpu_usage *usage, int64_t now, struct meter *meter);

#endif
