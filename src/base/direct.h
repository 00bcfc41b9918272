/* SPDX-License-Identifier: MIT */
/* The alignment of direct I/O. */
#pragma once

/* Memory, offsets and lengths that are multiples of this suit every device, with sectors of 512 or 4096 bytes. It has
 * nothing to do with the size of memory pages, nor with DSFS_BLOCK, which happens to be as large. */
#define DIRECT_ALIGN 4096u
