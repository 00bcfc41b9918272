# SPDX-License-Identifier: MIT
"""libdatasetfs by ctypes: where it is, its structures and calls as include/datasetfs/datasetfs.h has them, its errors
as exceptions. It is loaded by the first call that needs it."""
import contextlib
import ctypes
import functools
import importlib
import os
import platform
import re
import sysconfig

NAME = "libdatasetfs.so.0"
DSFS_OPEN_DIRECT = 1
DSFS_OPEN_MOUNT = 2
WAYS = {1: "volume", 2: "direct", 3: "mount"}
ORDERS = {1: "tree", 2: "random"}
WHOLE = (1 << 64) - 1  # size of a read up to the end of the file
PREFIX = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))  # where all was installed


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("version", ctypes.c_char_p),
                ("digest", ctypes.c_char_p), ("trust", ctypes.c_char_p), ("revoked", ctypes.c_char_p)]


class Info(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("way", ctypes.c_uint32), ("label", ctypes.c_char * 128),
                ("uuid", ctypes.c_uint8 * 16), ("digest", ctypes.c_char * 80), ("sequence", ctypes.c_uint64),
                ("files", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("root", ctypes.c_uint64),
                ("ids", ctypes.c_uint64), ("why", ctypes.c_char * 256), ("order", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


class Read(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("offset", ctypes.c_uint64), ("size", ctypes.c_uint64),
                ("buffer", ctypes.c_void_p), ("result", ctypes.c_int64), ("user", ctypes.c_void_p)]


class Entry(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("type", ctypes.c_uint32), ("length", ctypes.c_uint32),
                ("name", ctypes.c_char_p), ("path", ctypes.c_char_p)]


class Stat(ctypes.Structure):
    """struct stat as Linux has it on x86_64; on other 64-bit machines it is the generic one."""

    if platform.machine() == "x86_64":
        _head = [("st_nlink", ctypes.c_uint64), ("st_mode", ctypes.c_uint32), ("st_uid", ctypes.c_uint32),
                 ("st_gid", ctypes.c_uint32), ("_pad", ctypes.c_uint32), ("st_rdev", ctypes.c_uint64)]
        _middle, _left = [("st_blksize", ctypes.c_int64), ("st_blocks", ctypes.c_int64)], 24
    else:
        _head = [("st_mode", ctypes.c_uint32), ("st_nlink", ctypes.c_uint32), ("st_uid", ctypes.c_uint32),
                 ("st_gid", ctypes.c_uint32), ("st_rdev", ctypes.c_uint64), ("_pad", ctypes.c_uint64)]
        _middle, _left = [("st_blksize", ctypes.c_int32), ("_pad2", ctypes.c_int32), ("st_blocks", ctypes.c_int64)], 8
    _fields_ = [("st_dev", ctypes.c_uint64), ("st_ino", ctypes.c_uint64), *_head, ("st_size", ctypes.c_int64),
                *_middle, *((name, ctypes.c_int64 * 2) for name in ("st_atim", "st_mtim", "st_ctim")),
                ("_rest", ctypes.c_uint8 * _left)]

    def result(self):
        """What os.stat() makes of it."""
        times = {"st_atime": self.st_atim, "st_mtime": self.st_mtim, "st_ctime": self.st_ctim}
        more = {name: getattr(self, name) for name in ("st_blksize", "st_blocks", "st_rdev")}
        for name, (seconds, ns) in times.items():
            more[name], more[name + "_ns"] = seconds + ns * 1e-9, seconds * 10**9 + ns
        return os.stat_result((self.st_mode, self.st_ino, self.st_dev, self.st_nlink, self.st_uid, self.st_gid,
                               self.st_size, *(seconds for seconds, _ in times.values())), more)


class ShuffleOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("key", ctypes.c_char_p),
                ("count", ctypes.c_uint64), ("block", ctypes.c_uint64), ("buffer", ctypes.c_uint64)]


class ShuffleDeal(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("drop_last", ctypes.c_uint32), ("rank", ctypes.c_uint64),
                ("ranks", ctypes.c_uint64), ("workers", ctypes.c_uint64), ("batch", ctypes.c_uint64)]


class ShuffleWindows(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint64), ("count", ctypes.c_uint64)]


EACH_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Entry))

_POINTER, _INT, _ID, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t
_COUNT, _NUMBERS, _DEAL = ctypes.c_int64, ctypes.POINTER(_ID), ctypes.POINTER(ShuffleDeal)
CALLS = {
    "dsfs_reason": (ctypes.c_char_p,),
    "dsfs_release": (ctypes.c_char_p,),
    "dsfs_open": (_INT, ctypes.c_char_p, ctypes.POINTER(Options), ctypes.POINTER(_POINTER)),
    "dsfs_close": (None, _POINTER),
    "dsfs_info": (_INT, _POINTER, ctypes.POINTER(Info)),
    "dsfs_refresh": (_INT, _POINTER),
    "dsfs_lookup": (_INT, _POINTER, ctypes.POINTER(ctypes.c_char_p), _SIZE, ctypes.POINTER(ctypes.c_int64)),
    "dsfs_stat": (_INT, _POINTER, _ID, ctypes.POINTER(Stat)),
    "dsfs_readlink": (ctypes.c_ssize_t, _POINTER, _ID, ctypes.c_char_p, _SIZE),
    "dsfs_path": (ctypes.c_ssize_t, _POINTER, _ID, ctypes.c_char_p, _SIZE),
    "dsfs_list": (_INT, _POINTER, _ID, EACH_ENTRY, _POINTER),
    "dsfs_range": (_INT, _POINTER, _ID, ctypes.POINTER(_ID), ctypes.POINTER(_ID)),
    "dsfs_placed": (_INT, _POINTER, _ID, ctypes.POINTER(_ID), _SIZE),
    "dsfs_arena_new": (_INT, ctypes.POINTER(_POINTER)),
    "dsfs_arena_reset": (None, _POINTER),
    "dsfs_arena_free": (None, _POINTER),
    "dsfs_read_many": (_INT, _POINTER, ctypes.POINTER(Read), _SIZE, _POINTER),
    "dsfs_pread": (ctypes.c_ssize_t, _POINTER, _ID, _POINTER, _SIZE, _ID),
    "dsfs_read_file": (ctypes.c_ssize_t, _POINTER, ctypes.c_char_p, ctypes.POINTER(_POINTER)),
    "dsfs_shuffle_new": (_INT, ctypes.POINTER(ShuffleOptions), ctypes.POINTER(_POINTER)),
    "dsfs_shuffle_free": (None, _POINTER),
    "dsfs_shuffle_left": (_ID, _POINTER),
    "dsfs_shuffle_at": (_INT, _POINTER, _ID, _ID, _ID, _NUMBERS),
    "dsfs_shuffle_batches": (_COUNT, _POINTER, _DEAL),
    "dsfs_shuffle_batch": (_COUNT, _POINTER, _DEAL, _ID, _NUMBERS, ctypes.POINTER(ShuffleWindows)),
    "dsfs_shuffle_window": (_INT, _POINTER, _DEAL, _ID, _ID, _NUMBERS, _NUMBERS),
    "dsfs_shuffle_resume": (_INT, _POINTER, _DEAL, _ID),
}


def _places():
    """Where it may be: what the environment names, beside this package where both were installed, on the system."""
    named = os.environ.get("DATASETFS_LIBRARY")
    if named:
        return [os.path.join(named, NAME) if os.path.isdir(named) else named]
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    beside = (os.path.join(PREFIX, folder, NAME) for folder in ("lib/" + multiarch, "lib64", "lib"))
    return [path for path in beside if os.path.exists(path)] + [NAME]


@functools.lru_cache(maxsize=None)
def library():
    for place in _places():
        try:
            found = ctypes.CDLL(place)
            break
        except OSError as error:
            reason = error
    else:
        raise ImportError(f"{NAME} cannot be loaded ({reason}): install the package libdatasetfs0 that"
                          " contrib/packaging/build-deb of datasetfs makes, run 'meson install' there, or set"
                          " DATASETFS_LIBRARY to the library or its folder")
    for name, (result, *arguments) in CALLS.items():
        call = getattr(found, name)
        call.restype, call.argtypes = result, arguments
    return found


@functools.lru_cache(maxsize=None)
def calls():
    """What is called for every file or every batch: the extension where it was built, else ctypes."""
    library()  # first: the extension then finds this library loaded, and takes no other
    if os.environ.get("DATASETFS_EXTENSION", "yes") == "yes":
        try:
            return importlib.import_module("._fast", __package__)
        except ImportError:
            pass
    return importlib.import_module(".plain", __package__)


def reason():
    """Of the call of this thread that just failed."""
    return os.fsdecode(library().dsfs_reason() or b"")


def named(code, why, path):
    """An OSError of a path, which is said once: the reasons of the library name it, too, or its end below the mount."""
    given = "" if isinstance(path, int) else os.fsdecode(path)
    name, end, rest = why.partition("': ")
    if given and end and name.startswith("'") and f"/{given}".endswith("/" + name[1:].lstrip("/")):
        why = rest
    elif given:
        why = re.sub(r"^(id|inode) \d+ is ", "", why.removeprefix(f"'{given}' is "))
    return OSError(code, why, path)


@contextlib.contextmanager
def naming(path):
    """Errors name a file as it was named here."""
    try:
        yield
    except OSError as error:
        raise named(error.errno, error.strerror, path) from None


def failure(code, path=None):
    """The exception for a negative errno of the call that was just made."""
    why = reason() or os.strerror(-code)
    return OSError(-code, why) if path is None else named(-code, why, path)


def check(code, path=None):
    if code < 0:
        raise failure(code, path)
    return code
