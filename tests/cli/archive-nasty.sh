#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Archives that somebody made to do harm, or that are damaged: one clear line, or the tree that tar would make of them.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command zstd

python3 "$DATASETFS_SOURCE/tests/cli/archive_nasty.py" . || fail "archive_nasty.py"

# refused MESSAGE ARCHIVE… [OPTIONS…]: status 1, that one line, and no volume
refused() {
    assert_fails 1 "$1" mkdatasetfs --progress none x.vol "${@:2}"
    [ ! -e x.vol ] || fail "a volume is left of ${*:2}"
}

refused "'../up' in the archive has '..' in it" up.tar
refused "'a/../../up' in the archive has '..' in it" up-inside.tar
refused "'../../etc/passwd' in the archive has '..' in it" link-up.tar
refused "'below/file' in the archive lies below 'below', which is a symbolic link" below-symlink.tar
refused "'file/below' in the archive lies below 'file', which is a regular file" below-file.tar
refused "'lost' is a hard link to 'missing', a file that the archive does not have" link-lost.tar
refused "'self' is a hard link to 'self', a file that the archive does not have" link-self.tar
refused "'one' is a hard link to 'three', a file that the archive does not have" link-circle.tar
refused "'name' is a hard link to a directory" link-directory.tar
refused "'b' is a hard link to 'a', which is left out" link.tar --exclude /a
refused "'b' is a hard link to 'y', which is left out" strip-link.tar --strip-components 1
refused "'.datasetfs' at its top" control.tar
refused "...': a name of 300 bytes, expected at most 255" long-name.tar
refused "'empty' is empty" empty
refused "standard input is empty" - </dev/null
refused "'garbage': is not a tar or zip archive" garbage
CUT="the archive ends in the middle: incomplete download?"
refused "'cut-content.tar': $CUT" cut-content.tar
refused "'cut-header.tar': $CUT" cut-header.tar
refused "'flipped.tar.gz': incorrect data check" flipped.tar.gz
for kind in gz bz2 xz zst; do
    refused "'flipped.tar.$kind': " flipped.tar.$kind
    refused "'short.tar.$kind': $CUT" short.tar.$kind
    refused "'cut.tar.$kind': $CUT" cut.tar.$kind
    grep -v "$CUT" <(mkdatasetfs --progress none x.vol flipped.tar.$kind 2>&1) || fail "flipped is not cut"
done
for archive in behind.tar behind.tar.gz; do
    refused "'$archive': what follows the archive, at byte 112640 of the decompressed data, is no tar archive" \
        $archive
done
refused "'cut-behind.tar': $CUT" cut-behind.tar
for archive in short.gz magic.tar.{gz,bz2,xz,zst} frame.tar.zst; do
    refused "'$archive': $CUT" $archive
done
refused "'checksum.tar': " checksum.tar
PARTS="looks like one of several parts: join them in their order, as in 'cat PARTS | mkdatasetfs VOLUME -'"
for kind in tar tar.gz; do
    for part in aa ab; do refused "'split.$kind.$part': $PARTS" split.$kind.$part; done
    cat split.$kind.a? | mkdatasetfs --progress none x.vol - >pack.log || { cat pack.log; fail "joined parts"; }
    rm x.vol
done
refused "'split.zip.002': $PARTS" split.zip.002
refused "'split.z02': is one of several parts: join them first, as by 'zip -s 0" split.z02
refused "'cut-content.tar': $CUT If it is the first of several parts: 'cat PARTS | mkdatasetfs VOLUME -' joins them, $(
    )except those of 'tar -M'" cut-content.tar
VOLUMES="is one of several volumes of 'tar -M': unpack them, as with 'tar -xM -f FIRST -f SECOND', and pack $(
    )the directory"
for format in gnu pax; do
    printf 'n %s-2.tar\nn %s-3.tar\n' $format $format |
        tar -M -L 100 --format=$format -cf $format-1.tar big small >/dev/null || fail "tar -M"
    refused "'$format-2.tar': $VOLUMES" $format-2.tar
    refused "'$format-1.tar': $VOLUMES" $format-1.tar $format-2.tar
done
head -c 1000 big | zstd -q --long=28 >window.tar.zst
refused "'window.tar.zst': needs a window of more than 128 MiB, as of 'zstd --long=28': decompress it first, as in $(
    )'zstd -dc --long=31 ARCHIVE | mkdatasetfs VOLUME -'" window.tar.zst
assert_fails 1 "source '-' is named twice, but can be read only once" mkdatasetfs x.vol - - <link.tar
mkfifo twice
assert_fails 1 "source 'twice' is named twice" timeout 20 mkdatasetfs x.vol twice twice <link.tar 3<>twice
for url in gs://bucket/train.tar ftp://example.org/train.tar; do
    refused "cannot open source '$url': of URLs only https://, http:// and s3:// are read: pipe the archive into '-', $(
        )as in 'gsutil cat URL | mkdatasetfs VOLUME -'" $url
    refused "cannot open source '$url': of URLs only" link.tar $url
done
refused "has an owner or a group above" owner.tar
refused "the symlink's target is empty or too long" symlink-long.tar
refused "'xattrs.tar': the user attributes of 'file' take more than 65536 bytes" xattrs.tar
refused "'block' is a device" special.tar --special fail
refused "grows to more than 1000 times its size, as a compression bomb does: if it is none, decompress it first, as $(
    )in 'zcat ARCHIVE | mkdatasetfs VOLUME -', or unpack it and pack the directory" bomb.tar.zst
zstd -qdc bomb.tar.zst | mkdatasetfs --progress none --json zeros.vol - >zeros.json ||
    fail "decompressed, it is no bomb"
assert_eq "its content" "$(json content_bytes zeros.json)" $((300 << 20))
refused "grows to more than 1000 times its size, as a compression bomb does" nested-bomb.tar --nested
refused "more than 8 archives inside each other" deep.tar --nested
refused "in the archive that becomes the folder 'broken/': is not a tar or zip archive" broken-inside.tar --nested

# paths VOLUME: those of its files, and how many names each inode has
paths() {
    datasetfsctl dump "$1" | awk '$2 ~ /^[flh]$/ { print $2, $NF, $2 == "f" ? $7 : "" }' | sort | xargs
}

pack v.vol absolute.tar
assert_contains "the warning" "$(cat pack.log)" \
    "'/etc/hosts' in the archive is absolute: names are taken without their leading '/'"
assert_eq "absolute names" "$(paths v.vol)" "f hosts 2 h link"
rm v.vol
pack v.vol special.tar
assert_contains "the warning" "$(cat pack.log)" "'device' is a device, ignoring"
assert_eq "devices and FIFOs" "$(paths v.vol)" "f file 1"
rm v.vol

# Global headers of PAX hold for all entries that follow, unless these say otherwise.
for key in path linkpath size GNU.sparse.major SCHILY.xattr.user.a; do
    refused "'global-$key.tar': has a global header with '$key' for all entries: unpack it with tar" global-$key.tar
done
for archive in global-cut.tar global-length.tar global-number.tar global-empty.tar; do
    refused "'$archive': has a damaged PAX header" $archive
done
refused "'headers.tar': has an entry with more than 250 KiB of headers" headers.tar
pack v.vol global-harmless.tar
rm v.vol
if is_root; then
    pack v.vol global.tar
    mkdir global && tar -C global --numeric-owner --warning=no-timestamp -xpf global.tar || fail "tar"
    touch -d @0 global && chmod 755 global && chown 0:0 global
    pack g.vol global
    datasetfsctl dump g.vol >global.dump
    datasetfsctl dump v.vol | diff global.dump - || fail "not what tar unpacks"
    rm v.vol
fi

# The later entry counts; a link keeps what its target was.
pack v.vol duplicates.tar
datasetfsctl dump v.vol >dump
assert_eq "duplicates" "$(paths v.vol)" "f a 1 f d 1 f keeps-the-first 1 l s"
assert_eq "sizes" "$(awk '$2 == "f" { print $8, $NF }' dump | sort -k2 | xargs)" "6 a 3 d 5 keeps-the-first"
grep -q '^[0-9]* d 0700 1 2 ' dump || fail "the later directory: $(cat dump)"
datasetfsctl verify v.vol >verify.log || { cat verify.log; fail "verify"; }
rm v.vol

# A link to a target that comes later, and one to that link.
pack v.vol link-later.tar
assert_eq "links to what comes later" "$(paths v.vol)" "f a 3 h b h c"
rm v.vol

# Several members, as pigz and bgzip write them, and zeros behind them.
pack v.vol members.tar.gz
assert_eq "members of gzip" "$(paths v.vol)" "f first 1 f second 1"
rm v.vol

# Names that are no text.
pack v.vol bytes.tar
assert_eq "bytes" "$(datasetfsctl dump v.vol | awk '$2 == "f" { printf "%s ", $NF }')" \
    '\x0anew K\xe2\x84\xaa e\xcc\x81 \xc3\xa9 \xed\xa0\x80 \xff\xfe '
rm v.vol

# The process that decodes has no rights, and takes no memory for what an archive says.
mkfifo slow
mkdatasetfs --progress none v.vol slow >pack.log 2>&1 &
packer=$!
exec 9>slow
head -c 700 link.tar >&9 # it waits for more
wait_for 30 pgrep -P $packer
child=$(pgrep -P $packer)
wait_for 30 grep -q '^Seccomp:[[:space:]]*2' "/proc/$child/status"
assert_eq "capabilities" "$(awk '/^Cap(Prm|Eff)/ { print $2 }' "/proc/$child/status" | sort -u)" 0000000000000000
assert_eq "no_new_privs" "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$child/status")" 1
if is_root; then
    assert_eq "user" "$(awk '/^Uid/ { print $2, $3, $4, $5 }' "/proc/$child/status")" "65534 65534 65534 65534"
    assert_eq "its root" "$(ls -A "/proc/$child/root/")" ""
    assert_eq "descriptors" "$(find "/proc/$child/fd" -mindepth 1 | wc -l)" 3 # archive, stream, spool
fi

# If it is killed the packer says so.
kill -KILL "$child"
exec 9>&-
exits 1 wait $packer
assert_contains "the line" "$(cat pack.log)" "the process that decodes archives was ended by signal 9 (Killed)"
[ ! -e v.vol ] || fail "a volume is left"

# An interrupted packer ends it.
mkdatasetfs --progress none v.vol slow >pack.log 2>&1 &
packer=$!
exec 9>slow
wait_for 30 pgrep -P $packer
child=$(pgrep -P $packer)
kill -TERM $packer
exits 1 wait $packer
assert_contains "the line" "$(cat pack.log)" "interrupted"
kill -0 "$child" 2>/dev/null && fail "the process that decodes is still there"
exec 9>&-
[ ! -e v.vol ] || fail "a volume is left"

# A packer that cannot write does not wait for the rest of the archive.
head -c 48M /dev/urandom >large
mkfifo rest
(ulimit -f 4096 && exec mkdatasetfs --progress none v.vol rest) >pack.log 2>&1 &
packer=$!
exec 9>rest
tar -c large | head -c 40M >&9 2>/dev/null || true # and then nothing comes any more
rc=0
wait $packer || rc=$?
exec 9>&-
assert_eq "status" $rc 1
assert_contains "the line" "$(cat pack.log)" "files of this process may not be larger than 4194304 bytes"

# A publisher with fewer privileges to drop packs as well.
pack v.vol link.tar
if is_root; then
    mkdir theirs
    chmod 777 theirs .
    cp link.tar theirs/
    chmod 644 theirs/link.tar
    as_user mkdatasetfs --progress none --temp-dir theirs theirs/a.vol theirs/link.tar >pack.log 2>&1 ||
        { cat pack.log; fail "as a user"; }
    setpriv --bounding-set=-all --inh-caps=-all mkdatasetfs --progress none b.vol link.tar >pack.log 2>&1 ||
        { cat pack.log; fail "as root without capabilities"; }
fi
