# SPDX-License-Identifier: MIT
"""A mount and its control file; numbers and layout are those of include/datasetfs/control.h."""
import collections
import errno
import fcntl
import json
import os
import struct
import time
import uuid as uuids

DSFS_SWITCH_PREPARE = 1
DSFS_SWITCH_BY_UUID = 2
# struct dsfs_switch: flags, reserved, label, if_current, uuid, sequence, prepare_us, switch_us, reason
LAYOUT = struct.Struct("=II128s128s16sQQQ504s")
DSFS_IOC_SWITCH = 3 << 30 | LAYOUT.size << 16 | ord("d") << 8 | 1

# Attribute of the root of a mount that the kernel serves without a daemon
DSFS_VERSION_ATTRIBUTE = "user.datasetfs-version"

BUSY_PAUSE = 0.05  # seconds

Version = collections.namedtuple("Version", "label uuid sequence prepare_us switch_us")


class SwitchError(OSError):
    """The mount is as it was; errno and strerror say why."""


def _label(text):
    label = os.fsencode(text or "")
    if len(label) > 127:
        raise ValueError(f"a label of {len(label)} bytes, expected at most 127")
    return label


def _reason(answer):
    return LAYOUT.unpack(answer)[-1].split(b"\0")[0].decode(errors="replace")


def _is_erofs(path):
    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
        return any(line.split()[2] == number and " - erofs " in line for line in mounts)


class Mount:
    """Opens nothing until it is used and keeps nothing open, so that it survives fork and pickling.

    A mount takes few commands at a time, three may be all, and the ranks of a machine give theirs together:
    a command that finds no room is given again for busy_timeout seconds.
    """

    def __init__(self, path, busy_timeout=300):
        self.path = os.fspath(path)
        self.busy_timeout = busy_timeout

    def __repr__(self):
        return f"Mount({self.path!r})"

    def _file(self, name):
        return os.path.join(self.path, ".datasetfs", name)

    @property
    def version(self):
        """Says what is mounted now: a dict with label, uuid, digest, sequence and more."""
        try:
            with open(self._file("version"), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            text = self._attribute()
            if text is None:
                raise
            return json.loads(text)

    @property
    def is_by_kernel(self):
        """Whether the kernel serves it without a daemon, as with -o kernel."""
        return self._attribute() is not None

    def _attribute(self):
        """None: it is no such mount. Elsewhere the attribute says what was copied."""
        try:
            text = os.getxattr(self.path, DSFS_VERSION_ATTRIBUTE)
        except OSError as error:
            if error.errno in (errno.ENODATA, errno.ENOENT) or not _is_erofs(self.path):
                return None
            raise
        return text if _is_erofs(self.path) else None

    def prepare(self, label=None, *, uuid=None, if_current=None):
        """Loads and verifies a version, by default the volume's current one, so that the switch to it is quick."""
        return self._command(DSFS_SWITCH_PREPARE, label, uuid, if_current)

    def switch(self, label=None, *, uuid=None, if_current=None):
        """From its return on every open by a path through the mount sees that version."""
        return self._command(0, label, uuid, if_current)

    def _command(self, flags, label, uuid, if_current):
        if label and uuid:
            raise ValueError("either a label or a UUID")
        if uuid:
            flags |= DSFS_SWITCH_BY_UUID
        number = uuids.UUID(str(uuid)).bytes if uuid else bytes(16)
        command = LAYOUT.pack(flags, 0, _label(label), _label(if_current), number, 0, 0, 0, b"")
        fd = os.open(self._file("control"), os.O_RDONLY | os.O_CLOEXEC)
        try:
            answer = self._give(fd, command)
        finally:
            os.close(fd)
        _, _, name, _, number, sequence, prepare_us, switch_us, _ = LAYOUT.unpack(answer)
        label = os.fsdecode(name.split(b"\0")[0])
        return Version(label, str(uuids.UUID(bytes=number)), sequence, prepare_us, switch_us)

    def _give(self, fd, command):
        give_up = time.monotonic() + self.busy_timeout
        while True:
            answer = bytearray(command)
            try:
                fcntl.ioctl(fd, DSFS_IOC_SWITCH, answer, True)
                return answer
            except OSError as error:
                reason = _reason(answer)
                if error.errno != errno.EBUSY or reason:  # a command that was taken and failed has a reason
                    raise SwitchError(error.errno, reason or error.strerror, self.path) from None
            if time.monotonic() >= give_up:
                text = f"too many commands were under way for {self.busy_timeout} s"
                raise SwitchError(errno.EBUSY, text, self.path)
            time.sleep(BUSY_PAUSE)
