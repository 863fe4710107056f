/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_COMPRESSION_H
#define GASPIPE_BASE_COMPRESSION_H

#include <stddef.h>

#include "base/error.h"

/*
 * ERROR_INPUT if a file that begins with these bytes is compressed; the error names the program
 * that decompresses it. 0 if the bytes begin in none of the known ways.
 */
int compression_refuse(const char *path, const char *bytes, size_t length, struct error *error);

#endif
