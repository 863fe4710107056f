/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_GAS_GAS_MODEL_JSON_H
#define GASPIPE_GAS_GAS_MODEL_JSON_H

#include <jansson.h>

#include "gas/gas_model.h"

/* As gas_model_read(), of an object that was read already; `path` is for errors. */
int gas_model_take(struct gas_model *model, const json_t *object, const char *path,
                   struct error *error);

#endif
