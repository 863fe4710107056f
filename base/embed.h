/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_EMBED_H
#define GASPIPE_BASE_EMBED_H

/*
 * EMBED(name, path): the bytes of a file, in the program, from name_begin up to name_end, and a 0
 * after them. The path is relative to the project's directory. Hidden, since binutils gives all
 * such labels of an object one place in the global offset table of aarch64.
 */
#define EMBED(name, path)                                                                          \
    __asm__(".pushsection .rodata\n" #name "_begin:\n"                                             \
            ".incbin \"" path "\"\n" #name "_end:\n"                                               \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char name##_begin[] __attribute__((visibility("hidden")));                        \
    extern const char name##_end[] __attribute__((visibility("hidden")))

#endif
