// SPDX-License-Identifier: Apache-2.0
// long __syscallN(long number, long argument...): what the kernel returns.
.text
.irp count, 0, 1, 2, 3, 4, 5, 6
.global __syscall\count
.type __syscall\count, %function
__syscall\count:
.endr
	mov x8, x0
	mov x0, x1
	mov x1, x2
	mov x2, x3
	mov x3, x4
	mov x4, x5
	mov x5, x6
	svc 0
	ret
.section .note.GNU-stack, "", %progbits
