# SPDX-License-Identifier: MIT
"""Prints what calls return, a line each, without anything that varies from run to run."""
import errno
import gc
import hashlib
import os
import sys

SECTIONS = []
MOUNT_DEVICE = os.stat(os.environ["MNT"]).st_dev


def short(value):
    """A value as it is printed: long bytes by their sum, attributes by every field"""
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = bytes(value)
        return repr(value) if len(value) <= 32 else f"{len(value)} bytes {hashlib.sha1(value).hexdigest()[:12]}"
    if isinstance(value, str) and len(value) > 60:
        return f"{len(value)} characters {hashlib.sha1(value.encode(errors='surrogateescape')).hexdigest()[:12]}"
    if isinstance(value, os.stat_result):
        names = "mode dev uid gid size blksize rdev".split()
        # Elsewhere reading changes the time of access, and what a test wrote is of today and on blocks of its own.
        names += "ino nlink blocks atime_ns mtime_ns ctime_ns".split() if value.st_dev == MOUNT_DEVICE else []
        return " ".join(f"{name}={getattr(value, 'st_' + name)}" for name in names)
    if isinstance(value, (list, tuple)):
        parts = [short(part) for part in value]
        text = ", ".join(parts)
        return f"[{text}]" if len(text) < 400 else f"{len(parts)} values {hashlib.sha1(text.encode()).hexdigest()[:12]}"
    return repr(value)


def show(name, call, *arguments, **words):
    """Prints the value of call(*arguments), or the error that it raises; returns the value, or None"""
    try:
        value = call(*arguments, **words)
    except OSError as error:
        code = errno.errorcode.get(error.errno, error.errno)
        print(f"{name}: {type(error).__name__} {code} {error.filename!r}")
    except Exception as error:  # whatever it is, both sides must have it
        print(f"{name}: {type(error).__name__} {error}")
    else:
        print(f"{name}: {short(value)}")
        return value
    return None


def section(function):
    SECTIONS.append(function)
    return function


def run_sections(*arguments):
    """All sections, or those that are named on the command line; descriptors that one leaves open are told"""
    wanted = sys.argv[1:]
    for function in SECTIONS:
        if wanted and function.__name__ not in wanted:
            continue
        print(f"== {function.__name__}")
        before = os.open("/dev/null", os.O_RDONLY)
        os.close(before)
        function(*arguments)
        gc.collect()  # what is garbage may have files open
        after = os.open("/dev/null", os.O_RDONLY)
        os.close(after)
        print(f"lowest free descriptor: {after - before} more than before")
        sys.stdout.flush()
