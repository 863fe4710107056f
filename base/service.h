/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_BASE_SERVICE_H
#define GASPIPE_BASE_SERVICE_H

#include <stdint.h>

/*
 * A service reports its state to systemd in datagrams to the socket $NOTIFY_SOCKET (sd_notify(3)).
 * Without that variable these do nothing. A datagram that cannot be sent is dropped; systemd then
 * restarts the service.
 */

/* Startup is over. */
void service_ready(void);

/* Milliseconds after which service_alive() is due again: a third of what the unit's WatchdogSec=
 * allows. 0: the unit has no watchdog. */
int service_watchdog_ms(void);

/* The service still works. Sends at most one datagram in service_watchdog_ms(), so call it as often
 * as you like. */
void service_alive(void);

#endif
