/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/xsnap_compat.h"

#include <stdio.h>
#include <string.h>

enum { STAMPS_MOST = 502 };

const char xsnap_compat_usage[] =
    "xsnap [-h] [-i <interval>] [-l <limit>] [-s <size>] [-m] [-r <snapshot>] [-s] [-v]\n"
    "\t-h: print this help message\n"
    "\t-i <interval>: metering interval (default to 1)\n"
    "\t-l <limit>: metering limit (default to none)\n"
    "\t-s <size>: parser buffer size, in kB (default to 8192)\n"
    "\t-r <snapshot>: read snapshot to create the XS machine\n"
    "\t-v: print XS version\n";

const char xsnap_compat_no_parent_to_read[] = "Got EOF on netstring read. Has parent died?";
const char xsnap_compat_no_parent_to_write[] = "Caught SIGPIPE. Has parent died?";
const char xsnap_compat_bad_answer[] = "Received unexpected command reply.";

bool xsnap_compat_is_name(const char *program)
{
    const char *slash = strrchr(program, '/');

    return strcmp(slash == NULL ? program : slash + 1, "xsnap-worker") == 0;
}

void xsnap_compat_say(const char *words)
{
    fprintf(stderr, "%s\n", words);
}

const char *xsnap_compat_bad_frame(const struct netstring_decoder *decoder)
{
    switch (decoder->state) {
    case NETSTRING_LENGTH:
        return decoder->digits == 0
                   ? "Cannot read netstring, reading length prefix, fscanf"
                   : "Cannot read netstring, invalid delimiter or end of file, fgetc";
    case NETSTRING_PAYLOAD:
        return "Cannot read netstring, cannot allocate message buffer, malloc";
    case NETSTRING_COMMA:
        break;
    }
    return "Cannot read netstring, cannot read trailer, fgetc";
}

/* The frame as a C string: up to its first zero byte. */
void xsnap_compat_unknown_command(const char *frame, size_t length)
{
    fprintf(stderr, "Unexpected prefix '%c' in command '%.*s'\n", length > 0 ? frame[0] : '\0',
            (int)strnlen(frame, length), frame);
}

void xsnap_compat_meter(struct meter *meter)
{
    meter->counted = false;
    meter->cpu_known = false;
    if (meter->stamp_count > STAMPS_MOST)
        meter->stamp_count = STAMPS_MOST;
    /* meter_encode() writes no monotimes for this value. */
    if (meter->stamp_count > 0)
        meter->stamps[meter->stamp_count - 1].mono = 0;
}
