/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GASPIPE_WORKER_NATIVE_IMAGE_H
#define GASPIPE_WORKER_NATIVE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/native/meter.h"

/*
 * A contract's shared object in memory. dlopen(3) does not serve: it needs a file, chooses a
 * random address, runs constructors before the sandbox has closed, binds symbols to whatever
 * the worker uses, and cannot reset the object's variables.
 */
enum { NATIVE_SEGMENTS = 16, NATIVE_IMAGE_MOST = 64 << 20 };

struct native_segment {
    uint8_t *start;   /* of its first page */
    size_t size;      /* bytes of its pages */
    size_t file_size; /* the bytes of its pages that the file sets */
    size_t offset;    /* of its bytes in the file, */
    size_t before;    /* which begin so many bytes into the first page */
    int protection;   /* PROT_* */
    uint8_t *kept;    /* a copy of these bytes as loaded, if the segment is writable; owned */
};

struct native_image {
    uint8_t *start; /* the image's address; NULL: not loaded */
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
    void (*init)(void); /* gascontract_init(); NULL if absent */
    bool is_metered;    /* compiled by gaspipe-cc */
};

/*
 * Loads a shared object into an image that is all zeros. Binds it to native_symbol_find()
 * and the meter; `meter` is NULL in a worker without one. -1 with ERROR_INPUT if it is not a
 * contract (the text follows the file's name), or with ERROR_SYSTEM. Executable memory is
 * mapped here and never later. One image at a time.
 */
int native_image_load(struct native_image *image, const uint8_t *bytes, size_t length,
                      const struct native_meter *meter, struct error *error);

/* Restores all variables to their loaded values. */
void native_image_reset(struct native_image *image);

/* Calls the constructors in the dynamic linker's order. */
void native_image_construct(const struct native_image *image);

void native_image_unload(struct native_image *image);

#endif
