/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/run/input/delivery_input.h"

void delivery_input_next(struct delivery_input *input)
{
    input->methods->next(input);
}

bool delivery_input_look(struct delivery_input *input, int64_t *number, const char **text,
                         size_t *length)
{
    return input->methods->look(input, number, text, length);
}

void delivery_input_close(struct delivery_input *input)
{
    if (input != NULL)
        input->methods->close(input);
}
