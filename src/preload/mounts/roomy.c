/* SPDX-License-Identifier: MIT */
/* Maps a stack for the call, which is for rare work: opening a data set. */
#include "preload/mounts/roomy.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#define ROOMY_STACK (256u << 10)

struct roomy {
	void (*function)(void *argument);
	void *argument;
	ucontext_t here, there;
	_Alignas(16) char stack[ROOMY_STACK];
};

static void roomy_begin(unsigned high, unsigned low)
{
	const struct roomy *roomy = (const struct roomy *)((uintptr_t)high << 32 | low);

	roomy->function(roomy->argument);
}

/* Blocks signals by which garbage collectors stop threads to scan their stacks, which this one is not, and others that
 * end a program while it waits for a daemon. */
static void roomy_block(sigset_t *ret_former)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGPWR);
	sigaddset(&signals, SIGXCPU);
	for (int signal = SIGRTMIN; signal <= SIGRTMAX; signal++)
		sigaddset(&signals, signal);
	pthread_sigmask(SIG_BLOCK, &signals, ret_former);
}

bool roomy_call(void (*function)(void *argument), void *argument)
{
	struct roomy *roomy = mmap(NULL, sizeof(*roomy), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t signals;
	bool is_called;

	if (roomy == MAP_FAILED)
		return false;
	roomy->function = function;
	roomy->argument = argument;
	roomy_block(&signals);
	getcontext(&roomy->there);
	roomy->there.uc_stack = (stack_t){ .ss_sp = roomy->stack, .ss_size = ROOMY_STACK };
	roomy->there.uc_link = &roomy->here;
	makecontext(&roomy->there, (void (*)(void))roomy_begin, 2, (unsigned)((uintptr_t)roomy >> 32),
		    (unsigned)(uintptr_t)roomy);
	is_called = swapcontext(&roomy->here, &roomy->there) == 0;
	pthread_sigmask(SIG_SETMASK, &signals, NULL); /* on the thread's own stack again */
	munmap(roomy, sizeof(*roomy));
	return is_called;
}
