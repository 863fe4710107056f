# SPDX-License-Identifier: Apache-2.0
# long __syscallN(long number, long argument...): what the kernel returns.
.text
.irp count, 0, 1, 2, 3, 4, 5, 6
.global __syscall\count
.type __syscall\count, @function
__syscall\count:
.endr
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsi
	mov %rcx, %rdx
	mov %r8, %r10
	mov %r9, %r8
	mov 8(%rsp), %r9
	syscall
	ret
.section .note.GNU-stack, "", @progbits
