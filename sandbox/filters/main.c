/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: compile-filters start|zygote|contract|syscall-names|guest-syscall-names
 *
 * Compiles a filter's rules to the program that Linux runs, and prints it as the elements of an
 * array of struct sock_filter. It runs during the build: libseccomp takes more than a millisecond,
 * which each worker's start would pay. `syscall-names` prints the names of this machine's system
 * calls as the elements of an array, and `guest-syscall-names` those of x86-64.
 */
#include <linux/filter.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/filters/rules.h"

static int exit_with_problem(const char *what, int result)
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

static const struct {
    const char *name;
    int (*rules)(scmp_filter_ctx filter);
    uint32_t others; /* for calls without a rule */
} kinds[] = {
    {"start", rules_start, SCMP_ACT_ALLOW},
    {"zygote", rules_zygote, SCMP_ACT_ALLOW},
    {"contract", rules_contract, SCMP_ACT_TRAP},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static int compile(scmp_filter_ctx filter, int kind, FILE *program)
{
    int result = kinds[kind].rules(filter);

    if (result != 0)
        return exit_with_problem("the rules", result);
    /* Otherwise such a call would end only one of QEMU's threads, and the others would wait. */
    result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    /* A binary tree by the calls' numbers. */
    if (result == 0)
        result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (result == 0)
        result = seccomp_export_bpf(filter, fileno(program));
    if (result != 0)
        return exit_with_problem("the program", result);
    return print_program(program);
}

enum { SYSCALL_NUMBERS = 1024 }; /* Linux has fewer than 500 */

static int print_names(uint32_t machine)
{
    for (int number = 0; number < SYSCALL_NUMBERS; number++) {
        char *name = seccomp_syscall_resolve_num_arch(machine, number);

        if (name != NULL)
            printf("[%d] = \"%s\",\n", number, name);
        free(name);
    }
    return ferror(stdout) || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_filter(int kind)
{
    scmp_filter_ctx filter;
    FILE *program = tmpfile();
    int result = EXIT_FAILURE;

    /* Not only actions that Linux has here: an emulator or a container may hide some. */
    (void)seccomp_api_set(3);
    filter = seccomp_init(kinds[kind].others);

    if (filter == NULL || program == NULL)
        fputs("compile-filters: no memory, or no temporary file\n", stderr);
    else
        result = compile(filter, kind, program);
    if (program != NULL)
        fclose(program);
    seccomp_release(filter);
    return result;
}

int main(int argc, char **argv)
{
    int kind = 0;

    if (argc == 2 && strcmp(argv[1], "syscall-names") == 0)
        return print_names(seccomp_arch_native());
    if (argc == 2 && strcmp(argv[1], "guest-syscall-names") == 0)
        return print_names(SCMP_ARCH_X86_64);
    while (argc == 2 && kind < KINDS && strcmp(argv[1], kinds[kind].name) != 0)
        kind++;
    if (argc != 2 || kind == KINDS) {
        fputs("usage: compile-filters start|zygote|contract|syscall-names|guest-syscall-names\n",
              stderr);
        return EXIT_FAILURE;
    }
    return print_filter(kind);
}
