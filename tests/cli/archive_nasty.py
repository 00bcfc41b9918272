# SPDX-License-Identifier: MIT
"""Makes the archives of archive-nasty.sh.

usage: archive_nasty.py DIRECTORY
"""
import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tarfile

DIRECTORY = sys.argv[1]


def entry(name, kind=tarfile.REGTYPE, content=b"", link="", pax=None, **fields):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.pax_headers = kind, link, len(content), pax or {}
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def archive(*entries, file_format=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=file_format, encoding="utf-8", errors="surrogateescape") as tar:
        for info, content in entries:
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def save(name, content):
    with open(os.path.join(DIRECTORY, name), "wb") as file:
        file.write(content)


def zstd(content):
    return subprocess.run(["zstd", "-q", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout


def link(name, target):
    return entry(name, tarfile.LNKTYPE, link=target)


def names():
    save("up.tar", archive(entry("../up", content=b"x")))
    save("up-inside.tar", archive(entry("a/../../up", content=b"x")))
    save("absolute.tar", archive(entry("/etc/hosts", content=b"x"), link("/etc/link", "/etc/hosts")))
    save("control.tar", archive(entry(".datasetfs/x", content=b"x")))
    save("long-name.tar", archive(entry("a/" + "n" * 300, content=b"x")))
    save("bytes.tar", archive(*(entry(os.fsdecode(name), content=name) for name in (
        b"K\xe2\x84\xaa", b"\nnew", b"\xff\xfe", b"e\xcc\x81", b"\xc3\xa9", b"\xed\xa0\x80"))))


def links():
    save("link.tar", archive(entry("a", content=b"x"), link("b", "a")))
    save("link-up.tar", archive(link("passwd", "../../etc/passwd")))
    save("link-lost.tar", archive(entry("file"), link("lost", "missing")))
    save("link-self.tar", archive(link("self", "self")))
    save("link-circle.tar", archive(link("one", "two"), link("two", "three"), link("three", "one")))
    save("link-directory.tar", archive(entry("dir", tarfile.DIRTYPE), link("name", "dir")))
    save("link-later.tar", archive(link("c", "b"), link("b", "a"), entry("a", content=b"x" * 200)))
    save("strip-link.tar", archive(entry("y", content=b"x"), link("x/b", "y")))
    save("below-symlink.tar", archive(entry("below", tarfile.SYMTYPE, link="/tmp"), entry("below/file", content=b"x")))
    save("below-file.tar", archive(entry("file", content=b"x"), entry("file/below", content=b"x")))
    save("symlink-long.tar", archive(entry("s", tarfile.SYMTYPE, link="t" * 4096)))


def kinds():
    device = {"devmajor": 1, "devminor": 3}
    save("special.tar", archive(entry("device", tarfile.CHRTYPE, **device), entry("block", tarfile.BLKTYPE, **device),
                                entry("pipe", tarfile.FIFOTYPE), entry("file", content=b"x"),
                                link("device-too", "device")))
    save("owner.tar", archive(entry("file", uid=1 << 33)))
    save("xattrs.tar", archive(entry("file", pax={"SCHILY.xattr.user.a": "v" * 40000,
                                                  "SCHILY.xattr.user.b": "v" * 40000})))
    save("duplicates.tar", archive(
        entry("a", content=b"first"), link("keeps-the-first", "a"), entry("a", content=b"second"),
        entry("dir", tarfile.DIRTYPE, mode=0o755), entry("dir", tarfile.DIRTYPE, mode=0o700, uid=1, gid=2),
        entry("d", tarfile.DIRTYPE), entry("d", content=b"now"),
        entry("s", content=b"x" * 3000000), entry("s", tarfile.SYMTYPE, link="a")))


def damage():
    whole = archive(entry("first", content=os.urandom(5000)), entry("second", content=os.urandom(100000)))
    save("empty", b"")
    save("garbage", b"no archive " * 1000)
    save("cut-content.tar", whole[:20000])
    save("cut-header.tar", whole[:5632 + 200])
    for name, packed, at in (("gz", gzip.compress(whole), -6), ("bz2", bz2.compress(whole), -4),
                             ("xz", lzma.compress(whole), -30),
                             ("zst", zstd(whole), -2)): # their sums, which come behind the end of the tar
        save(f"cut.tar.{name}", packed[:50000])
        flipped = bytearray(packed)
        flipped[at] ^= 1
        save(f"flipped.tar.{name}", flipped)
        save(f"short.tar.{name}", packed[:-3])
    save("behind.tar", whole + b"no archive " * 100)
    save("behind.tar.gz", gzip.compress(whole) + b"no archive " * 100)
    save("cut-behind.tar", whole + archive(entry("third", content=os.urandom(100000)))[:20000])
    save("short.gz", gzip.compress(os.urandom(5000))[:100])
    for name, packed in (("gz", gzip.compress(whole)), ("bz2", bz2.compress(whole)), ("xz", lzma.compress(whole)),
                         ("zst", zstd(whole))):
        save(f"magic.tar.{name}", packed[:5])
    save("frame.tar.zst", b"\x5f\x2a\x4d\x18\xff\0\0\0" + bytes(30))
    members = gzip.compress(whole[:7000]) + gzip.compress(whole[7000:]) + bytes(1000)
    save("members.tar.gz", members)
    checksum = bytearray(whole)
    checksum[5632 + 5] ^= 1
    save("checksum.tar", checksum)


def bombs():
    zeros = archive(entry("zeros", content=bytes(300 << 20)))
    save("bomb.tar.zst", zstd(zeros))
    save("nested-bomb.tar", archive(entry("inner.tar.zst", content=zstd(zeros))))
    deep = archive(entry("file", content=b"x"))
    for _ in range(9):
        deep = archive(entry("deep.tar", content=deep))
    save("deep.tar", deep)
    save("broken-inside.tar", archive(entry("broken.tar", content=bz2.compress(b"no archive"))))


def parts():
    content = os.urandom(150000)
    whole = archive(entry("big", content=content), entry("small", content=b"x"))
    for kind, packed in (("tar", whole), ("tar.gz", gzip.compress(whole))):
        save(f"split.{kind}.aa", packed[:100000])
        save(f"split.{kind}.ab", packed[100000:])
    save("split.zip.002", b"rest of a zip" * 100)
    save("split.z02", b"rest of a zip" * 100)
    for name in ("big", "small"):
        save(name, content if name == "big" else b"x")


def global_headers():
    def header(records):
        return tarfile.TarInfo.create_pax_global_header(records)

    def one(name, link_size=0, **fields):
        return archive(entry(name, content=b"x", **fields), file_format=tarfile.USTAR_FORMAT)[:1024]

    own = archive(entry("c", content=b"x", pax={"uid": "77", "mtime": "5.25"}))[:2048]
    save("global.tar", one("a", uid=5, mtime=9) + header({"uid": "4321", "gid": "99", "mtime": "86400.5"}) +
         one("b", uid=5) + own + header({"mtime": "-3.25"}) + one("d", uid=6, gid=7) + bytes(1024))
    save("global-harmless.tar", header({"comment": "0" * 40, "GNU.volume.label": "backup", "uname": "nobody"}) +
         one("a") + bytes(1024))
    for key in ("path", "linkpath", "size", "GNU.sparse.major", "SCHILY.xattr.user.a"):
        save(f"global-{key}.tar", header({key: "1"}) + one("a") + bytes(1024))
    for name, old, new in (("length", b"12 uid=4321", b"99 uid=4321"), ("number", b"uid=4321", b"uid=43x1")):
        save(f"global-{name}.tar", header({"uid": "4321"}).replace(old, new) + one("a") + bytes(1024))
    save("global-empty.tar", header({"uid": ""}) + one("a") + bytes(1024))
    body = b"garbage without an equals sign\n"
    save("global-cut.tar", header({"comment": "x" * 40})[:512] + body.ljust(512, b"\0") + one("a") + bytes(1024))
    save("headers.tar", archive(entry("a", content=b"x", pax={"comment": "c" * 300000})))


names()
links()
parts()
global_headers()
kinds()
damage()
bombs()
