/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_SPECULATION_PACE_H
#define GASPIPE_SUPERVISOR_SCHEDULE_SPECULATION_SPECULATION_PACE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether looking ahead pays, from what it is told: no clock, no system call.
 *
 * Predictions, records, and frames that wake another processor cost as much as a short delivery
 * computes. So: ahead as long as deliveries are long; where they are short, one at a time for a
 * while, to know what they take then, and after that whichever is faster, with another trial of
 * looking ahead after so many deliveries, and after eight times as many each time that it loses.
 * What a delivery would have taken one at a time is known by its computrons.
 */
struct speculation_pace {
    bool alone;     /* deliveries are made one at a time for now */
    unsigned since; /* deliveries since the last that was made ahead, as far as that matters */
    int64_t now;    /* when the last delivery ended; 0: none has */

    unsigned passing;        /* deliveries that are not counted, since they began before */
    unsigned count;          /* of deliveries in the window, */
    int64_t wall, processor; /* nanoseconds that they took, and that their worker computed */
    double compute;          /* their computrons */
    double each, computron;  /* nanoseconds of one alone, and of its computrons */
    uint64_t left, distance; /* deliveries until the next trial; and from the last to it */
};

/* Of a delivery that has had its turn. */
struct speculation_turn {
    int64_t now;       /* nanoseconds of CLOCK_MONOTONIC */
    int64_t processor; /* nanoseconds that the worker computed */
    uint64_t compute;  /* computrons */
    bool ahead;        /* it was made before its turn */
    uint64_t jobs;     /* deliveries under way at a time */
};

/* All zeros at the beginning: ahead, nothing known. */
void speculation_pace_observe(struct speculation_pace *pace, const struct speculation_turn *turn);

/* Whether deliveries overlap now: they may be made ahead, and some were of late. */
bool speculation_pace_overlaps(const struct speculation_pace *pace);

#endif
