/* SPDX-License-Identifier: Apache-2.0 */
/* What counter_regions loads while it is counted. */
unsigned long counter_object_answer(unsigned long number);

unsigned long counter_object_answer(unsigned long number)
{
    return number + 2;
}
