/* SPDX-License-Identifier: MIT */
/* Starts the daemon of a mount, so that it belongs to the machine: as a unit of systemd where that runs, else directly,
 * out of the control groups of who asked. If the kernel is to serve, that process makes the mount and ends. */
#pragma once
#include "attach/instance.h"
#include "attach/key.h"

/* Writes the daemon's command line into the instance's folder. */
must_check int launch_prepare(const struct instance *instance, const struct key *key, struct error *err);
/* Whether the daemon of an instance is one of this volume. */
bool launch_is_of(const struct instance *instance, const char *volume);
/* Starts the daemon for an instance that has none. Returns when it serves, or has failed: its own words are the
 * reason. starting: the lock of instance_begin(). */
must_check int launch_start(const struct instance *instance, const struct key *key, int starting, struct error *err);
/* Becomes the daemon of an instance, for its unit: name as in instance_unit(). Returns only if that fails. */
must_check int launch_become(const char *name, struct error *err);
