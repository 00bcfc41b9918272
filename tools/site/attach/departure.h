/* SPDX-License-Identifier: MIT */
/* Detaches a process from its job, pod or session, before it becomes a daemon that serves others as well. */
#pragma once
#include "base/error.h"

/* Joins the control groups and namespaces of process 1, but for the mount namespace, which is the caller's business;
 * takes on its resource limits, as far as root may here, all CPUs, normal priority, and no environment but a path for
 * programs. Fails if a control group cannot be left: the daemon would end with the job, or count as its memory. */
must_check int departure_leave(struct error *err);
/* No process can move to a PID namespace further out, and what is in one ends with it. -EINVAL: process 1 is in another
 * one than the caller. */
must_check int departure_check(struct error *err);
