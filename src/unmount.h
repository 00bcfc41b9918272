/* SPDX-License-Identifier: MIT */
/* umount.datasetfs: unmounts, and waits until the daemon has closed the volume. */
#pragma once

/* The exit status, as that of umount(8). */
int unmount_main(int argc, char **argv);
