# SPDX-License-Identifier: Apache-2.0
# Whether a slot has whole pages to give back depends on its size, not on its address.
s/((uintptr_t)(start-1) ^ (uintptr_t)end) >= 2\*PGSZ/(size_t)(end - start) >= 2*PGSZ/
