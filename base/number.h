/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_NUMBER_H
#define GASPIPE_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Decimal numbers as users write them in options and programs in text: digits, no sign or blank. */

/* Reads the digits at *at and moves *at behind them. False: no digit, or 2^64 and more. */
bool number_take(const char **at, uint64_t *number);

/* Whether the text is a number up to `max` and nothing else. */
bool number_read(const char *text, uint64_t max, uint64_t *number);

/*
 * Values of options. `option` is its name as the user wrote it, for the error:
 * ERROR_USAGE with the range and the text.
 */

/* A number from min to max. */
int number_option(const char *option, const char *text, uint64_t min, uint64_t max,
                  uint64_t *number, struct error *error);

/* Bytes, from 1 to 2^63 - 1; K, M or G behind the number multiplies by 1024, 1024^2, 1024^3. */
int number_option_bytes(const char *option, const char *text, int64_t *bytes, struct error *error);

/* Seconds from 0 to max, with a fraction if wanted; rounded up to milliseconds. */
int number_option_seconds(const char *option, const char *text, uint64_t max,
                          uint64_t *milliseconds, struct error *error);

#endif
