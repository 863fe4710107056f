/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_METER_RUNTIME_HANDLERS_H
#define GASPIPE_METER_RUNTIME_HANDLERS_H

/*
 * Signals. sigaction() and signal() of metered code come here, so that a handler that
 * interrupts a flush takes nothing from it.
 */

/* Signals that kill write the line of GASMETER_OUT first. */
void handlers_report_deaths(void);

#endif
