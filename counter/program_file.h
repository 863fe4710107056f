/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_PROGRAM_FILE_H
#define GASPIPE_COUNTER_PROGRAM_FILE_H

#include <stddef.h>

/* Finds the ELF file that execve(2) would run for a path, since QEMU runs only ELF files. That is
 * the file itself or the interpreter that a script's first line names, which may be a script as
 * well. */

/* Linux's limits: bytes of a script's first line that it reads, and scripts of scripts. */
#define PROGRAM_FILE_LINE    256
#define PROGRAM_FILE_SCRIPTS 5

struct program_file {
    int fd; /* of the ELF file, close-on-exec; the caller closes it */
    /* For a script, the arguments that replace argv[0]: the interpreter, the argument in its first
     * line, and so on. The script's path follows them. */
    size_t words; /* 0: not a script */
    char word[2 * PROGRAM_FILE_SCRIPTS][PROGRAM_FILE_LINE];
};

/* Returns 0 or an errno. ENOENT etc.: the path cannot be opened. EACCES: it is not executable and
 * readable. ENOEXEC: neither an x86-64 ELF program nor a script for one. ELOOP: too many scripts of
 * scripts. */
int program_file_open(const char *path, struct program_file *file);

#endif
