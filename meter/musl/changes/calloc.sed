# SPDX-License-Identifier: Apache-2.0
# All of the memory is cleared. The original skips pages that are zero, and a page that free() gave back
# becomes zero when the system likes.
/n = mal0_clear(p, n);/d
