/* SPDX-License-Identifier: MIT */
/* NVMe commands to a namespace: Identify, reservations, write protection. */
#include "device/nvme/nvme.h"

#include <errno.h>
#include <libnvme.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/direct.h"

#define NVME_REPORT_SIZE 16384u /* bytes of a reservation report with 255 registrants */
#define NVME_TIMEOUT     0u     /* milliseconds; 0: the kernel's default */

/* Turns a return value of libnvme into an error. r is a status of the controller, or -1 with errno. */
static int nvme_outcome(int r, const char *what, struct error *err)
{
	if (r == 0)
		return 0;
	if (r < 0)
		return error_errno(err, "NVMe %s", what);
	switch (r & 0x7ff) {
	case NVME_SC_RESERVATION_CONFLICT:
		return error_set(err, -EBUSY, "NVMe %s: refused, another host or key has it reserved", what);
	case NVME_SC_NS_WRITE_PROTECTED:
		return error_set(err, -EROFS, "NVMe %s: the namespace is write-protected", what);
	case NVME_SC_INVALID_OPCODE:
	case NVME_SC_INVALID_FIELD:
		return error_set(err, -EOPNOTSUPP, "NVMe %s: the controller does not support it", what);
	default:
		return error_set(err, -EIO, "NVMe %s: %s, status=%#x", what, nvme_status_to_string(r, false),
				 (unsigned)r & 0x7ff);
	}
}

/* Converts blocks to bytes. Returns 0, for not reported, if the target claims an impossible block size. */
static uint32_t nvme_bytes(const struct nvme_id_ns *id, uint32_t blocks)
{
	unsigned shift = id->lbaf[id->flbas & 0xf].ds;

	return shift < 9 || shift > 16 ? 0 : blocks << shift;
}

int nvme_facts_read(int fd, uint32_t nsid, struct nvme_facts *ret, struct error *err)
{
	auto_free struct nvme_id_ctrl *controller = aligned_alloc(DIRECT_ALIGN, sizeof(*controller));
	auto_free struct nvme_id_ns *id = aligned_alloc(DIRECT_ALIGN, sizeof(*id));
	int r;

	if (!controller || !id)
		return error_no_memory(err);
	r = nvme_outcome(nvme_identify_ctrl(fd, controller), "Identify of the controller", err);
	if (r == 0)
		r = nvme_outcome(nvme_identify_ns(fd, nsid, id), "Identify of the namespace", err);
	if (r < 0)
		return r;
	*ret = (struct nvme_facts){
		.is_shared = id->nmic & NVME_NS_NMIC_SHARED,
		.can_reserve = (le16toh(controller->oncs) & NVME_CTRL_ONCS_RESERVATIONS) &&
			       (id->rescap & NVME_NS_RESCAP_WE),
		.can_protect = controller->nwpc & NVME_CTRL_NWPC_WRITE_PROTECT,
		.is_protected = id->nsattr & 1,
	};
	ret->boundary = nvme_bytes(id, le16toh(id->noiob));
	if (id->nsfeat & NVME_NS_FEAT_IO_OPT) {
		ret->granule = nvme_bytes(id, le16toh(id->npwg) + 1u);
		ret->alignment = nvme_bytes(id, le16toh(id->npwa) + 1u);
	}
	return 0;
}

/* ---- reservations ---- */

static int nvme_report(int fd, uint32_t nsid, bool extended, struct nvme_resv_status *report, struct error *err)
{
	struct nvme_resv_report_args args = { .report = report,
					      .args_size = sizeof(args),
					      .fd = fd,
					      .timeout = NVME_TIMEOUT,
					      .nsid = nsid,
					      .len = NVME_REPORT_SIZE,
					      .eds = extended };

	return nvme_outcome(nvme_resv_report(&args), "Reservation Report", err);
}

static void nvme_find_extended(const struct nvme_resv_status *report, struct nvme_holder *holder)
{
	for (size_t i = 0; i < holder->registrants && i < NVME_REPORT_SIZE / sizeof(report->regctl_eds[0]) - 1; i++) {
		const struct nvme_registered_ctrl_ext *found = &report->regctl_eds[i];

		if (!(found->rcsts & 1))
			continue;
		memcpy(holder->host, found->hostid, sizeof(holder->host));
		holder->key = le64toh(found->rkey);
	}
}

static void nvme_find_short(const struct nvme_resv_status *report, struct nvme_holder *holder)
{
	for (size_t i = 0; i < holder->registrants && i < NVME_REPORT_SIZE / sizeof(report->regctl_ds[0]) - 1; i++) {
		const struct nvme_registered_ctrl *found = &report->regctl_ds[i];

		if (!(found->rcsts & 1))
			continue;
		memcpy(holder->host, &found->hostid, sizeof(found->hostid));
		holder->key = le64toh(found->rkey);
	}
}

/* Tries the extended report first: only it includes hosts with 16-byte ids, which all hosts on fabrics have. */
int nvme_holder_read(int fd, uint32_t nsid, struct nvme_holder *ret, struct error *err)
{
	auto_free struct nvme_resv_status *report = aligned_alloc(DIRECT_ALIGN, NVME_REPORT_SIZE);
	struct nvme_holder holder = { 0 };
	bool extended = true;
	int r;

	if (!report)
		return error_no_memory(err);
	memset(report, 0, NVME_REPORT_SIZE);
	r = nvme_report(fd, nsid, true, report, err);
	if (r < 0 && r != -EROFS) {
		extended = false;
		r = nvme_report(fd, nsid, false, report, err);
	}
	if (r < 0)
		return r;
	holder.registrants = report->regctl[0] | (unsigned)report->regctl[1] << 8;
	if (report->rtype)
		holder.hold = report->rtype == NVME_RESERVATION_RTYPE_WE ? NVME_HOLD_WRITE_EXCLUSIVE : NVME_HOLD_OTHER;
	if (holder.hold != NVME_HOLD_NONE && extended)
		nvme_find_extended(report, &holder);
	else if (holder.hold != NVME_HOLD_NONE)
		nvme_find_short(report, &holder);
	*ret = holder;
	return 0;
}

static int nvme_key_change(int fd, uint32_t nsid, uint64_t current, uint64_t new, enum nvme_resv_rrega action,
			   struct error *err)
{
	struct nvme_resv_register_args args = { .crkey = current,
						.nrkey = new,
						.args_size = sizeof(args),
						.fd = fd,
						.timeout = NVME_TIMEOUT,
						.nsid = nsid,
						.rrega = action,
						.cptpl = NVME_RESERVATION_CPTPL_NO_CHANGE };

	return nvme_outcome(nvme_resv_register(&args), "Reservation Register", err);
}

int nvme_key_register(int fd, uint32_t nsid, uint64_t key, struct error *err)
{
	return nvme_key_change(fd, nsid, 0, key, NVME_RESERVATION_RREGA_REGISTER_KEY, err);
}

int nvme_key_replace(int fd, uint32_t nsid, uint64_t key, uint64_t new, struct error *err)
{
	return nvme_key_change(fd, nsid, key, new, NVME_RESERVATION_RREGA_REPLACE_KEY, err);
}

int nvme_key_remove(int fd, uint32_t nsid, uint64_t key, struct error *err)
{
	return nvme_key_change(fd, nsid, key, 0, NVME_RESERVATION_RREGA_UNREGISTER_KEY, err);
}

int nvme_reserve(int fd, uint32_t nsid, uint64_t key, uint64_t victim, struct error *err)
{
	struct nvme_resv_acquire_args args = { .crkey = key,
					       .nrkey = victim,
					       .args_size = sizeof(args),
					       .fd = fd,
					       .timeout = NVME_TIMEOUT,
					       .nsid = nsid,
					       .rtype = NVME_RESERVATION_RTYPE_WE,
					       .racqa = victim ? NVME_RESERVATION_RACQA_PREEMPT :
								 NVME_RESERVATION_RACQA_ACQUIRE };

	return nvme_outcome(nvme_resv_acquire(&args), "Reservation Acquire", err);
}

int nvme_release(int fd, uint32_t nsid, uint64_t key, struct error *err)
{
	struct nvme_resv_release_args args = { .crkey = key,
					       .args_size = sizeof(args),
					       .fd = fd,
					       .timeout = NVME_TIMEOUT,
					       .nsid = nsid,
					       .rtype = NVME_RESERVATION_RTYPE_WE,
					       .rrela = NVME_RESERVATION_RRELA_RELEASE };

	return nvme_outcome(nvme_resv_release(&args), "Reservation Release", err);
}

/* nvme_set_features_write_protect() does not work here: in libnvme 1.3 it passes no namespace. */
int nvme_protect(int fd, uint32_t nsid, bool on, struct error *err)
{
	struct nvme_set_features_args args = { .args_size = sizeof(args),
					       .fd = fd,
					       .timeout = NVME_TIMEOUT,
					       .nsid = nsid,
					       .cdw11 = on ? NVME_FEAT_NS_WRITE_PROTECT :
							     NVME_FEAT_NS_NO_WRITE_PROTECT,
					       .fid = NVME_FEAT_FID_WRITE_PROTECT };

	return nvme_outcome(nvme_set_features(&args), "Namespace Write Protection", err);
}
