/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_RUN_VAT_OPTIONS_H
#define GASPIPE_SUPERVISOR_RUN_VAT_OPTIONS_H

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/option/option.h"

/* `--vat-options NAME=JSON`: what SwingSet's configuration says about a vat next to its source,
 * {"parameters":VALUE,"creationOptions":{"reapInterval":3}}. */

struct vat_options {
    struct buf parameters; /* smallcaps, without the '#'; empty: none */
    json_t *creation;      /* NULL: none */
};

/* Reads the options of the vat `name` from the list. ERROR_INPUT says what the JSON should be. */
int vat_options_read(struct vat_options *options, const struct option_list *list, const char *name,
                     struct error *error);

/* The same from one JSON object. */
int vat_options_take(struct vat_options *options, json_t *object, struct error *error);
void vat_options_free(struct vat_options *options);

#endif
