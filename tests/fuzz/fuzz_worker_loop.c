/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what a worker is sent, with an engine that does nothing: it ends by itself
 * with a status that the supervisor knows, and what it has sent until then are frames.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "proto/netstring.h"
#include "tests/engine_echo.h"
#include "tests/fuzz/fuzz.h"
#include "worker/loop.h"

enum { CAP = 4096 };

/* Only frames, and nothing after the last one. */
static void check_frames(const char *bytes, size_t length)
{
    struct netstring_decoder decoder;
    struct error error;

    netstring_decoder_init(&decoder, SIZE_MAX / 16);
    while (length > 0) {
        struct iovec frame;
        size_t used;

        check(netstring_decode(&decoder, bytes, length, &used, &frame, &error) == NETSTRING_FRAME);
        check(frame.iov_len > 0);
        check(*(char *)frame.iov_base == COMMAND_DONE ||
              *(char *)frame.iov_base == COMMAND_FAILED ||
              *(char *)frame.iov_base == COMMAND_REQUEST);
        bytes += used;
        length -= used;
    }
    netstring_decoder_free(&decoder);
}

static void check_output(int out)
{
    off_t length = lseek(out, 0, SEEK_END);
    char *bytes;

    check(length >= 0);
    if (length == 0)
        return;
    bytes = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, out, 0);
    check(bytes != MAP_FAILED);
    check_frames(bytes, (size_t)length);
    munmap(bytes, (size_t)length);
}

/* Discards the worker's messages about bad frames. */
static int run_silently(const struct loop_options *options)
{
    int words = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int status;

    check(words >= 0 && nowhere >= 0 && dup2(nowhere, STDERR_FILENO) == STDERR_FILENO);
    status = loop_run(options);
    check(dup2(words, STDERR_FILENO) == STDERR_FILENO);
    close(nowhere);
    close(words);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct loop_options options = {.frame_cap = CAP, .ops = &engine_echo};
    int status;

    options.in = memfd_create("in", MFD_CLOEXEC);
    options.out = memfd_create("out", MFD_CLOEXEC);
    check(options.in >= 0 && options.out >= 0);
    check(io_write_all(options.in, data, size) == 0 && lseek(options.in, 0, SEEK_SET) == 0);
    status = run_silently(&options);
    check(status == WORKER_EXIT_OK || status == WORKER_EXIT_IO || status == WORKER_EXIT_EXCEPTION ||
          status == WORKER_EXIT_COMPUTATION || status == WORKER_EXIT_CUT_FRAME ||
          status == WORKER_EXIT_BAD_FRAME);
    check_output(options.out);
    close(options.in);
    close(options.out);
    return 0;
}
