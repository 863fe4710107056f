/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_STATUS_STATUS_OUTPUT_H
#define GASPIPE_SUPERVISOR_STATUS_STATUS_OUTPUT_H

#include <stdbool.h>

#include "base/error.h"
#include "supervisor/status/status_facts.h"

/* Prints them to stdout, in columns or as JSON lines: one for each vat, then one of the store. */
int status_output(const struct status_facts *facts, const char *folder, bool json,
                  struct error *error);

#endif
