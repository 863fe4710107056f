/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_CONTRACT_FILE_H
#define GASPIPE_SUPERVISOR_CONTRACT_FILE_H

#include "base/buf.h"
#include "base/error.h"

/* A contract's source file. */
struct contract_file {
    struct buf bundle; /* JSON, terminated: the bundle that runtime/plain.js takes */
    int lines;         /* of the source */
};

/*
 * Reads the file into a contract that is all zeros. -1 with ERROR_INPUT when it
 * is missing, too long for a frame or not UTF-8. The bundle is the caller's to
 * give back, on failure too.
 */
int contract_file_read(struct contract_file *contract, const char *path, struct error *error);

#endif
