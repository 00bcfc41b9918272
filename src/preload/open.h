/* SPDX-License-Identifier: MIT */
/* What every call that opens a path does first. */
#pragma once

/* A path that names a descriptor of ours opens the file that it stands for: it is made real. */
void open_prepare(const char *path);
