/* SPDX-License-Identifier: Apache-2.0 */
/* counter_regions loads this while it is counted. */
unsigned long counter_object_answer(unsigned long number);

unsigned long counter_object_answer(unsigned long number)
{
    return number + 2;
}
