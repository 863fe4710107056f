/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_AOT_OBJECT_H
#define GASPIPE_AOT_OBJECT_H

#include <llvm-c/Core.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "worker/wasm/compiled/layout.h"

/* Optimizes the module and compiles it to an ELF object file in memory, which LLVM owns. NULL with
 * ERROR_SYSTEM. */
LLVMMemoryBufferRef aot_compile_object(LLVMModuleRef module, struct error *error);

/* Appends to an empty `image` the file that layout.h describes, from the object file's sections;
 * `header` has the module's hash and its number of functions. -1 with ERROR_SYSTEM. */
int aot_link(struct buf *image, const void *object, size_t length,
             const struct compiled_header *header, struct error *error);

#endif
