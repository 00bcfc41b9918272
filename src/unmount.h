/* SPDX-License-Identifier: MIT */
/* umount.datasetfs: unmounts, and waits until the daemon has closed the volume. */
#pragma once

/* Runs the program. Returns the exit status, which has the meaning of umount(8)'s. */
int unmount_main(int argc, char **argv);
