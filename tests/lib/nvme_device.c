/* SPDX-License-Identifier: MIT */
/* Preloaded into a program: block devices answer NVMe commands as one shared namespace does, through libnvme and the
 * kernel's ioctls. What hosts share (registrations, the reservation, write protection) lies in a file.
 *   NVME_STATE  that file; made when it is not there
 *   NVME_HOST   id of the host that the program runs on, 32 hexadecimal digits
 *   NVME_CAN    what the target can: words of "reserve protect"
 *   NVME_SHIFT  a block is so often doubled a byte, it says: 12
 *   NVME_DEVICE MAJOR:MINOR of the namespace: no other device takes commands, as if it were a mapping of dm-crypt
 *   NVME_STOP   the process stops itself (SIGSTOP) before its first flush, and then goes on */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libnvme.h>
#include <linux/fs.h>
#include <linux/nvme_ioctl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define HOSTS 8

struct state {
	struct {
		bool registered;
		uint8_t host[16];
		uint64_t key;
	} hosts[HOSTS];
	int holder; /* 1 + its number, 0: nobody */
	int type;
	bool protected;
};

static uint8_t self[16];

int fdatasync(int fd)
{
	static atomic_flag stopped = ATOMIC_FLAG_INIT;

	if (getenv("NVME_STOP") && !atomic_flag_test_and_set(&stopped))
		raise(SIGSTOP);
	return (int)syscall(SYS_fdatasync, fd);
}

static int state_open(struct state *state)
{
	const char *text = getenv("NVME_HOST");
	int fd = open(getenv("NVME_STATE"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	for (int i = 0; i < 16; i++)
		sscanf(text + 2 * i, "%2hhx", &self[i]);
	memset(state, 0, sizeof(*state));
	flock(fd, LOCK_EX);
	if (read(fd, state, sizeof(*state)) < 0)
		abort();
	return fd;
}

static void state_close(int fd, const struct state *state)
{
	if (syscall(SYS_pwrite64, fd, state, sizeof(*state), 0L) != sizeof(*state))
		abort();
	close(fd);
}

static bool can(const char *what)
{
	const char *words = getenv("NVME_CAN");

	return words && strstr(words, what);
}

/* Our number; -1 when not registered. */
static int find_self(const struct state *state)
{
	for (int i = 0; i < HOSTS; i++)
		if (state->hosts[i].registered && !memcmp(state->hosts[i].host, self, 16))
			return i;
	return -1;
}

static int conflict(void)
{
	return NVME_SC_RESERVATION_CONFLICT;
}

static int identify(const struct nvme_passthru_cmd *cmd)
{
	void *data = (void *)(uintptr_t)cmd->addr;

	memset(data, 0, cmd->data_len);
	if ((cmd->cdw10 & 0xff) == NVME_IDENTIFY_CNS_CTRL) {
		struct nvme_id_ctrl *id = data;

		id->oncs = can("reserve") ? NVME_CTRL_ONCS_RESERVATIONS : 0;
		id->nwpc = can("protect") ? NVME_CTRL_NWPC_WRITE_PROTECT : 0;
	} else {
		struct nvme_id_ns *id = data;
		struct state state;

		state_close(state_open(&state), &state);
		id->nmic = NVME_NS_NMIC_SHARED;
		id->rescap = can("reserve") ? NVME_NS_RESCAP_WE : 0;
		id->nsattr = state.protected;
		id->lbaf[0].ds = (uint8_t)atoi(getenv("NVME_SHIFT") ?: "12");
		id->nsfeat = NVME_NS_FEAT_IO_OPT;
		id->npwg = 3;
		id->npwa = 1;
		id->noiob = 256;
	}
	return 0;
}

static int set_feature(struct state *state, const struct nvme_passthru_cmd *cmd)
{
	if ((cmd->cdw10 & 0xff) != NVME_FEAT_FID_WRITE_PROTECT || cmd->nsid != 1 || !can("protect"))
		return NVME_SC_INVALID_FIELD;
	state->protected = cmd->cdw11 == NVME_FEAT_NS_WRITE_PROTECT;
	return 0;
}

static int do_register(struct state *state, const struct nvme_passthru_cmd *cmd)
{
	const uint64_t *keys = (const void *)(uintptr_t)cmd->addr; /* current, new */
	int me = find_self(state), free_one = 0;

	if ((cmd->cdw10 & 7) == NVME_RESERVATION_RREGA_UNREGISTER_KEY) {
		if (me < 0 || state->hosts[me].key != keys[0])
			return conflict();
		state->hosts[me].registered = false;
		if (state->holder == 1 + me)
			state->holder = 0;
		return 0;
	}
	if ((cmd->cdw10 & 7) == NVME_RESERVATION_RREGA_REPLACE_KEY) {
		if (me < 0 || state->hosts[me].key != keys[0])
			return conflict();
		state->hosts[me].key = keys[1];
		return 0;
	}
	if (me >= 0)
		return state->hosts[me].key == keys[1] ? 0 : conflict();
	while (state->hosts[free_one].registered)
		free_one++;
	memcpy(state->hosts[free_one].host, self, 16);
	state->hosts[free_one].key = keys[1];
	state->hosts[free_one].registered = true;
	return 0;
}

static int do_acquire(struct state *state, const struct nvme_passthru_cmd *cmd)
{
	const uint64_t *keys = (const void *)(uintptr_t)cmd->addr; /* current, to preempt */
	int me = find_self(state), type = cmd->cdw10 >> 8 & 0xff;

	if (me < 0 || state->hosts[me].key != keys[0])
		return conflict();
	if (state->holder && state->holder != 1 + me) {
		if ((cmd->cdw10 & 7) != NVME_RESERVATION_RACQA_PREEMPT ||
		    state->hosts[state->holder - 1].key != keys[1])
			return conflict();
		state->hosts[state->holder - 1].registered = false;
	}
	state->holder = 1 + me;
	state->type = type;
	return 0;
}

static int do_release(struct state *state, const struct nvme_passthru_cmd *cmd)
{
	const uint64_t *keys = (const void *)(uintptr_t)cmd->addr;
	int me = find_self(state);

	if (me < 0 || state->hosts[me].key != keys[0])
		return conflict();
	if (state->holder == 1 + me)
		state->holder = 0;
	return 0;
}

static int do_report(const struct state *state, const struct nvme_passthru_cmd *cmd)
{
	struct nvme_resv_status *report = (void *)(uintptr_t)cmd->addr;
	int count = 0;

	if (!(cmd->cdw11 & 1))
		return NVME_SC_INVALID_FIELD; /* as with host ids of 16 bytes */
	memset(report, 0, cmd->data_len);
	for (int i = 0; i < HOSTS; i++) {
		if (!state->hosts[i].registered)
			continue;
		report->regctl_eds[count].rcsts = state->holder == 1 + i;
		report->regctl_eds[count].rkey = state->hosts[i].key;
		memcpy(report->regctl_eds[count++].hostid, state->hosts[i].host, 16);
	}
	report->regctl[0] = (uint8_t)count;
	report->rtype = state->holder ? (uint8_t)state->type : 0;
	return 0;
}

static int command(unsigned long request, const struct nvme_passthru_cmd *cmd)
{
	struct state state;
	int fd, r = NVME_SC_INVALID_OPCODE;

	if (request == NVME_IOCTL_ADMIN_CMD && cmd->opcode == nvme_admin_identify)
		return identify(cmd);
	fd = state_open(&state);
	if (request == NVME_IOCTL_ADMIN_CMD && cmd->opcode == nvme_admin_set_features)
		r = set_feature(&state, cmd);
	else if (request == NVME_IOCTL_IO_CMD && state.protected)
		r = NVME_SC_NS_WRITE_PROTECTED; /* as Linux's target does */
	else if (request == NVME_IOCTL_IO_CMD && can("reserve") && cmd->opcode == nvme_cmd_resv_register)
		r = do_register(&state, cmd);
	else if (request == NVME_IOCTL_IO_CMD && can("reserve") && cmd->opcode == nvme_cmd_resv_acquire)
		r = do_acquire(&state, cmd);
	else if (request == NVME_IOCTL_IO_CMD && can("reserve") && cmd->opcode == nvme_cmd_resv_release)
		r = do_release(&state, cmd);
	else if (request == NVME_IOCTL_IO_CMD && can("reserve") && cmd->opcode == nvme_cmd_resv_report)
		r = do_report(&state, cmd);
	state_close(fd, &state);
	return r;
}

/* Whether it is the namespace itself. */
static bool takes_commands(int fd)
{
	const char *device = getenv("NVME_DEVICE");
	char number[32];
	struct stat st;

	if (!device || fstat(fd, &st) < 0)
		return true;
	snprintf(number, sizeof(number), "%u:%u", major(st.st_rdev), minor(st.st_rdev));
	return !strcmp(number, device);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct state state;
	va_list ap;
	void *argument;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	if (!takes_commands(fd))
		return (int)syscall(SYS_ioctl, fd, request, argument);
	if (request == NVME_IOCTL_ADMIN_CMD || request == NVME_IOCTL_IO_CMD)
		return command(request, argument);
	if (request == BLKROGET) {
		state_close(state_open(&state), &state);
		*(int *)argument = state.protected;
		return 0;
	}
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

static ssize_t write_at(int fd, const void *bytes, size_t length, off_t offset)
{
	struct state state;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISBLK(st.st_mode)) {
		state_close(state_open(&state), &state);
		if (state.protected || (state.holder && state.holder != 1 + find_self(&state))) {
			errno = state.protected ? EPERM : EBADE;
			return -1;
		}
	}
	return syscall(SYS_pwrite64, fd, bytes, length, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
	return write_at(fd, bytes, length, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
	return write_at(fd, bytes, length, offset);
}
