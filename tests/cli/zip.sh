#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke in=asan
# Zip archives as a source: modes, links and times of their directory, from a file and from a pipe; what is damaged,
# encrypted or a bomb, or lies beside another archive, is refused.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

# The script writes the archives itself, so neither zip nor unzip is needed.
python3 - <<'PYTHON' || fail "the archives"
import io
import os
import struct
import zipfile
import zlib

def entry(name, mode=0o100644, time=(2021, 7, 1, 12, 30, 8), system=3, method=zipfile.ZIP_DEFLATED):
    info = zipfile.ZipInfo(name, time)
    info.create_system, info.external_attr, info.compress_type = system, mode << 16, method
    return info

def save(name, entries, comment=b""):
    with zipfile.ZipFile(name, "w") as out:
        out.comment = comment
        for info, content in entries:
            out.writestr(info, content)
    return open(name, "rb").read()

def write(name, content):
    with open(name, "wb") as file:
        file.write(content)

tree = [(entry("d/", 0o40751), b""), (entry("d/file", 0o100640), b"content " * 1000), (entry("d/stored", 0o104755,
        method=zipfile.ZIP_STORED), b"as it is"), (entry("d/bzip2", method=zipfile.ZIP_BZIP2), b"b" * 5000),
        (entry("d/lzma", method=zipfile.ZIP_LZMA), b"l" * 5000), (entry("link", 0o120777), b"d/file"),
        (entry("implied/\u00e4\u20ac", 0o100600), b"name"), (entry("dos", 0, system=0), b"no mode"),
        (entry("nothing", 0), b"no mode either"), (entry("empty"), b"")]
whole = save("tree.zip", tree, b"PK\5\6 a comment")
at = whole.rindex(b"nothing") - 46               # its record in the directory: without a mode
whole = whole[:at + 38] + bytes(4) + whole[at + 42:]
write("tree.zip", whole)
other = save("other.zip", [(entry("other"), b"other")])
save("none.zip", [])
with zipfile.ZipFile("wide.zip", "w") as out: # zip64 where it is not needed, and an end of zip64
    with out.open(entry("wide"), "w", force_zip64=True) as file:
        file.write(b"wide " * 1000)
end = struct.unpack("<4s4H2LH", open("wide.zip", "rb").read()[-22:])
body = open("wide.zip", "rb").read()[:-22]
wide = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, end[3], end[4], end[5], end[6])
locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(body), 1)
saturated = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0)
write("wide.zip", body + wide + locator + saturated)
huge = wide[:48] + struct.pack("<Q", 1 << 62)
write("wide-lies.zip", body + huge + locator + saturated)
raw = save("bytes.zip", [(entry("name-xx"), b"x")])
write("bytes.zip", raw.replace(b"name-xx", b"name-\xff\xe9"))
save("after-link.zip", [(entry("l", 0o120777), b"a"), (entry("a"), b"x")])
raw = save("oem.zip", [(entry("f-r/"), b""), (entry("f-r/file"), b"x"), (entry("\u00fc"), b"utf-8"),
                       (entry("link", 0o120777, method=zipfile.ZIP_STORED), b"f-r/file"),
                       (entry("plain-c3-b6"), b"unmarked utf-8")])
write("oem.zip", raw.replace(b"f-r/", b"f\x81r/").replace(b"plain-c3-b6", b"plain-\xc3\xb6-bb"))

write("two.zip", whole + other)
write("front.zip", b"PK\3\4 not a zip" + other)
write("behind.zip", whole + b"something else")
write("padded.zip", whole + bytes(10240))         # as bsdtar writes it to a pipe
write("long-comment.zip", whole[:-16] + struct.pack("<H", 60000) + b"c" * 60000)
with open("marked.zip", "wb") as file:           # the only part of one that might have had several
    file.write(b"PK00")
    with zipfile.ZipFile(file, "w") as out:
        out.writestr(entry("other"), b"other")
write("part.zip", b"PK\7\10" + whole[:1000])
write("last-part.zip", whole[:-32] + struct.pack("<2H", 1, 1) + whole[-28:])
write("cut.zip", whole[:len(whole) // 2])
flipped = bytearray(whole)
flipped[whole.index(b"as it is")] ^= 1
write("flipped.zip", flipped)
encrypted = bytearray(other)
encrypted[6] |= 1                             # in the header and in the directory
encrypted[other.index(b"PK\1\2") + 8] |= 1
write("encrypted.zip", encrypted)
# Two names of one place, and a file that promises more than it has.
raw = save("shared.zip", [(entry("a"), b"content"), (entry("b"), b"content")])
second = raw.index(b"PK\1\2", raw.index(b"PK\1\2") + 1)
write("shared.zip", raw[:second + 42] + struct.pack("<L", 0) + raw[second + 46:])
raw = save("longer.zip", [(entry("a", method=zipfile.ZIP_STORED), b"content")])
at = raw.index(b"PK\1\2")
size = struct.pack("<L", 1 << 30)
write("longer.zip", raw[:22] + size + raw[26:at + 24] + size + raw[at + 28:])
save("bomb.zip", [(entry("zeros"), bytes(300 << 20))])
# Two names of their own places, the content of the first is all of the second.
def stored(name, content):
    sizes = struct.pack("<3L", zlib.crc32(content), len(content), len(content))
    fields = struct.pack("<5H", 20, 0, 0, 0, 33) + sizes + struct.pack("<2H", len(name), 0)
    return (b"PK\3\4" + fields + name + content,
            b"PK\1\2" + struct.pack("<H", 0x314) + fields + struct.pack("<3H2L", 0, 0, 0, 0o100644 << 16, 0) + name)
inner, inner_record = stored(b"b", b"content")
outer, outer_record = stored(b"a", inner)
inner_record = inner_record[:-5] + struct.pack("<L", len(outer) - len(inner)) + b"b"
central = outer_record + inner_record
write("quoted.zip", outer + central + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 2, 2, len(central), len(outer), 0))
# A bomb of files that overlap: all have the same content.
kernel = zipfile.ZipFile(io.BytesIO(save("kernel.zip", [(entry("k"), bytes(1 << 20))])))
packed = open("kernel.zip", "rb").read()[31:][:kernel.infolist()[0].compress_size]
crc, central, count = kernel.infolist()[0].CRC, b"", 300
for i in range(count):
    central += struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 8, 0, 33, crc, len(packed), 1 << 20, 5,
                           0, 0, 0, 0, 0o100644 << 16, 0) + b"f%04d" % i
local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, crc, len(packed), 1 << 20, 5, 0) + b"f0000" + packed
# One of macOS: more than 4 GiB, no zip64, only the lower 32 bits of offsets are there; here with holes between entries.
def wrapped(name, entries):
    with open(name, "wb") as file:
        central = b""
        for at, entry_name, content in entries:
            part, record = stored(entry_name, content)
            file.seek(at)
            file.write(part)
            central += record[:42] + struct.pack("<L", at & 0xffffffff) + record[46:]
        at, count = file.tell(), len(entries)
        file.write(central + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(central), at & 0xffffffff, 0))
GIB = 1 << 30
wrapped("wrapped.zip", [(0, b"1", b"first"), (3 * GIB, b"2", b"2" * 70000), (4 * GIB + 100, b"3", b"third"),
                        (4 * GIB + 200, b"4", b"fourth"), (8 * GIB + 7, b"5", b"fifth"), (8 * GIB + 99, b"6", b"")])
wrapped("disordered.zip", [(at, name, b"x") for at, name in ((0, b"1"), (3 * GIB, b"2"), (2 * GIB, b"3"),
                                                             (GIB, b"4"), (4 * GIB + 5, b"5"))])
# Programs that unpack themselves: the archive counts from its own beginning, or from that of the file.
program = b"\x7fELF" + b"program " * 1000
write("program", program + other)
at, shift = other.index(b"PK\1\2"), len(program)
write("program-counts", program + other[:at + 42] + struct.pack("<L", shift) + other[at + 46:-6] +
      struct.pack("<L", at + shift) + other[-2:])
write("script", b"#!/usr/bin/env python3\n" + open("wide.zip", "rb").read())
write("program-two", program + whole + other)
write("program-none", program)
raw = save("method.zip", [(entry("a.csv", method=zipfile.ZIP_STORED), b"content")])
at = raw.index(b"PK\1\2")
write("method.zip", raw[:8] + b"\t\0" + raw[10:at + 10] + b"\t\0" + raw[at + 12:])
write("same-place.zip", local + central + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(central),
                                                       len(local), 0))
PYTHON

# listed VOLUME: of each inode type, mode, time, size and name
listed() {
    datasetfsctl dump "$1" | awk '$2 ~ /^[dfl]$/ { print $2, $3, $6, $8, $NF }'
}

for zone in America/New_York Asia/Tokyo UTC; do # times without a zone are UTC, and 2-second steps
    rm -f v.vol
    TZ=$zone pack v.vol tree.zip
    listed v.vol >found.${zone##*/}
done
cmp found.New_York found.UTC && cmp found.Tokyo found.UTC || fail "other times in other zones"
sed 's/\.0*//' found.UTC >found
assert_eq "what is packed" "$(cat found)" 'd 0755 0 6 /
d 0751 1625142608 4 d
f 0664 1625142608 7 dos
f 0644 1625142608 0 empty
d 0755 0 1 implied
l 0777 1625142608 6 link
f 0664 1625142608 14 nothing
f 0644 1625142608 5000 bzip2
f 0640 1625142608 8000 file
f 0644 1625142608 5000 lzma
f 4755 1625142608 8 stored
f 0600 1625142608 4 \xc3\xa4\xe2\x82\xac'
datasetfsctl verify v.vol >verify.log || { cat verify.log; fail "verify"; }

# The same from a pipe, from standard input that is a file, and beside other archives.
digest_of() {
    rm -f d.vol
    mkdatasetfs --progress none --json d.vol "$@" >summary.json || fail "mkdatasetfs $*"
    json digest summary.json
}
want=$(digest_of tree.zip)
assert_eq "from a pipe" "$(digest_of - < <(cat tree.zip))" "$want"
assert_eq "from standard input" "$(digest_of - <tree.zip)" "$want"
assert_eq "zeros behind it" "$(digest_of padded.zip)" "$want"
assert_eq "a long comment" "$(digest_of long-comment.zip)" "$want"
assert_eq "the only part" "$(digest_of marked.zip)" "$(digest_of other.zip)"
want=$(digest_of tree.zip other.zip)
mkdir others && echo -n other >others/other && chmod 644 others/other && touch -d @1625142608 others/other
tar -C others --owner 0 --group 0 --format=pax -cf others.tar other
assert_eq "a zip and a tar" "$(digest_of <(cat tree.zip) others.tar)" "$want"
assert_eq "zips of two pipes, the longer one first" "$(digest_of <(cat tree.zip) <(cat other.zip))" "$want"
pack w.vol wide.zip
assert_eq "zip64" "$(listed w.vol | awk '/wide/ { print $4 }')" 5000
# Names that are not UTF-8 are code page 437's, marked or not.
# named NAME [OPTIONS…]: that of bytes.zip
named() {
    rm -f b.vol
    pack b.vol bytes.zip "${@:2}"
    assert_eq "the name with ${*:2}" "$(listed b.vol | awk '/name/ { print $5 }')" "$1"
}
named 'name-\xc2\xa0\xce\x98'
named 'name-\xff\xe9' --zip-charset none
named 'name-\xc3\xbf\xc3\xa9' --zip-charset latin1
named 'name-\xd0\xaa\xd0\x98' --zip-charset=KOI8-R
assert_fails 1 "'bytes.zip': the name 'name-\\xff\\xe9' in it is neither in UTF-8 nor in ASCII: name its character $(
    )set by --zip-charset" mkdatasetfs --progress none x.vol bytes.zip --zip-charset ASCII
assert_fails 2 "option '--zip-charset': 'klingon' is not none, nor a character set that 'iconv --list' has" \
    mkdatasetfs --progress none x.vol bytes.zip --zip-charset klingon
assert_fails 1 "option '--zip-charset' is for archives" mkdatasetfs --progress none x.vol others --zip-charset latin1
pack a.vol after-link.zip
assert_eq "a short name after a compressed link" "$(datasetfsctl cat a.vol a)" x
pack o.vol oem.zip
for path in für/file ü plain-ö-bb; do
    datasetfsctl stat --json o.vol "$path" >stat.json || fail "no '$path'"
done
mkdir out && datasetfsctl extract o.vol -C out >/dev/null || fail "extract"
assert_eq "a link's target" "$(readlink out/link)" für/file

pack l.vol wrapped.zip
assert_eq "offsets that wrap" "$(datasetfsctl dump l.vol | awk '$2 == "f" { print $8, $NF }' | xargs)" \
    "5 1 70000 2 5 3 6 4 5 5 0 6"
assert_eq "content" "$(for i in 1 3 4 5; do datasetfsctl cat l.vol $i; done)" firstthirdfourthfifth
assert_eq "a program" "$(digest_of program)" "$(digest_of other.zip)"
assert_eq "a program from a pipe" "$(digest_of - < <(cat program))" "$(digest_of other.zip)"
assert_eq "a program that counts in offsets" "$(digest_of program-counts)" "$(digest_of other.zip)"
assert_eq "a script before zip64" "$(digest_of script)" "$(digest_of wide.zip)"
mkdir scripts && echo '#!/bin/sh' >'scripts/#!sh'
tar -C scripts --format=v7 -cf scripts.tar '#!sh'
pack s.vol scripts.tar
assert_eq "a tar whose first name begins like a script" "$(datasetfsctl cat s.vol '#!sh')" "#!/bin/sh"

# refused MESSAGE ARCHIVE: from a file and from a pipe
refused() {
    assert_fails 1 "$1" mkdatasetfs --progress none x.vol "$2"
    assert_fails 1 "$1" mkdatasetfs --progress none x.vol <(cat "$2")
    [ ! -e x.vol ] || fail "a volume is left of $2"
}
refused "lies behind other data in its file, another zip archive for example: put each into a file of its own" two.zip
refused "lies behind other data in its file" front.zip
refused "lies behind other data in its file" wide-lies.zip
assert_fails 1 "'disordered.zip': " mkdatasetfs --progress none x.vol disordered.zip
refused "lies behind other data in its file" program-two
refused "is not a tar or zip archive" program-none
refused "'a.csv' in it has an unknown compression (9: deflation-64-bit): unpack it, as with 7z, and pack $(
    )the directory" method.zip
refused "does not end where its file ends: what follows it is not part of a zip archive" behind.zip
refused "is one of several parts: join them first, as by 'zip -s 0 ARCHIVE.zip --out WHOLE.zip'" part.zip
refused "is one of several parts" last-part.zip
refused "the archive ends in the middle: incomplete download?" cut.zip
refused "ZIP bad CRC" flipped.zip
refused "'other' in it is encrypted: unpack it, as with 7z, and pack the directory" encrypted.zip
refused "has entries that overlap, or fewer than its directory says" shared.zip
refused "has entries that overlap, or fewer than its directory says" same-place.zip
refused "has entries that overlap, or fewer than its directory says" quoted.zip
refused "ZIP" longer.zip
refused "grows to more than 1000 times its size, as a compression bomb does" bomb.zip
refused "has nothing to pack" none.zip
(ulimit -f 1000 && assert_fails 1 "is larger than the limit of files (ulimit -f)" \
    mkdatasetfs --progress none x.vol <(printf 'PK\3\4' && head -c 2M /dev/zero)) || exit 1
