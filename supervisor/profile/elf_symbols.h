/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_PROFILE_ELF_SYMBOLS_H
#define GASPIPE_SUPERVISOR_PROFILE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Finds functions and lines of an ELF file by offsets in the file. Uses separate debug information
 * (Debian's -dbgsym packages in /usr/lib/debug, debuginfod) if libdw finds it.
 */
struct elf_symbols;

/* NULL when the file cannot be read or is no ELF file. */
struct elf_symbols *elf_symbols_open(const char *path);

struct elf_function {
    const char *name; /* borrowed from the symbols */
    uint64_t address; /* of its first byte, for elf_symbols_source() */
    uint64_t within;  /* distance of the byte that was looked up */
};

/*
 * The function that holds the byte at that offset of the file. One without a symbol is named by its
 * address, "0x1150", as addr2line(1) takes it: of its first byte if the file has unwind
 * information, else of the byte. False: no code is there. Fastest in order of offsets.
 */
bool elf_symbols_find(struct elf_symbols *symbols, uint64_t offset, struct elf_function *function);

/* The source file and line where the function begins, borrowed. NULL: no debug information. */
const char *elf_symbols_source(const struct elf_symbols *symbols,
                               const struct elf_function *function, int *line);

/* The function that begins at this address, as the file has it; its name is not looked up. */
struct elf_function elf_symbols_at(const struct elf_symbols *symbols, uint64_t address);

enum { ELF_INLINED_MAX = 64 };

struct elf_description {
    const char *source; /* the file in which it is defined, borrowed; NULL: not known */
    int line;           /* of its name there */
    char *inlined; /* functions that were inlined into it, whose cost is in its own: each once, at
                    * most ELF_INLINED_MAX, '\n' between; owned; NULL: none */
};

/* The function's debug information. */
struct elf_description elf_symbols_describe(const struct elf_symbols *symbols,
                                            const struct elf_function *function);

/* The source line of the instruction at that offset of the file. */
struct elf_line {
    const char *source;  /* borrowed, the same for the same; NULL: not known */
    int line;            /* of that; 0: not known */
    const char *inlined; /* the innermost function that was inlined there, likewise; NULL: none */
};
struct elf_line elf_symbols_line(struct elf_symbols *symbols, uint64_t offset);

/* The file's bytes from that offset, borrowed; *available: how many. NULL: beyond its end. */
const uint8_t *elf_symbols_bytes(const struct elf_symbols *symbols, uint64_t offset,
                                 size_t *available);

/* The file's build-id in hexadecimal, 40 digits at most; "" where it has none. */
void elf_symbols_build_id(const struct elf_symbols *symbols, char text[41]);

/* NULL may be closed. */
void elf_symbols_close(struct elf_symbols *symbols);

#endif
