/* SPDX-License-Identifier: MIT */
/* read_probe_call() of AArch64. */
	.text
	.globl read_probe_call
	.hidden read_probe_call
	.type read_probe_call, %function
	.p2align 2
read_probe_call:
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
	.size read_probe_call, . - read_probe_call
	.section .note.GNU-stack, "", %progbits
