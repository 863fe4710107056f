/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_CONVERT_SWINGSET_CONFIG_H
#define GASPIPE_SUPERVISOR_CONVERT_SWINGSET_CONFIG_H

#include <jansson.h>

#include "base/error.h"

/* A SwingSet configuration: reads and checks it, and makes what a run needs from it. */

struct swingset_config {
    const char *path; /* borrowed */
    json_t *root;     /* owned */
    json_t
        *vats; /* owned; all static vats in the order of their creation, with vatAdmin and timer */
    const char *bootstrap; /* the bootstrap vat's name */
};

/* Errors name the file, and what would be right. */
int swingset_config_read(struct swingset_config *config, const char *path, struct error *error);
void swingset_config_free(struct swingset_config *config);

/* The kinds of a bundle's description; one of them is in each vat and bundle. */
enum bundle_mode { BUNDLE_INLINE, BUNDLE_FILE, BUNDLE_SOURCE, BUNDLE_NAMED };

/* Finds the one kind of `description`, which is GROUP.NAME, and its value. */
int swingset_config_mode(const json_t *description, enum bundle_mode *mode, const json_t **value,
                         struct error *error);

/* Options of `gaspipe run` without those of vats and bundles; the caller's, NULL on failure. `argv`
 * is bootstrap's. */
json_t *swingset_config_options(const struct swingset_config *config, json_t *argv,
                                struct error *error);

/* The line that sends bootstrap(vats, devices); the caller's, NULL if out of memory. */
json_t *swingset_config_bootstrap(const struct swingset_config *config);

#endif
