/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_SUPERVISOR_NATS_NATS_ADDRESS_H
#define GASPIPE_SUPERVISOR_NATS_NATS_ADDRESS_H

#include "base/error.h"

enum { NATS_URL_SIZE = 4096, NATS_STREAM_SIZE = 256 };

/* A stream and its servers. */
struct nats_address {
    char url[NATS_URL_SIZE]; /* several with commas between them */
    char stream[NATS_STREAM_SIZE];
};

/*
 * Reads nats://HOST[:PORT][,nats://HOST...]/STREAM; tls:// is a scheme as well. ERROR_USAGE for
 * anything else; the message does not repeat the text, which may have a password in it.
 */
int nats_address_parse(struct nats_address *address, const char *text, struct error *error);

#endif
