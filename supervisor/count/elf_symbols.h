/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_ELF_SYMBOLS_H
#define GASPIPE_SUPERVISOR_ELF_SYMBOLS_H

#include <stdint.h>

/* The functions of an ELF file, by where their code stands in the file. */
struct elf_symbols;

/*
 * Reads .symtab and .dynsym of a 64-bit file. NULL when the file cannot be
 * read, is no such file or is damaged: then it has no names to give.
 */
struct elf_symbols *elf_symbols_open(const char *path);

/* The function that holds the byte at that offset of the file, or NULL; borrowed. */
const char *elf_symbols_find(const struct elf_symbols *symbols, uint64_t offset);

/* NULL may be closed. */
void elf_symbols_close(struct elf_symbols *symbols);

#endif
