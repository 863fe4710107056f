/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_BIND_H
#define GASPIPE_WORKER_NATIVE_BIND_H

#include <libelf.h>

#include "worker/native/image.h"

/*
 * Relocates an image whose bytes are in its place, binds what it calls, and finds what it
 * defines: call, init, is_metered. -1 with ERROR_INPUT: something is missing, or of a kind that
 * contracts have not.
 */
int native_bind(struct native_image *image, Elf *elf, const struct native_meter *meter,
                struct error *error);

#endif
