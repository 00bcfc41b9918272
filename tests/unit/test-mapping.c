/* SPDX-License-Identifier: MIT */
/* Mappings by a recorded sysfs tree: what lies below one and above a device, what hides it, and what others wrote. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "device/locate.h"
#include "device/nvme/mapping.h"
#include "lib/check.h"
#include "lib/sysfs_tree.h"

#define BLOCK  "../../block/"
#define NUMBER "../../dev/block/"

#define TRAIN  makedev(259, 1) /* the shared namespace */
#define LOCAL  makedev(259, 2)
#define CRYPT  makedev(253, 0) /* on the shared one */
#define SECOND makedev(253, 1)

/* Puts a mapping 253:1 on the device that has this folder. */
static void add_second(const char *uuid, const char *below, const char *name)
{
	char attribute[128], link[128];

	sysfs_write(NUMBER "253:1", "-> ../../block/dm-1");
	sysfs_write(BLOCK "dm-1/dev", "253:1");
	sysfs_write(BLOCK "dm-1/dm/name", "second");
	sysfs_write(BLOCK "dm-1/dm/uuid", uuid);
	snprintf(attribute, sizeof(attribute), BLOCK "dm-1/slaves/%s", name);
	snprintf(link, sizeof(link), "-> ../../../class/nvme-subsystem/%s", below);
	sysfs_write(attribute, link);
	snprintf(attribute, sizeof(attribute), "%s/holders/dm-1", below);
	snprintf(link, sizeof(link), "-> %s/block/dm-1", sysfs_root);
	sysfs_write(attribute, link);
}

static void drop_second(const char *below, const char *name)
{
	char attribute[128];

	snprintf(attribute, sizeof(attribute), "%s/holders/dm-1", below);
	sysfs_drop(attribute);
	snprintf(attribute, sizeof(attribute), BLOCK "dm-1/slaves/%s", name);
	sysfs_drop(attribute);
	sysfs_drop(NUMBER "253:1");
}

/* The highest mapping on the shared namespace has this name; "": there is none. */
static void check_above(const char *name, bool is_crypt)
{
	struct mapping above;

	CHECK_OK(mapping_above(sysfs_root, TRAIN, &above, &err));
	assert_string_equal(above.name, name);
	assert_int_equal(above.is_crypt, is_crypt);
	assert_int_equal(above.device != 0, name[0] != 0);
}

static void test_crypt(void **state)
{
	struct mapping above;

	assert_int_equal(mapping_below(sysfs_root, CRYPT), TRAIN);
	assert_int_equal(mapping_below(sysfs_root, TRAIN), TRAIN);
	assert_int_equal(mapping_below(sysfs_root, SECOND), SECOND); /* there is none */
	assert_true(mapping_is_crypt(sysfs_root, CRYPT));
	assert_false(mapping_is_crypt(sysfs_root, TRAIN));
	assert_false(mapping_is_plain(sysfs_root, CRYPT));
	assert_true(mapping_is_plain(sysfs_root, TRAIN));
	assert_false(mapping_is_plain(sysfs_root, SECOND)); /* nobody knows */
	CHECK_OK(mapping_above(sysfs_root, TRAIN, &above, &err));
	assert_int_equal(above.device, CRYPT);
	assert_string_equal(above.block, "dm-0");
	check_above("train", true);
	CHECK_OK(mapping_above(sysfs_root, LOCAL, &above, &err));
	assert_int_equal(above.device, 0);
	CHECK_OK(mapping_above("/nonexistent", TRAIN, &above, &err));
	assert_int_equal(above.device, 0);
}

/* A linear mapping on the encrypted one is encrypted as well. */
static void test_on_each_other(void **state)
{
	add_second("LVM-1", "../../block/dm-0", "dm-0");
	assert_int_equal(mapping_below(sysfs_root, SECOND), TRAIN);
	assert_true(mapping_is_crypt(sysfs_root, SECOND));
	assert_false(mapping_is_plain(sysfs_root, SECOND));
	check_above("second", true);
	drop_second("../../block/dm-0", "dm-0");
	check_above("train", true);
}

static void test_beside_each_other(void **state)
{
	struct mapping above = { .device = 7 };

	add_second("", "nvme-subsys0/nvme0n1", "nvme0n1");
	assert_int_equal(mapping_below(sysfs_root, SECOND), TRAIN);
	assert_false(mapping_is_crypt(sysfs_root, SECOND));
	assert_true(mapping_is_plain(sysfs_root, SECOND));
	CHECK_FAILS(mapping_above(sysfs_root, TRAIN, &above, &err), -EMLINK,
		    "the mappings 'train' and 'second' both lie on it");
	assert_int_equal(above.device, 7);
	/* One of them is multipath's: that is another device. */
	sysfs_write(BLOCK "dm-1/dm/uuid", "mpath-3600");
	assert_int_equal(mapping_below(sysfs_root, SECOND), SECOND);
	assert_false(mapping_is_plain(sysfs_root, SECOND));
	check_above("train", true);
	drop_second("nvme-subsys0/nvme0n1", "nvme0n1");
}

static void test_several_slaves(void **state)
{
	static const char other[] = "../../../class/nvme-subsystem/nvme-subsys1/nvme2/nvme2n1";
	char link[sizeof(other) + 3];

	snprintf(link, sizeof(link), "-> %s", other);
	sysfs_write(BLOCK "dm-0/slaves/nvme2n1", link);
	assert_int_equal(mapping_below(sysfs_root, CRYPT), CRYPT);
	assert_false(mapping_is_crypt(sysfs_root, CRYPT));
	assert_false(mapping_is_plain(sysfs_root, CRYPT));
	check_above("", false);
	sysfs_drop(BLOCK "dm-0/slaves/nvme2n1");
	check_above("train", true);
}

/* The namespace went, and another has its name and number: the mapping still points to them. */
static void test_device_that_went(void **state)
{
	sysfs_drop("nvme-subsys0/nvme0n1/holders/dm-0");
	assert_int_equal(mapping_below(sysfs_root, CRYPT), CRYPT);
	check_above("", false);
	sysfs_write("nvme-subsys0/nvme0n1/holders/dm-0", "-> ../../../../../block/dm-0");
	check_above("train", true);
}

static void test_partition(void **state)
{
	const dev_t part = makedev(259, 5);

	sysfs_write("nvme-subsys0/nvme0n1/nvme0n1p1/dev", "259:5");
	sysfs_write("nvme-subsys0/nvme0n1/nvme0n1p1/partition", "1");
	sysfs_write(NUMBER "259:5", "-> ../../class/nvme-subsystem/nvme-subsys0/nvme0n1/nvme0n1p1");
	add_second("CRYPT-LUKS2-1", "nvme-subsys0/nvme0n1/nvme0n1p1", "nvme0n1p1");
	assert_int_equal(mapping_below(sysfs_root, SECOND), part);
	assert_int_equal(topology_whole(sysfs_root, SECOND), TRAIN);
	assert_int_equal(topology_whole(sysfs_root, CRYPT), TRAIN);
	assert_true(mapping_is_plain(sysfs_root, part));
	check_above("train", true); /* what lies on a partition does not lie on the whole */
	drop_second("nvme-subsys0/nvme0n1/nvme0n1p1", "nvme0n1p1");
}

/* Mappings below md, and the file below a loop device, may be encrypted; then a partition is as well. */
static void test_device_on_others(void **state)
{
	const dev_t part = makedev(259, 6);

	sysfs_write(BLOCK "md0/dev", "9:0");
	sysfs_write(BLOCK "md0/md0p1/dev", "259:6");
	sysfs_write(BLOCK "md0/md0p1/partition", "1");
	sysfs_write(NUMBER "9:0", "-> ../../block/md0");
	sysfs_write(NUMBER "259:6", "-> ../../block/md0/md0p1");
	assert_true(mapping_is_plain(sysfs_root, makedev(9, 0)));
	assert_true(mapping_is_plain(sysfs_root, part));
	sysfs_write(BLOCK "md0/slaves/dm-0", "-> ../../dm-0");
	assert_false(mapping_is_plain(sysfs_root, makedev(9, 0)));
	assert_false(mapping_is_plain(sysfs_root, part));
	sysfs_drop(BLOCK "md0/slaves/dm-0");
	sysfs_write(BLOCK "md0/loop/backing_file", "/disk");
	assert_false(mapping_is_plain(sysfs_root, part));
	sysfs_drop(BLOCK "md0/loop/backing_file");
	assert_true(mapping_is_plain(sysfs_root, part));
}

/* Nothing in sysfs is trusted to be short, a number, or free of circles. */
static void test_hostile(void **state)
{
	char name[4096];
	struct mapping above;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	sysfs_write(BLOCK "dm-0/dm/name", name);
	sysfs_write(BLOCK "dm-0/dm/uuid", name);
	CHECK_OK(mapping_above(sysfs_root, TRAIN, &above, &err));
	assert_int_equal(strlen(above.name), MAPPING_NAME_SIZE - 1);
	assert_false(above.is_crypt);
	sysfs_write(BLOCK "dm-0/dev", "253:0x:y");
	assert_int_equal(mapping_below(sysfs_root, CRYPT), TRAIN);
	sysfs_write(BLOCK "dm-0/dev", "crypt");
	check_above("", false);
	sysfs_write(BLOCK "dm-0/dev", "253:0");
	sysfs_write(BLOCK "dm-0/dm/name", "");
	check_above("", false);
	sysfs_write(BLOCK "dm-0/dm/name", "train");
	/* A mapping that lies on itself. */
	add_second("CRYPT-PLAIN", "../../block/dm-1", "dm-1");
	assert_int_equal(mapping_below(sysfs_root, SECOND), SECOND);
	CHECK_OK(mapping_above(sysfs_root, SECOND, &above, &err));
	assert_int_equal(above.device, SECOND);
	drop_second("../../block/dm-1", "dm-1");
	sysfs_write(BLOCK "dm-0/dm/uuid", "CRYPT-LUKS2-1");
}

/* Names and identities of namespaces are those of what lies on them. */
static void test_locate(void **state)
{
	static const char volume[] = "nvme:uuid:3f2504e0-4f89-41d3-9a0c-0305e82c3301";
	auto_topology struct topology t = { 0 };
	char *path = NULL;

	setenv("DATASETFS_SYSFS", sysfs_root, 1);
	CHECK_OK(topology_read(sysfs_root, &t, &err));
	assert_ptr_equal(topology_below(&t, CRYPT), topology_by_device(&t, TRAIN));
	assert_ptr_equal(topology_below(&t, TRAIN), topology_by_device(&t, TRAIN));
	assert_null(topology_below(&t, SECOND));
	sysfs_write(BLOCK "dm-0/dev", "4000:7"); /* no machine has it */
	sysfs_write(NUMBER "4000:7", "-> ../../block/dm-0");
	CHECK_FAILS(locate_path(volume, &path, &err), -ENODEV, "mapping 'train' has no block device node 4000:7");
	sysfs_write(BLOCK "dm-0/dev", "253:0");
	add_second("", "nvme-subsys0/nvme0n1", "nvme0n1");
	CHECK_FAILS(locate_path(volume, &path, &err), -EMLINK,
		    "namespace 'nvme0n1', name the volume by the path of its own: the mappings 'train' and 'second'");
	drop_second("nvme-subsys0/nvme0n1", "nvme0n1");
	assert_null(path);
}

static int add_crypt(void **state)
{
	int r = sysfs_tree(state);

	sysfs_add("crypt.sysfs");
	return r;
}

CHECK_MAIN_WITH(add_crypt, sysfs_remove, cmocka_unit_test(test_crypt), cmocka_unit_test(test_on_each_other),
		cmocka_unit_test(test_beside_each_other), cmocka_unit_test(test_several_slaves),
		cmocka_unit_test(test_device_that_went), cmocka_unit_test(test_partition),
		cmocka_unit_test(test_device_on_others), cmocka_unit_test(test_hostile), cmocka_unit_test(test_locate))
