/* SPDX-License-Identifier: MIT */
/* NVMe by a recorded sysfs tree: what is read, names of volumes; portals, who this host is, advice. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "device/locate.h"
#include "device/nvme/advice.h"
#include "device/nvme/host.h"
#include "device/nvme/portal.h"
#include "device/nvme/secret.h"
#include "device/nvme/topology.h"
#include "lib/check.h"
#include "lib/sysfs_tree.h"

#define TRAIN_NQN  "nqn.2026-01.org.example:train"
#define TRAIN_UUID "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

/* ---- tests ---- */

static void check_shared(const struct topology *t)
{
	const struct topology_controller *controller;
	const struct topology_namespace *train;
	size_t live;

	train = topology_by_device(t, makedev(259, 1));
	assert_non_null(train);
	assert_string_equal(train->name, "nvme0n1");
	assert_string_equal(t->subsystems[train->subsystem].nqn, TRAIN_NQN);
	assert_int_equal(train->size, UINT64_C(1) << 30);
	assert_int_equal(train->lba_size, 4096);
	assert_int_equal(train->boundary, 0);
	assert_true(train->has_uuid);
	assert_false(train->has_nguid);
	assert_int_equal(topology_paths_of(t, train, &live), 2);
	assert_int_equal(live, 1);

	controller = topology_host_of(t, train);
	assert_string_equal(controller->name, "nvme0");
	assert_string_equal(controller->traddr, "192.0.2.1");
	assert_string_equal(controller->trsvcid, "4420");
	assert_int_equal(controller->queues, 8);
	assert_int_equal(controller->queue_size, 128);
	assert_int_equal(controller->fast_io_fail_tmo, 300);
	assert_int_equal(t->controllers[1].fast_io_fail_tmo, -1);
	assert_true(t->paths[0].data_digest);
	assert_false(t->paths[1].data_digest);
	assert_string_equal(t->paths[1].ana_state, "non-optimized");
}

static void check_local(const struct topology *t)
{
	const struct topology_namespace *local;
	size_t live;

	local = topology_by_device(t, makedev(259, 2));
	assert_int_equal(local->boundary, 131072);
	assert_int_equal(topology_paths_of(t, local, &live), 1);
	assert_int_equal(live, 1);
	assert_null(topology_host_of(t, local));
	assert_string_equal(t->controllers[2].traddr, "0000:41:00.0");
	assert_null(topology_by_device(t, makedev(259, 3)));
	assert_non_null(topology_by_nqn(t, TRAIN_NQN));
	assert_null(topology_by_nqn(t, "nqn.2026-01.org.example:other"));
}

static void test_topology(void **state)
{
	auto_topology struct topology t = { 0 };

	CHECK_OK(topology_read(sysfs_root, &t, &err));
	assert_int_equal(t.subsystem_count, 3);
	assert_int_equal(t.controller_count, 4);
	assert_int_equal(t.namespace_count, 2);
	assert_int_equal(t.path_count, 3);
	assert_false(t.subsystems[0].is_discovery);
	assert_true(t.subsystems[2].is_discovery);

	check_shared(&t);
	check_local(&t);
}

static void test_no_nvme(void **state)
{
	auto_topology struct topology t = { 0 };

	CHECK_OK(topology_read("/nonexistent", &t, &err));
	assert_int_equal(t.subsystem_count, 0);
}

static void test_identities(void **state)
{
	auto_topology struct topology t = { 0 };
	char identity[TOPOLOGY_IDENTITY_SIZE];
	struct topology_namespace namespace = { .has_nguid = true, .nguid = { 0xde, 0xad } };

	CHECK_OK(topology_read(sysfs_root, &t, &err));
	topology_identity(&t.namespaces[0], identity);
	assert_string_equal(identity, "nvme:uuid:" TRAIN_UUID);
	topology_identity(&t.namespaces[1], identity);
	assert_string_equal(identity, "nvme:eui64:0025385b71b01234");
	topology_identity(&namespace, identity);
	assert_string_equal(identity, "nvme:nguid:dead0000000000000000000000000000");
	namespace.has_nguid = false;
	topology_identity(&namespace, identity);
	assert_string_equal(identity, "");
}

/* Without a UUID Linux shows the NGUID as one: that is not an identity of that kind. */
static void test_nguid_shown_as_uuid(void **state)
{
	auto_topology struct topology t = { 0 };
	char identity[TOPOLOGY_IDENTITY_SIZE];

	sysfs_write("nvme-subsys0/nvme0n1/nguid", TRAIN_UUID);
	CHECK_OK(topology_read(sysfs_root, &t, &err)); /* both are the same, as some targets choose */
	topology_identity(&t.namespaces[0], identity);
	assert_string_equal(identity, "nvme:uuid:" TRAIN_UUID);
	topology_free(&t);
	sysfs_write("nvme-subsys0/nvme0n1/wwid", "eui.3f2504e04f8941d39a0c0305e82c3301");
	CHECK_OK(topology_read(sysfs_root, &t, &err));
	sysfs_write("nvme-subsys0/nvme0n1/nguid", "00000000-0000-0000-0000-000000000000");
	sysfs_write("nvme-subsys0/nvme0n1/wwid", "uuid." TRAIN_UUID);
	topology_identity(&t.namespaces[0], identity);
	assert_string_equal(identity, "nvme:nguid:3f2504e04f8941d39a0c0305e82c3301");
}

static void test_locate(void **state)
{
	static const char *const names[] = { "nvme:uuid:" TRAIN_UUID, "nvme:uuid:3F2504E0-4F89-41D3-9A0C-0305E82C3301",
					     "nvme://" TRAIN_NQN "/1" };
	auto_topology struct topology t = { 0 };
	const struct topology_namespace *found;

	assert_true(locate_is_identity("nvme:uuid:x"));
	assert_false(locate_is_identity("./nvme:uuid:x"));
	assert_false(locate_is_identity("/dev/nvme0n1"));
	CHECK_OK(topology_read(sysfs_root, &t, &err));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CHECK_OK(locate_namespace(&t, names[i], &found, &err));
		assert_string_equal(found->name, "nvme0n1");
	}
	CHECK_OK(locate_namespace(&t, "nvme:eui64:0025385b71b01234", &found, &err));
	assert_string_equal(found->name, "nvme2n1");
	CHECK_FAILS(locate_namespace(&t, "nvme://" TRAIN_NQN "/2", &found, &err), -ENOENT,
		    "among the 2 that are connected");
	CHECK_FAILS(locate_namespace(&t, "nvme:nguid:3f2504e04f8941d39a0c0305e82c3301", &found, &err), -ENOENT,
		    "no namespace");
	t.namespaces[0].device = makedev(4000, 1); /* no machine has it */
	CHECK_FAILS(locate_node(&t.namespaces[0], &(char *){ NULL }, &err), -ENODEV, "no block device node 4000:1");
}

static void test_bad_names(void **state)
{
	struct topology t = { 0 };
	const struct topology_namespace *found;

	CHECK_FAILS(locate_namespace(&t, "nvme:", &found, &err), -EINVAL, "expected nvme:uuid:");
	CHECK_FAILS(locate_namespace(&t, "nvme:wwid:1", &found, &err), -EINVAL, "expected nvme:uuid:");
	CHECK_FAILS(locate_namespace(&t, "nvme:uuid:1", &found, &err), -EINVAL, "not a UUID");
	CHECK_FAILS(locate_namespace(&t, "nvme:nguid:12", &found, &err), -EINVAL, "expected 32 hexadecimal digits");
	CHECK_FAILS(locate_namespace(&t, "nvme:eui64:00253g5b71b01234", &found, &err), -EINVAL, "not hexadecimal");
	CHECK_FAILS(locate_namespace(&t, "nvme://" TRAIN_NQN, &found, &err), -EINVAL, "not SUBSYSTEM_NQN/NSID");
	CHECK_FAILS(locate_namespace(&t, "nvme:///1", &found, &err), -EINVAL, "not SUBSYSTEM_NQN/NSID");
	CHECK_FAILS(locate_namespace(&t, "nvme://" TRAIN_NQN "/0", &found, &err), -ERANGE, "expected 1 to");
	CHECK_FAILS(locate_namespace(&t, "nvme://" TRAIN_NQN "/x", &found, &err), -EINVAL, "not a number");
}

/* A clone claims the same identity: nobody guesses. Two devices of one namespace are one. */
static void test_same_identity(void **state)
{
	auto_topology struct topology t = { 0 };
	const struct topology_namespace *found;

	CHECK_OK(topology_read(sysfs_root, &t, &err));
	t.namespaces[1] = t.namespaces[0];
	snprintf(t.namespaces[1].name, sizeof(t.namespaces[1].name), "nvme1n1");
	CHECK_OK(locate_namespace(&t, "nvme:uuid:" TRAIN_UUID, &found, &err));
	assert_string_equal(found->name, "nvme0n1");
	snprintf(t.controllers[0].state, sizeof(t.controllers[0].state), "connecting");
	CHECK_OK(locate_namespace(&t, "nvme:uuid:" TRAIN_UUID, &found, &err));
	assert_string_equal(found->name, "nvme1n1");
	t.namespaces[1].subsystem = 1;
	CHECK_FAILS(locate_namespace(&t, "nvme:uuid:" TRAIN_UUID, &found, &err), -ENOTUNIQ, "'nvme0n1' and 'nvme1n1'");
}

static void test_portals(void **state)
{
	static const struct {
		const char *text, *transport, *address, *service, *back;
	} good[] = {
		{ "tcp://192.0.2.1", "tcp", "192.0.2.1", "4420", "tcp://192.0.2.1:4420" },
		{ "tcp://192.0.2.1:8009", "tcp", "192.0.2.1", "8009", "tcp://192.0.2.1:8009" },
		{ "rdma://[2001:db8::1]:4421", "rdma", "2001:db8::1", "4421", "rdma://[2001:db8::1]:4421" },
		{ "tcp://[2001:db8::1]", "tcp", "2001:db8::1", "4420", "tcp://[2001:db8::1]:4420" },
		{ "tcp://storage.example.org", "tcp", "storage.example.org", "4420", "tcp://storage.example.org:4420" },
		{ "loop", "loop", "", "", "loop" },
	};
	char text[PORTAL_TEXT_SIZE];
	struct portal portal;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		CHECK_OK(portal_parse(good[i].text, &portal, &err));
		assert_true(portal_is(&portal, good[i].transport, good[i].address, good[i].service));
		assert_string_equal(portal_text(&portal, text), good[i].back);
	}
	assert_false(portal_is(&portal, "tcp", "", ""));
	CHECK_OK(portal_resolve(&portal, &portal, &err)); /* loop has no address */
	assert_true(portal_is(&portal, "loop", "", ""));
	CHECK_OK(portal_parse("tcp://[2001:db8:0:0::1]:4421", &portal, &err));
	CHECK_OK(portal_resolve(&portal, &portal, &err));
	assert_true(portal_is(&portal, "tcp", "2001:db8::1", "4421"));
	memset(portal.address, 'a', 70); /* too long a label to ask anybody for */
	portal.address[70] = 0;
	CHECK_FAILS(portal_resolve(&portal, &portal, &err), -EHOSTUNREACH, "aaa' has no address: ");
	CHECK_FAILS(portal_parse("192.0.2.1", &portal, &err), -EINVAL, "is not tcp://ADDRESS[:PORT]");
	CHECK_FAILS(portal_parse("fc://nn-1", &portal, &err), -EINVAL, "is not tcp://ADDRESS[:PORT]");
	CHECK_FAILS(portal_parse("loop://x", &portal, &err), -EINVAL, "is not tcp://ADDRESS[:PORT]");
	CHECK_FAILS(portal_parse("tcp://", &portal, &err), -EINVAL, "is not ADDRESS or ADDRESS:PORT");
	CHECK_FAILS(portal_parse("tcp://:4420", &portal, &err), -EINVAL, "is not ADDRESS or ADDRESS:PORT");
	CHECK_FAILS(portal_parse("tcp://[2001:db8::1", &portal, &err), -EINVAL, "is not ADDRESS or ADDRESS:PORT");
	CHECK_FAILS(portal_parse("tcp://[::1]x", &portal, &err), -EINVAL, "is not ADDRESS or ADDRESS:PORT");
	CHECK_FAILS(portal_parse("tcp://a,hostnqn=b", &portal, &err), -EINVAL, "is not ADDRESS or ADDRESS:PORT");
	CHECK_FAILS(portal_parse("tcp://2001:db8::1", &portal, &err), -EINVAL, "write an IPv6 address in brackets");
	CHECK_FAILS(portal_parse("tcp://192.0.2.1:65536", &portal, &err), -EINVAL, "expected 1 to 65535");
	CHECK_FAILS(portal_parse("tcp://192.0.2.1:", &portal, &err), -EINVAL, "not a number");
}

/* Whether one of the kind is there, and is a warning or not. */
static bool has_advice(const struct advice *advice, size_t count, const char *kind, bool is_warning)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(advice[i].kind, kind) && advice[i].is_warning == is_warning)
			return true;
	return false;
}

static const struct nvme_facts usual_facts = { .is_shared = true, .can_reserve = true, .granule = 16384,
					       .alignment = 16384 };

/* The first namespace of the recorded host; topology is to be freed. */
static struct advice_setup usual_setup(struct topology *topology, const struct nvme_facts *facts,
				       const struct nvme_holder *holder)
{
	CHECK_OK(topology_read(sysfs_root, topology, &err));
	return (struct advice_setup){ .topology = topology, .namespace = &topology->namespaces[0], .facts = facts,
				      .holder = holder, .cpus = 8, .nodes = 1 };
}

static void test_advice(void **state)
{
	auto_topology struct topology t = { 0 };
	struct nvme_facts facts = usual_facts;
	struct nvme_holder holder = { .hold = NVME_HOLD_NONE };
	struct advice_setup setup = usual_setup(&t, &facts, &holder);
	struct advice advice[ADVICE_MAX];
	size_t n;

	n = advice_give(&setup, advice);
	assert_true(has_advice(advice, n, "writable", true));
	assert_true(has_advice(advice, n, "paths", true));
	assert_true(has_advice(advice, n, "digests", true));
	assert_true(has_advice(advice, n, "depth", false));
	assert_true(has_advice(advice, n, "alignment", false));
	assert_true(has_advice(advice, n, "read-ahead", false));
	assert_false(has_advice(advice, n, "no-reservations", true));
	assert_false(has_advice(advice, n, "one-path", true));
	assert_false(has_advice(advice, n, "numa", true));
	assert_false(has_advice(advice, n, "granule", true));
	assert_false(has_advice(advice, n, "lba-512", true));
	assert_false(has_advice(advice, n, "timeouts", true));
}

/* As it should be, and as it should not. */
static void test_advice_extremes(void **state)
{
	auto_topology struct topology t = { 0 };
	struct nvme_facts facts = usual_facts;
	struct nvme_holder holder = { .hold = NVME_HOLD_NONE };
	struct advice_setup setup = usual_setup(&t, &facts, &holder);
	struct advice advice[ADVICE_MAX];
	size_t n;

	snprintf(t.controllers[1].state, sizeof(t.controllers[1].state), "live");
	t.paths[1].data_digest = true;
	facts.is_protected = true;
	n = advice_give(&setup, advice);
	for (size_t i = 0; i < n; i++)
		assert_false(advice[i].is_warning);
	assert_true(has_advice(advice, n, "protected", false));

	facts = (struct nvme_facts){ .is_shared = true, .granule = 8u << 20, .boundary = 65536 };
	t.path_count = 1;
	t.controllers[0].fast_io_fail_tmo = 5;
	setup.nodes = 2;
	setup.cpus = 64;
	n = advice_give(&setup, advice);
	assert_true(has_advice(advice, n, "no-reservations", true));
	assert_true(has_advice(advice, n, "one-path", true));
	assert_true(has_advice(advice, n, "timeouts", true));
	assert_true(has_advice(advice, n, "numa", true));
	assert_true(has_advice(advice, n, "depth", true));
	assert_true(has_advice(advice, n, "granule", true));
	assert_true(has_advice(advice, n, "boundary", true));
	holder.hold = NVME_HOLD_WRITE_EXCLUSIVE;
	n = advice_give(&setup, advice);
	assert_true(has_advice(advice, n, "reserved", false));
	assert_false(has_advice(advice, n, "writable", true));
}

static void test_host(void **state)
{
	static const char nqn[] = "nqn.2014-08.org.nvmexpress:uuid:5a0c1de7-83ff-4f6b-a6a5-1c2b3d4e5f60";
	struct host host = { 0 };
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s/class/nvme-subsystem/host", sysfs_root);
	CHECK_FAILS(host_read(folder, &host, &err), -ENOENT, "/hostnqn' creates one");
	sysfs_write("host/hostnqn", "nqn.2026-01.org.example:node7");
	CHECK_FAILS(host_read(folder, &host, &err), -ENOENT, "/hostid' creates one");
	sysfs_write("host/hostid", "node7");
	CHECK_FAILS(host_read(folder, &host, &err), -EINVAL, "host id: 'node7' is not a UUID");
	sysfs_write("host/hostid", "00112233-4455-6677-8899-aabbccddeeff");
	CHECK_OK(host_read(folder, &host, &err));
	assert_string_equal(host.nqn, "nqn.2026-01.org.example:node7");
	assert_string_equal(host.id, "00112233-4455-6677-8899-aabbccddeeff");

	/* An NQN that was given stays, and the id may be in it. */
	sysfs_write("host/hostid", "");
	host = (struct host){ 0 };
	snprintf(host.nqn, sizeof(host.nqn), "%s", nqn);
	CHECK_OK(host_read(folder, &host, &err));
	assert_string_equal(host.nqn, nqn);
	assert_string_equal(host.id, strrchr(nqn, ':') + 1);
	host = (struct host){ .nqn = "node7" };
	CHECK_FAILS(host_check(&host, &err), -EINVAL, "does not begin with 'nqn.'");
	host = (struct host){ .nqn = "nqn.a,traddr=b" };
	CHECK_FAILS(host_check(&host, &err), -EINVAL, "a comma or a blank");
}

static void test_security(void **state)
{
	auto_topology struct topology t = { 0 }, later = { 0 };

	CHECK_OK(topology_read(sysfs_root, &t, &err));
	assert_int_equal(t.controllers[0].host_secret, TOPOLOGY_NO);
	assert_false(t.controllers[0].has_tls || t.controllers[0].shows_secret);
	sysfs_write("nvme-subsys0/nvme0/dhchap_secret", "DHHC-1:00:");
	sysfs_write("nvme-subsys0/nvme0/dhchap_ctrl_secret", "none");
	sysfs_write("nvme-subsys0/nvme0/tls_key", "2a3b4c5d");
	CHECK_OK(topology_read(sysfs_root, &later, &err));
	assert_int_equal(later.controllers[0].host_secret, TOPOLOGY_YES);
	assert_int_equal(later.controllers[0].ctrl_secret, TOPOLOGY_NO);
	assert_true(later.controllers[0].has_tls && later.controllers[0].shows_secret);
	assert_int_equal(later.controllers[1].host_secret, TOPOLOGY_NO);
}

/* ---- secrets ---- */

#define SECRET_32 "DHHC-1:00:ERERERERERERERERERERERERERERERERERERERERERHYIEm8:"
#define SECRET_64 "DHHC-1:00:IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi" \
		  "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIm139UE=:"

static int secret_from(const char *text, mode_t mode, struct secret *ret, struct error *err)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/secret", sysfs_root);
	remove(path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
	return secret_read_file(path, ret, err);
}

static void test_secrets(void **state)
{
	static const char *const bad[] = {
		"", "\n", "DHHC-1:00::", "DHHC-1:00:EREREQ==:", SECRET_32 "x", SECRET_32 SECRET_32, SECRET_32 "\n\nx",
		"DHHC-1:04:" "ERERERERERERERERERERERERERERERERERERERERERHYIEm8:", "DHHC-1:00:" SECRET_64 SECRET_64,
	};
	auto_secret struct secret secret = { 0 };

	CHECK_OK(secret_from(SECRET_32, 0600, &secret, &err));
	assert_string_equal(secret.text, SECRET_32);
	CHECK_OK(secret_from(SECRET_64 "\r\n", 0400, &secret, &err));
	assert_string_equal(secret.text, SECRET_64);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_FAILS(secret_from(bad[i], 0600, &secret, &err), -EINVAL, "has no secret: expected one line");
	CHECK_FAILS(secret_from("DHHC-1:00:ERIRERERERERERERERERERERERERERERERERERERERHYIEm8:", 0600, &secret, &err),
		    -EINVAL, "a secret that was changed");
	CHECK_FAILS(secret_from(SECRET_32, 0640, &secret, &err), -EPERM, "has the mode 0640");
	assert_string_equal(secret.text, SECRET_64);
}

CHECK_MAIN_WITH(sysfs_tree, sysfs_remove, cmocka_unit_test(test_topology), cmocka_unit_test(test_no_nvme),
		cmocka_unit_test(test_identities), cmocka_unit_test(test_nguid_shown_as_uuid),
		cmocka_unit_test(test_locate), cmocka_unit_test(test_bad_names), cmocka_unit_test(test_same_identity),
		cmocka_unit_test(test_portals), cmocka_unit_test(test_host), cmocka_unit_test(test_advice),
		cmocka_unit_test(test_advice_extremes), cmocka_unit_test(test_secrets), cmocka_unit_test(test_security))
