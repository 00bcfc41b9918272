/* SPDX-License-Identifier: MIT */
/* Builds a mount by the kernel, and all that it is made of, where nobody sees it. */
#pragma once
#include "assembly/assembly.h"
#include "device/mount_record.h"
#include "erofs/erofs_image.h"
#include "image/catalogue/catalogue.h"
#include "image/index.h"
#include "kernelmount/loop.h"
#include "options/mount_options.h"

struct built {
	const struct mount_options *options;
	struct assembly assembly;
	struct superblock super;
	struct catalogue catalogue;
	const struct version *version;
	struct trust_signer signer;
	struct index *index;
	struct erofs_image *image;
	int memory; /* memfd with the image */
	struct loop loop;
	struct loop *loops; /* by member; paths has the loop device, or the member itself if it is a device */
	char **paths;
	int tree; /* the mount */
};
#define BUILT_OF(OPTIONS) \
	((struct built){ .options = (OPTIONS), .memory = -1, .loop = LOOP_NONE, .tree = -1 })

/* The steps, in this order. The first one opens the volume and reads its catalogue; -EPERM: only root may. */
must_check int built_open(struct built *built, struct error *err);
/* Chooses the version that the options ask for. */
must_check int built_choose(struct built *built, struct error *err);
/* Checks who has signed the version. */
must_check int built_trust(struct built *built, struct error *err);
/* Loads the version, checks it against its signature and digest=, and lays it out. */
must_check int built_load(struct built *built, struct error *err);
/* Writes the image and makes it a loop device. */
must_check int built_image(struct built *built, struct error *err);
/* Makes the mount, from when on nobody on this machine changes the volume. -ESTALE: the version was removed or moved
 * before that. */
must_check int built_mount(struct built *built, struct error *err);
/* Makes a record of what was built, for mount_record_free(); the caller adds what it lacks: replaces, switches. list:
 * the options, as -o takes them, with absolute paths. */
must_check int built_record(const struct built *built, const char *list, struct mount_record *ret, struct error *err);
void built_close(struct built *built); /* closes the contents, with the mount unless it is shown somewhere */
