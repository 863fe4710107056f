/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_SYSCALL_H
#define GASPIPE_KERNEL_SYSCALL_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/kernel.h"

/*
 * A syscall in two steps: into the kernel's references, with what it says about
 * the vat's c-list, and then what it does. Whatever the vat may not ask fails in
 * the first step, or in the second of abandonExports, with ERROR_INPUT.
 */

/* ksc, the caller's: ["send",target,message], ["vatstoreGet","vN",key],
 * ["invoke",device,method,capdata], ... */
int syscall_translate(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                      json_t **ksc, struct error *error);

/* *answer is ["ok",RESULT] or ["error",MESSAGE], with krefs, the caller's. */
int syscall_perform(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                    const json_t *ksc, json_t **answer, struct error *error);

/* What a read of the vat's own store is answered with; new, the caller's. Also the empty text is
 * answered with null, as SwingSet does. */
int syscall_answer_text(const struct buf *text, bool found, json_t **answer, struct error *error);

#endif
