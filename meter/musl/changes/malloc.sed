# SPDX-License-Identifier: Apache-2.0
# A group within another group's slot finds there what the slot held before. malloc() looks at a byte in
# front of each new slot to choose an offset: it is zero, as in fresh memory, and not, for instance, a
# byte of an address.
s/for (int i=0; i<=cnt; i++)/for (int i=0; i<cnt; i++)/
s/p\[UNIT+i\*size-4\] = 0;/*(uint16_t *)(p+UNIT+i*size-4) = 0;/
/(p+UNIT+i\*size-4) = 0;/a\
		p[UNIT+cnt*size-4] = 0;

# The original looks for its secret among what the kernel says of itself, and some kernels say more.
s/#include "meta.h"/#include <sys\/random.h>\
&/
s/ctx\.secret = get_random_secret();/if (__syscall(SYS_getrandom, \&ctx.secret, sizeof ctx.secret, GRND_NONBLOCK) != sizeof ctx.secret)\
			ctx.secret = (uintptr_t)\&ctx.secret;/

# Whether the heap's end can be moved depends on what lies behind it: groups' records come from mmap().
s/ctx\.brk!=-1/0/
