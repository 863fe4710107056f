/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/native/locals.h"

static uint8_t *locals;

void native_locals_set(uint8_t *start)
{
    locals = start;
}

void *native_locals_address(const struct native_local_index *index)
{
    return locals + index->offset;
}
