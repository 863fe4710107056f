/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/vats/rules/vat_reason.h"

#include <stdarg.h>
#include <stdio.h>

void __attribute__((format(printf, 3, 4)))
vat_reason_set(struct vat_reason *reason, enum error_kind blame, const char *format, ...)
{
    va_list args;

    if (reason->text[0] != '\0')
        return;
    reason->blame = blame;
    va_start(args, format);
    vsnprintf(reason->text, sizeof reason->text, format, args);
    va_end(args);
}
