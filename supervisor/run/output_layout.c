/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/output_layout.h"

enum {
    VAT_WIDTH = 10,
    METHOD_WIDTH = 20,
    METHOD_LEAST = 8,
    RESULT_WIDTH = 70,
    RESULT_LEAST = 20,
    RESULT_INDENT = 8,
    PLAIN_WIDTH = 66, /* the crank up to "total ms", but for the method */
    PARTS_WIDTH = 36, /* pipe, worker, kernel */
    ENDING = 5,       /* of a result that is cut: the blanks before it, and "..." */
};

static size_t at_most(size_t number, size_t most)
{
    return number < most ? number : most;
}

struct output_layout output_layout(size_t width, size_t more)
{
    struct output_layout layout = {
        .vat_width = VAT_WIDTH,
        .method_width = METHOD_WIDTH,
        .parts = true,
        .result_width = RESULT_WIDTH,
    };
    const size_t plain = PLAIN_WIDTH + more;
    size_t used;

    if (width == 0)
        return layout;
    layout.cuts = true;
    layout.parts = width >= plain + METHOD_WIDTH + PARTS_WIDTH;
    if (width < plain + METHOD_WIDTH)
        layout.method_width =
            width > plain + METHOD_LEAST ? (int)(width - plain) : (int)METHOD_LEAST;
    used = plain + (size_t)layout.method_width + (layout.parts ? PARTS_WIDTH : 0) + ENDING;
    layout.result_below = width < used + RESULT_LEAST;
    if (layout.result_below)
        used = RESULT_INDENT + ENDING;
    layout.result_width =
        at_most(width > used + RESULT_LEAST ? width - used : RESULT_LEAST, RESULT_WIDTH);
    return layout;
}
