/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the shared object of a contract in native code: it is loaded and bound, or refused
 * with words. None of its code runs, which may do anything. What it is made of lies within its
 * memory, and its variables can be made new.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "worker/native/image.h"

static bool is_inside(const struct native_image *image, const void *at, size_t size)
{
    const uintptr_t offset = (uintptr_t)at - (uintptr_t)image->start;

    return offset <= image->size && size <= image->size - offset;
}

static void check_image(const struct native_image *image)
{
    check(image->segment_count > 0 && image->segment_count <= NATIVE_SEGMENTS);
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct native_segment *segment = &image->segments[i];

        check(is_inside(image, segment->start, segment->size));
        check(segment->file_size <= segment->size);
        check(i == 0 || segment->start >= segment[-1].start + segment[-1].size);
    }
    check(is_inside(image, image->locals, image->local_size));
    check(is_inside(image, image->constructors != NULL ? (void *)image->constructors : image->start,
                    image->constructor_count * sizeof *image->constructors));
    check(is_inside(image, (const void *)(uintptr_t)image->call, 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct native_image image = {0};
    struct error error = {0};

    if (native_image_load(&image, data, size, NULL, &error) != 0) {
        check(error.text[0] != '\0' && image.start == NULL);
        return 0;
    }
    check_image(&image);
    native_image_reset(&image);
    native_image_unload(&image);
    return 0;
}
