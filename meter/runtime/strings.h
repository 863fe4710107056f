/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_STRINGS_H
#define GASPIPE_METER_RUNTIME_STRINGS_H

#include <stddef.h>
#include <stdint.h>

/* Readers: metered code calls them around a function of libc, to find how many bytes, or wide
 * characters, it is charged for (cost_table.h). Strings may be NULL, and are empty then. */

uint64_t gasmeter_string_bytes(const char *string);
uint64_t gasmeter_text_bytes(const char *string, uint64_t most);
uint64_t gasmeter_product_bytes(uint64_t one, uint64_t other);
uint64_t gasmeter_count_bytes(int64_t count);

/* Returns the bytes that a search read: up to the place it found, or else the whole string. */
uint64_t gasmeter_reach_bytes(const char *from, const char *to);

/* Returns the length of the equal part. The metered call makes libc compare from there on, so that
 * long strings are read once. */
uint64_t gasmeter_common_bytes(const char *one, const char *other, uint64_t most);

/* Returns how many bytes are spaces or may belong to a number. */
uint64_t gasmeter_number_bytes(const char *text);

uint64_t gasmeter_token_bytes(const char *text, const char *separators, char *const *rest);

/* The first returns where a pointer points before a call, the second how far the call moved it. */
uint64_t gasmeter_place(const char *const *place);
uint64_t gasmeter_moved_bytes(const char *const *place, uint64_t before);

uint64_t gasmeter_wide_length(const wchar_t *string);
uint64_t gasmeter_wide_text_length(const wchar_t *string, uint64_t most);
uint64_t gasmeter_wide_product(const wchar_t *one, const wchar_t *other);
uint64_t gasmeter_wide_reach(const wchar_t *from, const wchar_t *to);

/* All of them, as the entries {NAME, ADDRESS} of a table. */
#define GASMETER_READER(name)                                                                      \
    {                                                                                              \
#name, (uintptr_t)(name)                                                                   \
    }
#define GASMETER_READERS                                                                           \
    GASMETER_READER(gasmeter_string_bytes), GASMETER_READER(gasmeter_text_bytes),                  \
        GASMETER_READER(gasmeter_product_bytes), GASMETER_READER(gasmeter_count_bytes),            \
        GASMETER_READER(gasmeter_reach_bytes), GASMETER_READER(gasmeter_common_bytes),             \
        GASMETER_READER(gasmeter_number_bytes), GASMETER_READER(gasmeter_token_bytes),             \
        GASMETER_READER(gasmeter_place), GASMETER_READER(gasmeter_moved_bytes),                    \
        GASMETER_READER(gasmeter_wide_length), GASMETER_READER(gasmeter_wide_text_length),         \
        GASMETER_READER(gasmeter_wide_product), GASMETER_READER(gasmeter_wide_reach)

#endif
