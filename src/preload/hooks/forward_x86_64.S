/* SPDX-License-Identifier: MIT */
/* Entries of the functions in forwarded.h. Each keeps the registers that arguments come in, asks
 * forward_prepare() where to go, and goes there as if it were called itself: so vfork(2) may return twice, and
 * nothing needs a prototype. */
#define FORWARD(name, kind, numbers, paths) \
	.globl name; .type name, @function; .p2align 4; name: .cfi_startproc; endbr64; \
	lea forwarded_##name(%rip), %r11; jmp forward_call; .cfi_endproc; .size name, . - name;

	.text
#include "preload/hooks/forwarded.h"

	.type forward_call, @function
	.p2align 4
forward_call:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	sub $208, %rsp /* struct forward_call, %rax, and %xmm0 to %xmm7 from 80 on */
	mov %rdi, 0(%rsp)
	mov %rsi, 8(%rsp)
	mov %rdx, 16(%rsp)
	mov %rcx, 24(%rsp)
	mov %r8, 32(%rsp)
	mov %r9, 40(%rsp)
	mov %rax, 72(%rsp) /* how many vector registers a variadic function gets */
	mov 16(%rbp), %rax /* the seventh argument, if there is one */
	mov %rax, 48(%rsp)
	mov 8(%rbp), %rax
	mov %rax, 64(%rsp)
	movaps %xmm0, 80(%rsp)
	movaps %xmm1, 96(%rsp)
	movaps %xmm2, 112(%rsp)
	movaps %xmm3, 128(%rsp)
	movaps %xmm4, 144(%rsp)
	movaps %xmm5, 160(%rsp)
	movaps %xmm6, 176(%rsp)
	movaps %xmm7, 192(%rsp)
	mov %r11, %rdi
	mov %rsp, %rsi
	call forward_prepare
	mov %rax, %r11
	mov 0(%rsp), %rdi
	mov 8(%rsp), %rsi
	mov 16(%rsp), %rdx
	mov 24(%rsp), %rcx
	mov 32(%rsp), %r8
	mov 40(%rsp), %r9
	mov 72(%rsp), %rax
	movaps 80(%rsp), %xmm0
	movaps 96(%rsp), %xmm1
	movaps 112(%rsp), %xmm2
	movaps 128(%rsp), %xmm3
	movaps 144(%rsp), %xmm4
	movaps 160(%rsp), %xmm5
	movaps 176(%rsp), %xmm6
	movaps 192(%rsp), %xmm7
	leave
	.cfi_def_cfa %rsp, 8
	jmp *%r11
	.cfi_endproc
	.size forward_call, . - forward_call

	.section .note.GNU-stack, "", @progbits
