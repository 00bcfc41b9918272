/* SPDX-License-Identifier: MIT */
/* knock_call() of x86-64. */
	.text
	.globl knock_call
	.hidden knock_call
	.type knock_call, @function
	.p2align 4
knock_call:
	.cfi_startproc
	endbr64
	mov %rdi, %rax
	mov %rsi, %rdi
	mov %rdx, %rsi
	mov %rcx, %rdx
	mov %r8, %r10
	syscall
	ret
	.cfi_endproc
	.size knock_call, . - knock_call
	.section .note.GNU-stack, "", @progbits
