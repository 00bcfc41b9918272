/* SPDX-License-Identifier: MIT */
/* Compares attributes of inodes in two indexes. */
#include "describe/diff/attributes.h"

#include <stddef.h>
#include <sys/stat.h>

#include "image/sums/checksum.h"

static const char *const attributes_words[] = { "mode", "owner", "mtime", "xattrs", "links", NULL };

const char *attributes_word(unsigned i)
{
	return attributes_words[i];
}

/* State for summing a set of xattrs. Every set is stored in the same order, so equal sets have equal sums. */
struct attributes_sum {
	uint64_t words[3]; /* sums of the earlier attributes, of the name, of the value */
};

static int attributes_add(void *argument, struct span name, struct span value)
{
	struct attributes_sum *sum = argument;

	sum->words[1] = checksum_64(name.base, name.size);
	sum->words[2] = checksum_64(value.base, value.size);
	sum->words[0] = checksum_64(sum->words, sizeof(sum->words));
	return 0;
}

static int attributes_compare_xattrs(const struct index *a, const struct inode *x, const struct index *b,
				     const struct inode *y, unsigned *what, struct error *err)
{
	struct attributes_sum first = { { 0 } }, second = { { 0 } };
	int r = inode_xattrs(a, x, attributes_add, &first, err);

	if (r == 0)
		r = inode_xattrs(b, y, attributes_add, &second, err);
	*what |= first.words[0] != second.words[0] ? ATTRIBUTE_XATTRS : 0;
	return r;
}

int attributes_compare(const struct index *a, const struct inode *x, const struct index *b, const struct inode *y,
		       unsigned *ret, struct error *err)
{
	unsigned what = 0;
	int r = 0;

	what |= x->mode != y->mode ? ATTRIBUTE_MODE : 0;
	what |= x->uid != y->uid || x->gid != y->gid ? ATTRIBUTE_OWNER : 0;
	what |= x->mtime != y->mtime || x->mtime_nsec != y->mtime_nsec ? ATTRIBUTE_MTIME : 0;
	what |= !S_ISDIR(x->mode) && x->nlink != y->nlink ? ATTRIBUTE_LINKS : 0;
	if (x->xattrs || y->xattrs)
		r = attributes_compare_xattrs(a, x, b, y, &what, err);
	if (r == 0)
		*ret = what;
	return r;
}
