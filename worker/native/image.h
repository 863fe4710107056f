/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_IMAGE_H
#define GASPIPE_WORKER_NATIVE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/native/meter.h"

/*
 * A contract's shared object in memory. It is loaded here and not by dlopen(3), which wants a file,
 * puts it at random, runs its constructors before the sandbox has closed, binds it to whatever the
 * worker itself uses, and has no way to make its variables new.
 */
enum { NATIVE_SEGMENTS = 16, NATIVE_IMAGE_MOST = 64 << 20 };

struct native_segment {
    uint8_t *start;   /* of its first page */
    size_t size;      /* bytes of its pages */
    size_t file_size; /* of these, from the first page on, what is not zero from the beginning */
    size_t offset;    /* of its bytes in the file, */
    size_t before;    /* which begin so many bytes into the first page */
    int protection;   /* PROT_* */
    uint8_t *kept;    /* file_size bytes as they were loaded, of one that is written to; owned */
};

struct native_image {
    uint8_t *start; /* of its place in memory; NULL: nothing is loaded */
    size_t size;
    uint8_t *base; /* where its address 0 is */
    struct native_segment segments[NATIVE_SEGMENTS];
    size_t segment_count;
    uint8_t *locals; /* its thread-local variables, and what they are at first */
    size_t local_size, local_file_size;
    const uint8_t *local_file;
    void (**constructors)(void);
    size_t constructor_count;
    void (*call)(const char *method, const void *input, size_t length); /* gascontract_call() */
    void (*init)(void); /* gascontract_init(); NULL: there is none */
    bool is_metered;    /* compiled by gaspipe-cc */
};

/*
 * Loads the bytes of a shared object, into an image that is all zeros, and binds it to what
 * native_symbol_find() and the meter have; `meter` is NULL in a worker without. -1 with ERROR_INPUT
 * for what is no contract, in words that begin behind the file's name, or with ERROR_SYSTEM. Memory
 * that can be executed is taken here and never later. One image at a time.
 */
int native_image_load(struct native_image *image, const uint8_t *bytes, size_t length,
                      const struct native_meter *meter, struct error *error);

/* All variables are what they were when it was loaded. */
void native_image_reset(struct native_image *image);

/* Calls the constructors, as the dynamic linker would. */
void native_image_construct(const struct native_image *image);

void native_image_unload(struct native_image *image);

#endif
