/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_PROTO_PLAIN_SYSCALL_H
#define GASPIPE_PROTO_PLAIN_SYSCALL_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/vat_message.h"

/*
 * The syscalls that a vat makes most, those of its store, where they are written as
 * JSON.stringify() writes them and hold nothing but printable ASCII without escapes:
 * ["syscall",["vatstoreSet","key","value"]]. They are read where they stand, without a tree:
 * the syscall's texts point into `json`, and its `text` is a part of it. False: it is
 * something else, which only vat_request_parse()'s other way can judge; *syscall is then as before.
 */
bool plain_syscall_read(struct vat_syscall *syscall, const char *json, size_t length);

#endif
