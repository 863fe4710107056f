/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/paths/places.h"

#include <stddef.h>

const struct sandbox_place sandbox_places[] = {
    {"/lib", SANDBOX_EXECUTE},          {"/lib64", SANDBOX_EXECUTE},
    {"/usr/lib", SANDBOX_EXECUTE},      {"/usr/local/lib", SANDBOX_EXECUTE},
    {"/etc/ld.so.cache", SANDBOX_READ}, {"/proc/self", SANDBOX_READ},
    {"/dev/null", SANDBOX_WRITE},       {NULL, SANDBOX_READ},
};
