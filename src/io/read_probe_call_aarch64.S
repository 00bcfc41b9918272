/* SPDX-License-Identifier: MIT */
/* knock_call() of AArch64. */
	.text
	.globl knock_call
	.hidden knock_call
	.type knock_call, %function
	.p2align 2
knock_call:
	.cfi_startproc
	hint #34 /* bti c */
	mov x8, x0
	mov x0, x1
	mov x1, x2
	mov x2, x3
	mov x3, x4
	svc #0
	ret
	.cfi_endproc
	.size knock_call, . - knock_call
	.section .note.GNU-stack, "", %progbits
