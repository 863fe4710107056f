/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_REPLAY_BUNDLE_BUNDLE_CHECK_H
#define GASPIPE_SUPERVISOR_REPLAY_BUNDLE_BUNDLE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json/scan.h"

/*
 * Whether a bundle is whole: JSON with a moduleFormat and, where that is endoZipBase64, an
 * archive whose compartment-map.json has the SHA-512 that the bundle says, and whose modules
 * have those that the map says. False with why in a few words. What it cannot check (a bundle
 * of another format or without hashes) is taken.
 */
bool bundle_check(struct scan_span bundle, char *why, size_t size);

#endif
