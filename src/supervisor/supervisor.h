/* SPDX-License-Identifier: MIT */
/* The process that outlives the server of a mount: it starts one after the other and keeps their descriptors. It knows
 * nothing of volumes, requests and the descriptors that it keeps, never touches the mount, and never waits for another
 * process. */
#pragma once

struct supervisor_setup {
	char **argv; /* of the servers, which run this program again */
	void (*ready)(void *argument); /* called once, when the first server serves; may be NULL */
	void *argument;
	int patience; /* ms after which a server that says nothing is killed; 0: SUPERVISOR_PATIENCE */
};

#define SUPERVISOR_PATIENCE 30000

/* Runs servers until the mount has ended, and returns the exit status of the program. The process must have one thread
 * and no children. Drops root's privileges (base/program/privileges.h) before it starts a server. */
int supervisor_run(const struct supervisor_setup *setup);
