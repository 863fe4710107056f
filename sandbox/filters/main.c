/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: compile-filters start|tight
 * Compiles the rules of a filter to the program that the kernel runs, and prints it as the inside
 * of an array of struct sock_filter. It runs when gaspipe is built: libseccomp takes more than a
 * millisecond, which each worker's start would pay.
 */
#include <linux/filter.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/filters/rules.h"

static int give_up(const char *what, int result)
{
    fprintf(stderr, "compile-filters: %s: %s\n", what, strerror(-result));
    return EXIT_FAILURE;
}

static int print_program(FILE *program)
{
    struct sock_filter line;

    rewind(program);
    while (fread(&line, sizeof line, 1, program) == 1)
        printf("{0x%x, %u, %u, 0x%x},\n", line.code, line.jt, line.jf, line.k);
    return ferror(program) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int compile(scmp_filter_ctx filter, bool tight, FILE *program)
{
    int result = tight ? rules_tight(filter) : rules_start(filter);

    if (result != 0)
        return give_up("the rules", result);
    /* A binary tree by the calls' numbers. */
    result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (result == 0)
        result = seccomp_export_bpf(filter, fileno(program));
    if (result != 0)
        return give_up("the program", result);
    return print_program(program);
}

int main(int argc, char **argv)
{
    const bool tight = argc == 2 && strcmp(argv[1], "tight") == 0;
    scmp_filter_ctx filter;
    FILE *program;
    int result = EXIT_FAILURE;

    if (argc != 2 || (!tight && strcmp(argv[1], "start") != 0)) {
        fputs("usage: compile-filters start|tight\n", stderr);
        return EXIT_FAILURE;
    }
    filter = seccomp_init(tight ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ALLOW);
    program = tmpfile();
    if (filter == NULL || program == NULL)
        fputs("compile-filters: no memory, or no temporary file\n", stderr);
    else
        result = compile(filter, tight, program);
    if (program != NULL)
        fclose(program);
    seccomp_release(filter);
    return result;
}
