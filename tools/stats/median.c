/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/stats/median.h"

#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

double median(double *values, size_t count)
{
    qsort(values, count, sizeof values[0], compare_doubles);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
