/* SPDX-License-Identifier: MIT */
/* As forward_x86_64.S. */
#define FORWARD(name, kind, numbers, paths) \
	.globl name; .type name, %function; .p2align 4; name: .cfi_startproc; hint 34; \
	adrp x16, forwarded_##name; add x16, x16, :lo12:forwarded_##name; b forward_call; .cfi_endproc; \
	.size name, . - name;

	.text
#include "preload/hooks/forwarded.h"

	.type forward_call, %function
	.p2align 4
forward_call:
	.cfi_startproc
	stp x29, x30, [sp, #-224]!
	.cfi_def_cfa_offset 224
	.cfi_offset x29, -224
	.cfi_offset x30, -216
	mov x29, sp
	stp x0, x1, [sp, #16] /* struct forward_call */
	stp x2, x3, [sp, #32]
	stp x4, x5, [sp, #48]
	stp x6, x7, [sp, #64]
	stp x30, x8, [sp, #80]
	stp q0, q1, [sp, #96]
	stp q2, q3, [sp, #128]
	stp q4, q5, [sp, #160]
	stp q6, q7, [sp, #192]
	mov x0, x16
	add x1, sp, #16
	bl forward_prepare
	mov x16, x0
	ldp x0, x1, [sp, #16]
	ldp x2, x3, [sp, #32]
	ldp x4, x5, [sp, #48]
	ldp x6, x7, [sp, #64]
	ldr x8, [sp, #88]
	ldp q0, q1, [sp, #96]
	ldp q2, q3, [sp, #128]
	ldp q4, q5, [sp, #160]
	ldp q6, q7, [sp, #192]
	ldp x29, x30, [sp], #224
	.cfi_restore x30
	.cfi_restore x29
	.cfi_def_cfa_offset 0
	br x16
	.cfi_endproc
	.size forward_call, . - forward_call

	.section .note.GNU-stack, "", %progbits
