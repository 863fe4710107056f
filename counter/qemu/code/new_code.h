/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_COUNTER_NEW_CODE_H
#define GASPIPE_COUNTER_NEW_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The host's code that QEMU 7.2 has made of a block. The plugin API ends before it
 * is made. But QEMU enters each block into a GTree of GLib's, by where its code is, when all
 * of the code is written and before any thread can find it (tb_gen_code() in
 * accel/tcg/translate-all.c: tcg_tb_insert() before tb_link_page()). The counter
 * sees that call.
 */

/* May write to the code. */
typedef void new_code_function(uint8_t *code, size_t size);

/*
 * Calls the function for each block from now on, on the thread that translates it,
 * which holds QEMU's lock for it. Where this is not QEMU 7.2, or it writes its code elsewhere
 * than it executes it, the function is not called.
 */
void new_code_watch(new_code_function *function);

#endif
