#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=120
# 'datasetfsctl export tar': the archive packed again has the digest of the version, of every kind of tree and volume;
# tar and bsdtar unpack what was packed; the same version gives the same bytes; what fails leaves no file.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command tar

# export_tar VOLUME LABEL FILE [OPTIONS…]
export_tar() {
    datasetfsctl export tar "${@:4}" "$1" "$2" "$3" >export.out 2>export.err ||
        { cat export.err; fail "datasetfsctl export tar $*"; }
    [ ! -s export.err ] || fail "it said: $(cat export.err)"
}

digest() {
    datasetfsctl list --json "$1" | json versions.0.digest
}

# returns VOLUME ARCHIVE: the archive is the version v1 of the volume
returns() {
    rm -f again.vol
    pack again.vol "$2"
    [ "$(digest again.vol)" = "$(digest "$1")" ] && return
    datasetfsctl dump "$1" >version.dump
    datasetfsctl dump again.vol >archive.dump
    diff version.dump archive.dump | head -n 20 || true
    fail "$2 is not what is in $1"
}

# Names of any bytes, links of links, holes, attributes, times, long names, large files.
tree nasty nasty --no-special --no-huge
for attribute in user.first 'user.a=b%c%3D%'; do
    setfattr -n "$attribute" -v 0x0a00ff nasty 2>/dev/null || say "no user attributes here"
done
find nasty -name 'before 1970' -exec touch -d @-5.25 {} + # of times between -1 and 0 libarchive drops the sign
deep=nasty/$(printf 'd%.0s' {1..120})/$(printf 'e%.0s' {1..120})/$(printf 'f%.0s' {1..120})
mkdir -p "$deep"
echo long >"$deep/file"
ln -s "$(printf 't%.0s' {1..300})" nasty/long-target
ln "$deep/file" nasty/another-name
ln nasty/long-target nasty/another-symlink
head -c 3000000 /dev/urandom >nasty/large
truncate -s 40M nasty/sparse
printf middle | dd of=nasty/sparse bs=1 seek=20000001 conv=notrunc status=none
truncate -s 3G nasty/sparser
echo end >>nasty/sparser
truncate -s 5M nasty/hole-alone
head -c 200000 /dev/urandom >nasty/hole-last
truncate -s 9M "nasty/$(printf 'o%.0s' {1..200})"$'\xff'
truncate -s 9M nasty/hole-last
pack nasty.vol nasty
export_tar nasty.vol v1 nasty.tar
returns nasty.vol nasty.tar
[ "$(stat -c %s nasty.tar)" -lt 100000000 ] || fail "holes are in the archive: $(stat -c %s nasty.tar) bytes"
assert_eq "records" $(($(stat -c %s nasty.tar) % 10240)) 0
say "what libarchive writes in a way of its own: surrogates of CESU-8, names of attributes that are not ASCII"
mkdir odd
touch odd/$'pair \xed\xa0\x81\xed\xb0\x80' odd/$'lone \xed\xa0\x81' odd/plain
ln -s $'to \xed\xa0\x81\xed\xb0\x80' odd/link
truncate -s 9M "odd/$(printf 'o%.0s' {1..200})"
setfattr -n $'user.\xc3\xa4 %=' -v 1 odd/plain 2>/dev/null || say "no user attributes here"
pack odd.vol odd
export_tar odd.vol v1 odd.tar
returns odd.vol odd.tar
tree random random --seed 7 --files 300
pack random.vol random --compress auto
export_tar random.vol v1 random.tar
returns random.vol random.tar

say "what came out of nasty archives"
mkdir archives
python3 "$DATASETFS_SOURCE/tests/cli/archive_nasty.py" archives || fail "archive_nasty.py"
for archive in absolute bytes broken-inside deep duplicates link link-later special strip-link; do
    rm -f nasty-archive.vol
    pack nasty-archive.vol archives/$archive.tar
    export_tar nasty-archive.vol v1 nasty-archive.tar --force
    returns nasty-archive.vol nasty-archive.tar
done

say "the same bytes, also through a pipe, and what is said"
export_tar nasty.vol v1 again.tar --json
cmp nasty.tar again.tar || fail "the same version gives other bytes"
assert_eq "bytes" "$(json bytes export.out)" "$(stat -c %s nasty.tar)"
assert_eq "digest" "$(json digest export.out)" "$(digest nasty.vol)"
assert_eq "counts" "$(json files export.out) $(json directories export.out) $(json symlinks export.out)" \
    "$(datasetfsctl list --json nasty.vol | python3 -c 'import json, sys
v = json.load(sys.stdin)["versions"][0]
print(v["files"], v["directories"], v["symlinks"])')"
assert_eq "hard links" "$(json hard_links export.out)" "$(datasetfsctl dump nasty.vol | grep -cE '^[0-9]+ h ')"
datasetfsctl export tar --progress none nasty.vol v1 - 2>export.err | cmp - nasty.tar || fail "through a pipe"
[ ! -s export.err ] || fail "on a pipe it said: $(cat export.err)"
datasetfsctl export tar --json nasty.vol v1 - 2>export.err >/dev/null
assert_eq "bytes" "$(json bytes export.err)" "$(stat -c %s nasty.tar)"
datasetfsctl export tar --progress json nasty.vol v1 - 2>export.err >/dev/null
assert_contains "progress" "$(tail -n 1 export.err)" '"total_bytes": 3'

say "other programs read it"
tar -tf nasty.tar >tar.list 2>tar.err || fail "tar -t: $(cat tar.err)"
assert_eq "what tar complains about" "$(grep -vE "implausibly old|'hdrcharset'$" tar.err)" ""
assert_eq "entries" "$(wc -l <tar.list)" "$(($(datasetfsctl dump nasty.vol | grep -cE '^[0-9]+ [dflh] ')))"
# unpacked COMMAND…: in a new directory
unpacked() {
    chmod -R u+rwX unpacked 2>/dev/null || true
    rm -rf unpacked
    mkdir unpacked
    (cd unpacked && "$@") || fail "$*"
}
if is_root; then
    rm -r nasty/00d* # paths that are longer than what programs may give the kernel
    pack short.vol nasty
    export_tar short.vol v1 short.tar
    unpack=(tar --xattrs '--xattrs-include=user.*' --numeric-owner --warning=no-timestamp --warning=no-unknown-keyword)
    unpacked "${unpack[@]}" -xpf ../short.tar
    compare nasty unpacked
    unpacked "${unpack[@]}" -xpf ../random.tar
    compare random unpacked
    if command -v bsdtar >/dev/null; then
        # Fractions before 1970, such names of attributes and the time of '.' are beyond it.
        unpacked bsdtar --numeric-owner -xpf ../random.tar
        touch -r random unpacked
        compare random unpacked
    else
        say "no bsdtar here"
    fi
else
    say "owners are root's to set: not unpacked"
fi

say "several members"
mkdatasetfs --progress none --protect mirror:2 a,b,c random >pack.log 2>&1 ||
    { cat pack.log; fail "packing to members"; }
export_tar b v1 members.tar
cmp random.tar members.tar || fail "from several members other bytes come"
rm c
datasetfsctl export tar b v1 members.tar --force 2>export.err >/dev/null || fail "without a member: $(cat export.err)"
cmp random.tar members.tar || fail "without a member other bytes come"

say "refusals"
refused() {
    assert_fails 1 "$@"
    assert_eq "what is left" "$(find . -maxdepth 1 -name 'new.tar*')" ""
}
echo before >there
assert_fails 1 "cannot export 'v1' of 'nasty.vol': 'there': it is there already: --force replaces it" \
    datasetfsctl export tar nasty.vol v1 there
assert_eq "the file" "$(cat there)" before
export_tar random.vol v1 there --force
cmp there random.tar || fail "--force does not replace it"
assert_fails 1 "'nasty.vol': it is the volume itself" datasetfsctl export tar --force nasty.vol v1 nasty.vol
refused "the volume has no version 'v2'" datasetfsctl export tar nasty.vol v2 new.tar
refused "nowhere" datasetfsctl export tar nasty.vol v1 nowhere/new.tar
assert_fails 1 "'nasty': it is not a regular file, and --force replaces no other" \
    datasetfsctl export tar --force nasty.vol v1 nasty
assert_fails 2 "expected VOLUME|MNT LABEL FILE|-" datasetfsctl export tar nasty.vol v1
rc=0
datasetfsctl export tar nasty.vol v1 - 2>export.err | head -c 100 >/dev/null || rc=${PIPESTATUS[0]}
assert_eq "status with nobody at the end of the pipe" $rc 1
assert_eq "the line" "$(cat export.err)" \
    "datasetfsctl: cannot export 'v1' of 'nasty.vol': cannot write the archive: Broken pipe"
assert_fails 1 "cannot write the archive: No space left on device" \
    sh -c 'exec datasetfsctl export tar nasty.vol v1 - >/dev/full'

say "a signal while nobody reads the pipe"
mkfifo pipe
exec 7<>pipe
datasetfsctl export tar nasty.vol v1 - >pipe 2>export.err &
export=$!
is_full() {
    python3 -c '
import array, fcntl, termios
count = array.array("i", [0])
fcntl.ioctl(7, termios.FIONREAD, count)
raise SystemExit(count[0] < 65536)'
}
wait_for 30 is_full || fail "nothing comes"
kill -TERM $export
wait_end $export || fail "it does not end"
exits 143 wait $export
assert_eq "the line" "$(cat export.err)" "datasetfsctl: cannot export 'v1' of 'nasty.vol': interrupted"
exec 7>&-

say "damage"
read -r offset < <(datasetfsctl stat --json nasty.vol large | python3 "$LIB/chunks.py" | awk 'NR == 3 { print $4 }')
cp nasty.vol damaged.vol
printf damaged | dd of=damaged.vol bs=1 seek=$((offset + 100)) conv=notrunc status=none
refused "cannot export 'v1' of 'damaged.vol': './large': chunk sum" datasetfsctl export tar damaged.vol v1 new.tar
export_tar random.vol v1 new.tar
cp new.tar former.tar
assert_fails 1 "'./large': chunk sum" datasetfsctl export tar --force damaged.vol v1 new.tar
cmp new.tar former.tar || fail "a failed export touched the former file"
