/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_NOTES_H
#define GASPIPE_METER_RUNTIME_NOTES_H

#include <stddef.h>

/*
 * The notes that gaspipe-meter leaves in each object (meter/pass/module.h), of the program
 * and of each metered library.
 */

/* Called by a constructor that gaspipe-cc links into each of them. */
void gasmeter_add_notes(const char *first, const char *end);

/* Called as one of them ends. Those of a library that dlclose() unmaps are copied, once. */
void gasmeter_keep_notes(const char *first);

/*
 * Calls `visit` with each function that is called and is not metered, in no order, each once. Not
 * for two threads at a time.
 */
void notes_uncounted(void (*visit)(const char *name, void *argument), void *argument);

/* With each note of a kind. */
void notes_each(char kind, void (*visit)(const char *text, void *argument), void *argument);

#endif
