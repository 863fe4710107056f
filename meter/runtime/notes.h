/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_NOTES_H
#define GASPIPE_METER_RUNTIME_NOTES_H

#include <stddef.h>

/* Reads the notes that gaspipe-meter leaves in each object of the program and of each metered
 * library (meter/pass/module.h). */

/* A constructor that gaspipe-cc links into each of them calls this. */
void gasmeter_add_notes(const char *first, const char *end);

/* Called when one of them ends. Copies the notes of a library once, because dlclose() unmaps it. */
void gasmeter_keep_notes(const char *first);

/* Calls `visit` once for each function that is called but not metered, in any order. Not
 * thread-safe. */
void notes_uncounted(void (*visit)(const char *name, void *argument), void *argument);

/* Calls `visit` for the notes of the program and of each metered library. */
void notes_each_part(void (*visit)(const char *first, const char *end, void *argument),
                     void *argument);

/* Calls `visit` for each function without a meter that the program looked up with dlsym(). Absent
 * (NULL) from static programs that look nothing up. */
__attribute__((weak)) void lookups_each(void (*visit)(const char *name, void *argument),
                                        void *argument);

/* Calls `visit` for each note of a kind. */
void notes_each(char kind, void (*visit)(const char *text, void *argument), void *argument);

#endif
