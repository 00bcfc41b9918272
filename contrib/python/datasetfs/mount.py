# SPDX-License-Identifier: MIT
"""A mount and its control file; numbers and layout are those of include/datasetfs/control.h."""
import collections
import fcntl
import json
import os
import struct
import uuid as uuids

CONTROL_PREPARE = 1
CONTROL_BY_UUID = 2
# struct control_switch: flags, reserved, label, if_current, uuid, sequence, prepare_us, switch_us, reason
LAYOUT = struct.Struct("=II128s128s16sQQQ504s")
CONTROL_IOC_SWITCH = 3 << 30 | LAYOUT.size << 16 | ord("d") << 8 | 1

Version = collections.namedtuple("Version", "label uuid sequence prepare_us switch_us")


class SwitchError(OSError):
    """The mount is as it was; errno and strerror say why."""


def _label(text):
    label = os.fsencode(text or "")
    if len(label) > 127:
        raise ValueError(f"a label of {len(label)} bytes, expected at most 127")
    return label


class Mount:
    """Opens nothing until it is used and keeps nothing open, so that it survives fork and pickling."""

    def __init__(self, path):
        self.path = os.fspath(path)

    def __repr__(self):
        return f"Mount({self.path!r})"

    def _file(self, name):
        return os.path.join(self.path, ".datasetfs", name)

    @property
    def version(self):
        """What .datasetfs/version says now: a dict with label, uuid, digest, sequence and more."""
        with open(self._file("version"), encoding="utf-8") as file:
            return json.load(file)

    def prepare(self, label=None, *, uuid=None, if_current=None):
        """Loads and verifies a version, by default the volume's current one, so that the switch to it is quick."""
        return self._command(CONTROL_PREPARE, label, uuid, if_current)

    def switch(self, label=None, *, uuid=None, if_current=None):
        """From its return on every open by a path through the mount sees that version."""
        return self._command(0, label, uuid, if_current)

    def _command(self, flags, label, uuid, if_current):
        if label and uuid:
            raise ValueError("either a label or a UUID")
        if uuid:
            flags |= CONTROL_BY_UUID
        number = uuids.UUID(str(uuid)).bytes if uuid else bytes(16)
        answer = bytearray(LAYOUT.pack(flags, 0, _label(label), _label(if_current), number, 0, 0, 0, b""))
        fd = os.open(self._file("control"), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.ioctl(fd, CONTROL_IOC_SWITCH, answer, True)
        except OSError as error:
            reason = LAYOUT.unpack(answer)[-1].split(b"\0")[0].decode(errors="replace")
            raise SwitchError(error.errno, reason or error.strerror, self.path) from None
        finally:
            os.close(fd)
        _, _, name, _, number, sequence, prepare_us, switch_us, _ = LAYOUT.unpack(answer)
        return Version(os.fsdecode(name.split(b"\0")[0]), str(uuids.UUID(bytes=number)), sequence, prepare_us, switch_us)
