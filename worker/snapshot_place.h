/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_SNAPSHOT_PLACE_H
#define GASPIPE_WORKER_SNAPSHOT_PLACE_H

#include <stdio.h>

/*
 * Where a snapshot is: a path, or "@N" for descriptor N, behind which ":WORDS" may stand for
 * the reader's eyes. Opened with the one or the other mode of fopen(3); the descriptor stays
 * open when the file is closed. NULL with errno.
 */
FILE *snapshot_place_open(const char *place, const char *mode_of_path,
                          const char *mode_of_descriptor);

#endif
