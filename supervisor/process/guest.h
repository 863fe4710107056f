/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROCESS_GUEST_H
#define GASPIPE_SUPERVISOR_PROCESS_GUEST_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/*
 * How a program is started under QEMU with the counter, so that what is
 * counted does not depend on the host (docs/counting.md says why each of these
 * is pinned). This module finds the two files that are needed and builds the
 * command line; starting the process is the caller's.
 */

/*
 * The program's file must be open in the new process as this descriptor, and
 * stay so: QEMU gets it by that name, because a program's path lies on its
 * stack and a longer one would shift everything below it.
 */
#define GUEST_PROGRAM_FD 5

/* Where QEMU and the counter are. */
struct guest_tools {
    char qemu[PATH_MAX];
    char plugin[PATH_MAX];
    bool later; /* QEMU is of version 9.0 or later */
};

/*
 * Finds qemu-x86_64 along PATH and libgascount.so beside the running program
 * or in ../lib/gaspipe from there. Refuses a QEMU that takes no plugins.
 * 0, or -1 with ERROR_SYSTEM and what to install.
 */
int guest_find_tools(struct guest_tools *tools, struct error *error);

/*
 * Has Linux lay out the processes that this one starts from now on in the
 * usual way, whatever setarch(1) and ulimit(1) say here; under a later QEMU not at random,
 * since that puts a program elsewhere where it is in the way itself. 0, or -1 with ERROR_SYSTEM.
 */
int guest_pin_layout(const struct guest_tools *tools, struct error *error);

/* What is to run. Everything is borrowed. */
struct guest_program {
    const char *const *arguments;   /* argv of the program, argv[0] too; ends with NULL */
    const char *const *environment; /* all of it, NAME=VALUE; NULL for guest_environment() */
    const char *plugin_options;     /* "name=value,name=value" for libgascount.so, or NULL */
};

/* For execve(2): path, argv and envp. argv and its strings are owned. */
struct guest_command {
    const char *path; /* tools->qemu, borrowed */
    char **arguments; /* ends with NULL */
    size_t argument_count;
    const char *const *environment; /* borrowed, ends with NULL */
};

/* The environment that a program gets unless it is told otherwise; ends with NULL. */
const char *const *guest_environment(void);

/* 0, or -1 with ERROR_SYSTEM when memory ran out. */
int guest_command_build(struct guest_command *command, const struct guest_tools *tools,
                        const struct guest_program *program, struct error *error);

/* A command that is all zeros may be freed. */
void guest_command_free(struct guest_command *command);

/*
 * The file that a command's name stands for: the name itself where it has a
 * slash, else the first executable of that name along PATH. 0, or -1 with
 * ERROR_INPUT.
 */
int guest_find_program(const char *name, char path[PATH_MAX], struct error *error);

/*
 * Opens the program for the descriptor GUEST_PROGRAM_FD, close-on-exec here.
 * Refuses what QEMU cannot load: anything but an x86-64 ELF file with the
 * right to execute it. The descriptor, or -1 with ERROR_INPUT.
 */
int guest_open_program(const char *path, struct error *error);

/*
 * Finds a file that was built or installed with the running program: beside it,
 * or in ../lib/gaspipe from there. 0, or -1 with ERROR_SYSTEM.
 */
int locate(const char *name, char path[PATH_MAX], struct error *error);

/* The same of data: beside the program, or in ../share/gaspipe. */
int locate_data(const char *name, char path[PATH_MAX], struct error *error);

/* The arguments of a process that is to be started, word by word. All zeros is the beginning. */
struct command_line {
    char **words; /* owned, and so is each; ends with NULL once there is one */
    size_t count, capacity;
    bool failed; /* memory ran out while a word was added */
};

void command_line_add(struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Once all are there: -1 with ERROR_SYSTEM if memory ran out. */
int command_line_check(const struct command_line *line, struct error *error);

void command_line_free(struct command_line *line);

/*
 * The environment of a process that is to be traced: the agent is preloaded, before what is
 * preloaded already, and finds this descriptor. Without `agent` (NULL) somebody else preloads it.
 * A list of strings that ends with NULL, in one piece of memory to be freed; NULL without memory.
 */
char **agent_environment(const char *agent, int fd, char *const *environment);

#endif
