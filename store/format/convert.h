/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_STORE_FORMAT_CONVERT_H
#define GASPIPE_STORE_FORMAT_CONVERT_H

#include "base/error.h"

/*
 * Converts the store's file `path`, of SCHEMA_VERSION_OLD, to the current format: all rows go
 * into a new file beside it, which then takes its place in one step. Says so on stderr. The
 * caller holds the lock on the folder and has closed the file. -1 with the error filled: the
 * file is as it was.
 */
int convert_store(const char *path, struct error *error);

#endif
