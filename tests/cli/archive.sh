#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke
# Archives as a source: the digest of the unpacked tree, in every compression, from a pipe, of several archives, of
# archives in archives, with names taken off, in any order; the same bytes with any number of threads.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command tar
need_command zstd
need_command xz
need_command bzip2

# digest VOLUME SOURCE… [OPTIONS…]: of a new volume
digest() {
    rm -f "$1"
    mkdatasetfs --progress none --json "$@" >summary.json 2>pack.log </dev/null ||
        { cat pack.log; fail "mkdatasetfs $*"; }
    json digest summary.json
}

# same WHAT VOLUME SOURCE… [OPTIONS…]: has the digest in WANT
same() {
    local found
    found=$(digest "${@:2}")
    [ "$found" = "$WANT" ] && return
    datasetfsctl dump tree.vol >tree.dump
    datasetfsctl dump "$2" >archive.dump
    diff tree.dump archive.dump | head -n 20
    fail "$1: another digest than that of the tree"
}

# unpack DIRECTORY ARCHIVE [OPTIONS…]
unpack() {
    mkdir "$1"
    tar -C "$1" --xattrs --numeric-owner --warning=no-timestamp -xpf "$2" "${@:3}" || fail "tar -xf $2"
}

tree nasty tree --no-special --no-huge
for attribute in user.first 'user.a=b%c%3D%'; do # GNU tar writes = and % another way
    setfattr -n "$attribute" -v 0x0a00ff tree 2>/dev/null || echo "no user attributes here"
done
find tree -name 'before 1970' -exec touch -d @-5.25 {} + # of times between -1 and 0 libarchive drops the sign
mkdir -p "tree/$(printf 'd%.0s' {1..120})/$(printf 'e%.0s' {1..120})/$(printf 'f%.0s' {1..120})"
echo long >"tree/$(printf 'd%.0s' {1..120})/$(printf 'e%.0s' {1..120})/$(printf 'f%.0s' {1..120})/file"
head -c 3000000 /dev/urandom >tree/large
ln tree/large tree/a-link-before-its-target
truncate -s 40M tree/sparse
printf middle | dd of=tree/sparse bs=1 seek=20000001 conv=notrunc status=none
truncate -s 3G tree/sparser
echo end >>tree/sparser
WANT=$(digest tree.vol tree)

# One archive, which has everything.
tar_of() {
    tar --format=pax --xattrs -S -C tree "${@:2}" -cf "$1" . 2>/dev/null
}
tar_of a.tar
same "a plain tar" a.vol a.tar
datasetfsctl verify a.vol >verify.log || { cat verify.log; fail "verify"; }
assert_eq "counts" "$(json files summary.json) $(json content_bytes summary.json)" \
    "$(find tree -type f -printf '%i %s\n' | sort -u | awk '{ n++; s += $2 } END { printf "%d %.0f", n, s }')"

# Compression, and a pipe that gives a little at a time.
gzip -1k a.tar
bzip2 -1k a.tar
zstd -q -1 a.tar
xz -0k a.tar
for kind in gz bz2 zst xz; do
    same "tar.$kind" c.vol "a.tar.$kind"
done
for number in 50 5f; do # frames to skip, as pzstd and others write them, before and between others
    printf "\\x$number\\x2a\\x4d\\x18\\x04\\0\\0\\0data" >frame
    (head -c 1000000 a.tar | zstd -q && cat frame && tail -c +1000001 a.tar | zstd -q) |
        cat frame - frame >frames.tar.zst
    same "frames to skip" c.vol frames.tar.zst
done
mkdatasetfs --progress none --json piped.vol - < <(dd if=a.tar.zst bs=777 status=none) >summary.json
assert_eq "the digest of a pipe" "$(json digest summary.json)" "$WANT"
enough_for_smoke

# Archives one behind the other in a file or a pipe, compressed or not, are read to the end of the last.
mkdir -p behind/1 behind/2 both
head -c 700000 /dev/urandom >behind/1/first
echo second >behind/2/second
cp -p behind/*/* both/
touch -d @5 behind/1 behind/2 both
for i in 1 2; do
    tar --format=pax --xattrs -C behind/$i -cf $i.tar .
    gzip -k $i.tar
    bzip2 -k $i.tar
    zstd -q $i.tar
    xz -0k $i.tar
done
TREE=$WANT WANT=$(digest tree.vol both)
for kind in .tar .tar.gz .tar.bz2 .tar.zst .tar.xz; do
    cat 1$kind 2$kind >behind$kind
    same "$kind twice" b.vol behind$kind
done
cat 1.tar.gz 2.tar.bz2 >mixed # other kinds of compression, and zeros between them
(cat 1.tar.bz2 && head -c 777 /dev/zero && cat 2.tar && head -c 5000 /dev/zero) >mixed-zeros
same "gzip, then bzip2" b.vol mixed
same "bzip2, then a plain tar" b.vol mixed-zeros
tar --format=pax --xattrs -b1 -C behind/1 -c . | (head -c -1024 && cat 2.tar) >no-end # some leave out the two blocks
same "a tar without an end" b.vol no-end
assert_eq "warnings" "$(grep -c 'no mark' pack.log)" 0
# As is one that might be an incomplete download, but not without a word.
tar --format=pax -b1 -C behind/1 -c . | head -c -1024 >open.tar
digest b.vol open.tar >/dev/null
assert_contains "a warning" "$(cat pack.log)" "'open.tar': has no mark of its end: perhaps an incomplete download"
# With --require-end every beginning of it is refused, and nothing is made.
tar --format=pax -b1 -C both -cf ended.tar ./second .
blocks=$(($(stat -c %s ended.tar) / 512))
for ((i = 0; i < blocks; i++)); do
    [ $i -lt 8 ] || [ $i -ge $((blocks - 4)) ] || continue # within the large file all are alike
    assert_fails 1 "" mkdatasetfs --require-end x.vol <(head -c $((i * 512)) ended.tar)
    [ ! -e x.vol ] || fail "a volume was made of $i blocks of $blocks"
done
for kind in cat gzip; do
    head -c -512 ended.tar | $kind >one-block # of zeros
    assert_fails 1 "'one-block': is incomplete: it has no mark of its end, two blocks of zeros" \
        mkdatasetfs --require-end x.vol one-block
done
assert_fails 1 "'open.tar': is incomplete: it has no mark" \
    mkdatasetfs --require-end --on-duplicate last x.vol ended.tar open.tar
WANT=$(digest b.vol ended.tar)
same "a tar with its end" b.vol ended.tar --require-end
assert_eq "warnings" "$(cat pack.log)" ""
mkdir inside
cp behind.tar.gz inside/inside.tar.gz
tar -C inside -cf inside.tar inside.tar.gz
digest b.vol inside.tar --nested --strip-components 1 >/dev/null
assert_eq "files of archives in an archive" "$(json files summary.json)" 2
WANT=$TREE

# The same bytes with any number of threads, and with each kind of compression.
for compress in none zstd auto; do
    for jobs in 1 3 8; do
        digest "j$jobs.vol" a.tar --uuid 00112233-4455-6677-8899-aabbccddeeff --compress $compress -j $jobs >found
        assert_eq "the digest with --compress $compress -j $jobs" "$(cat found)" "$WANT"
        cmp j1.vol "j$jobs.vol" || fail "other bytes with --compress $compress -j $jobs"
    done
done

# Members in another order, with parents after their children and links before their targets' former names.
python3 - a.tar shuffled.tar sparse <<'PYTHON'
import os
import random
import sys
import tarfile

random.seed(4)
source = tarfile.open(sys.argv[1], errorlevel=2)
members, sparse = [], []
for member in source.getmembers(): # tarfile reads sparse files, but writes none
    (sparse if any(key.startswith("GNU.sparse") for key in member.pax_headers) else members).append(member)
with open(sys.argv[3], "wb") as names:
    names.write(b"".join(os.fsencode(member.name) + b"\0" for member in sparse))
random.shuffle(members)
with tarfile.open(sys.argv[2], "w", format=tarfile.PAX_FORMAT) as out:
    for member in members:
        out.addfile(member, source.extractfile(member) if member.isreg() else None)
PYTHON
tar --format=pax --xattrs -S -C tree -cf sparse.tar --null -T sparse
same "members in another order" shuffled.vol shuffled.tar sparse.tar

# Many files in random order, so that records of neighbours in a folder lie far from each other.
tree many random --files 9000
for i in {1..9}; do
    ln random/000/00000/f0000000$i "random/link $i"
    ln -s target random/symlink-$i
done
(cd random && find . -print0 | LC_ALL=C sort -z | shuf -z --random-source=<(yes) >../random.names)
tar -C random --null --no-recursion --format=pax -cf random.tar --files-from random.names
(
    WANT=$(digest tree-random.vol random)
    same "random order" random.vol random.tar
)
rm -r random random.*

# GNU's format has whole seconds, its own long names and its own sparse files: what tar unpacks.
# Paths that are longer than PATH_MAX cannot be unpacked by it.
tar --format=gnu -S -C tree --exclude='00dddd*' -cf gnu.tar . 2>/dev/null
unpack gnu gnu.tar
WANT=$(digest tree.vol gnu)
same "GNU's format" g.vol gnu.tar
tar --format=ustar -C tree -cf ustar.tar ./large ./a-link-before-its-target
unpack ustar ustar.tar
chmod 755 ustar
chown 0:0 ustar 2>/dev/null
touch -d @12 ustar
if is_root; then
    WANT=$(digest tree.vol ustar)
    SOURCE_DATE_EPOCH=12 same "a folder that is not named" u.vol ustar.tar
fi

# Shards; a later one replaces what an earlier one has.
tree random shards --seed 3 --files 300
tar --format=pax --xattrs -C shards -cf shards.tar .
python3 - shards.tar <<'PYTHON'
import sys
import tarfile

source = tarfile.open(sys.argv[1], errorlevel=2)
shards = [tarfile.open(f"shard-{i}.tar", "w", format=tarfile.PAX_FORMAT) for i in range(3)]
for number, member in enumerate(source.getmembers()): # hard links lead to other shards
    shards[number * 7 % 3].addfile(member, source.extractfile(member) if member.isreg() else None)
for shard in shards:
    shard.close()
PYTHON
echo replaced >old
python3 - shards.tar old other.tar <<'PYTHON'
import sys
import tarfile

name = next(m.name for m in tarfile.open(sys.argv[1]).getmembers() if m.isreg())
with tarfile.open(sys.argv[3], "w", format=tarfile.PAX_FORMAT) as out:
    out.add(sys.argv[2], name)
PYTHON
WANT=$(digest tree.vol shards)
same "shards" s.vol other.tar shard-*.tar --on-duplicate last

# Archives in archives.
mkdir -p nested/n1 nested/sub/n2 inner
echo one >nested/n1/1.jpg
echo two >nested/sub/n2/2.jpg
ln nested/sub/n2/2.jpg nested/sub/n2/3.jpg
head -c 2000000 /dev/urandom >nested/n1/large
echo plain >nested/plain
mkdir nested/n3
tar --format=pax -C nested/n1 -cf inner/n1.tar .
mkdir inner/sub
tar --format=pax -C nested/sub/n2 -c . | zstd -q >inner/sub/n2.tar.zst
tar -cf inner/n3.tgz --files-from /dev/null
cp -p nested/plain inner/plain
touch -r nested/sub inner/sub
touch -d @0 nested/n3
touch -r nested inner
chmod 755 nested/n3
tar --format=pax -C inner -cf outer.tar .
tar -tf outer.tar >/dev/null
if is_root; then
    WANT=$(digest tree.vol nested)
    SOURCE_DATE_EPOCH=0 same "archives in archives" n.vol outer.tar --nested
    mkdatasetfs --progress none --json piped2.vol - --nested < <(gzip -c outer.tar) >summary.json
    assert_eq "archives in a compressed one" "$(json digest summary.json)" "$WANT"
fi
digest n.vol outer.tar >/dev/null
assert_eq "files without --nested" "$(json files summary.json)" 4
digest n.vol outer.tar --nested >/dev/null
assert_eq "files with --nested" "$(json files summary.json)" 4
assert_eq "links with --nested" "$(json hard_links summary.json)" 1

# Nobody can take the names of temporary files and folders before, and none of his is removed.
mkdir taken
seq -f 'taken/.mkdatasetfs-empty-%.0f' $BASHPID $((BASHPID + 3000)) | xargs mkdir # of the next processes
before=$(find taken | wc -l)
pack taken.vol ustar.tar --temp-dir taken
assert_eq "folders of others" "$(find taken | wc -l)" "$before"
rm -r taken

# Names without their first components; what has no more is left out.
tar --format=pax --xattrs -S -cf above.tar --exclude='00dddd*' --transform 's,^tree,x/y,rh' tree 2>/dev/null
unpack stripped above.tar --strip-components=2
chmod 755 stripped
chown 0:0 stripped 2>/dev/null
touch -d @7 stripped
if is_root; then
    WANT=$(digest tree.vol stripped)
    SOURCE_DATE_EPOCH=7 same "--strip-components" st.vol above.tar --strip-components 2
fi

# Filters mean what they mean for a tree.
tar_of b.tar
for rules in "--exclude=large --exclude=a-link*" "--include=sparse --exclude=/[a-z]*" "--exclude=d*/"; do
    # shellcheck disable=SC2086 # several words
    WANT=$(digest tree.vol tree $rules)
    # shellcheck disable=SC2086
    same "filters $rules" f.vol b.tar $rules
done

# Content that is on the volume already is shared, and a dry run counts the same.
WANT=$(digest tree.vol tree)
mkdatasetfs --progress none --json tree.vol a.tar.gz >summary.json
assert_eq "the digest of a second version" "$(json digest summary.json)" "$WANT"
[ "$(json written_bytes summary.json)" -lt 400000 ] || fail "written again: $(cat summary.json)"
mkdatasetfs --progress none --json --dry-run dry.vol tree >tree.json
mkdatasetfs --progress none --json --dry-run dry.vol a.tar.xz >archive.json
for field in files directories symlinks hard_links content_bytes image_bytes; do
    assert_eq "$field of a dry run" "$(json $field archive.json)" "$(json $field tree.json)"
done

# More archives than files may be open.
mkdir few && echo one >few/file && tar -C few -cf few.tar .
for number in {1..70}; do ln few.tar many-$number.tar; done
(ulimit -n 64 && assert_fails 1 ".tar': archives are opened all at once, and the limit of open files is 64: raise it $(
    )with 'ulimit -n'" mkdatasetfs --progress none x.vol many-*.tar) || fail "70 archives"
[ ! -e x.vol ] || fail "a volume was made"
(ulimit -S -n 64 && mkdatasetfs --progress none f.vol many-*.tar --on-duplicate last >out) ||
    fail "as many as the hard limit allows"
rm -r many-*.tar few few.tar

# Without an entry nothing is published, unless that is wanted.
mkdir none
tar -cf none.tar --files-from /dev/null
for source in none none.tar "tree --exclude=*"; do
    # shellcheck disable=SC2086 # several words
    for run in "" --dry-run; do
        assert_fails 1 "'${source%% *}' has nothing to pack: if the version is to be empty, use --allow-empty" \
            mkdatasetfs --progress none $run x.vol $source
        [ ! -e x.vol ] || fail "a volume was made"
    done
    # shellcheck disable=SC2086
    digest empty.vol $source --allow-empty >/dev/null
    assert_eq "entries" "$(datasetfsctl dump empty.vol | awk '$2 ~ /^[dfl]$/' | wc -l)" 1
done
assert_fails 1 "the 2 archives have nothing to pack" mkdatasetfs x.vol none.tar none.tar

# Options and sources that are not for archives, or only for them.
assert_fails 1 "option '--trust-mtime' is for a directory, and 'a.tar' is none" mkdatasetfs x.vol a.tar --trust-mtime
assert_fails 1 "option '--from-list' is for a directory, and '-' is none" mkdatasetfs x.vol - --from-list old
assert_fails 1 "option '--nested' is for archives, and 'tree' is a directory" mkdatasetfs x.vol tree --nested
assert_fails 1 "option '--require-end' is for archives" mkdatasetfs x.vol tree --require-end
assert_fails 1 "option '--strip-components' is for archives" mkdatasetfs x.vol tree --strip-components=1
assert_fails 1 "'tree' is a directory, expected one directory alone, or archives" mkdatasetfs x.vol a.tar tree
assert_fails 1 "cannot open source 'missing.tar': No such file" mkdatasetfs x.vol a.tar missing.tar
assert_fails 1 "'tree.vol' is the volume itself" mkdatasetfs tree.vol a.tar tree.vol
[ ! -e x.vol ] || fail "a volume was made"
