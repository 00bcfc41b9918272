/* SPDX-License-Identifier: MIT */
/* read_probe_call() of x86-64. */
	.text
	.globl read_probe_call
	.hidden read_probe_call
	.type read_probe_call, @function
	.p2align 4
read_probe_call:
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
	.size read_probe_call, . - read_probe_call
	.section .note.GNU-stack, "", @progbits
