/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for libseccomp where Debian has none to link with, in workers of another machine: such
 * a worker cannot enter the filter, and says so. */
#include <stddef.h>
#include <stdint.h>

void *seccomp_init(uint32_t action);
int seccomp_rule_add_array(void);
int seccomp_rule_add(void);
int seccomp_load(void);
int seccomp_attr_set(void);
void seccomp_release(void);

void *seccomp_init(uint32_t action)
{
    (void)action;
    return NULL;
}
int seccomp_rule_add_array(void)
{
    return -1;
}
int seccomp_rule_add(void)
{
    return -1;
}
int seccomp_load(void)
{
    return -1;
}
int seccomp_attr_set(void)
{
    return -1;
}
void seccomp_release(void)
{
}
