/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_KERNEL_SYSCALL_H
#define GASPIPE_KERNEL_SYSCALL_H

#include <jansson.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "kernel/kernel.h"

/*
 * Performs a syscall in two steps: translation into the kernel's references, which checks
 * and changes the vat's c-list, and then its effect. A syscall that breaks a rule fails with
 * ERROR_INPUT in the first step, or in the second for abandonExports.
 */

/* Translates a syscall, except for the vatstore's, which have no references. *ksc is the
 * caller's: ["send",target,message], ["invoke",device,method,capdata], ... */
int syscall_translate(struct kernel *kernel, int64_t vat, const struct vat_syscall *syscall,
                      json_t **ksc, struct error *error);

static inline bool syscall_is_of_store(const struct vat_syscall *syscall)
{
    return syscall->kind <= VAT_SYSCALL_STORE_NEXT_KEY;
}

/* Appends the answer to a vatstore read. An empty text is answered with null, as in SwingSet. */
void syscall_answer_text(struct buf *answer, const struct buf *text, bool found);

/* Appends the answer to a vatstore read. An empty text is answered with null, as in SwingSet. */
extern const char syscall_answer_null[];

#endif
