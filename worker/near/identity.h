/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NEAR_IDENTITY_H
#define GASPIPE_WORKER_NEAR_IDENTITY_H

#include <jansson.h>

#include "base/error.h"

/* Who a vat is, as it is told when it starts; a snapshot has it as it is. */
struct near_identity {
    char account[65];  /* its account */
    char accounts[32]; /* the device that knows other vats' accounts; "": there is none */
    char protocol[16]; /* the version whose parameters hold */
};

/* Before it is told. */
extern const struct near_identity near_identity_unknown;

/*
 * Reads vatParameters, capdata of {"account", "protocol", "accounts": device}, each of which may be
 * missing. ERROR_INPUT, or ERROR_USAGE for a version that there are no parameters of.
 */
int near_identity_read(struct near_identity *identity, const json_t *parameters,
                       struct error *error);

/* Takes one out of a snapshot; -1 when it is none. */
int near_identity_take(struct near_identity *identity, const void *bytes);

/* NULL: there is none. */
const char *near_identity_accounts(const struct near_identity *identity);

#endif
