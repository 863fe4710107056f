/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that are worth vectors. */
void scale(int *restrict to, const int *restrict from, long count);
int sum(const int *numbers, long count);

void scale(int *restrict to, const int *restrict from, long count)
{
    for (long i = 0; i < count; i++)
        to[i] = from[i] * 3 + 1;
}

int sum(const int *numbers, long count)
{
    int total = 0;

    for (long i = 0; i < count; i++)
        total += numbers[i];
    return total;
}
