#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# A source that changes, vanishes or cannot be read: one line, status 1, the volume as it was.
. "$(dirname "$0")/../lib/common.sh"

mkdir -p source/dir
for i in {1..300}; do head -c 20000 /dev/urandom >source/dir/$i; done
head -c 400M /dev/zero | tr '\0' 'x' >source/zz-large
pack base source --exclude zz-large
chmod 666 base
before=$(hash_of base)

# as_it_was WHAT
as_it_was() {
    assert_eq "the volume after $1" "$(hash_of base)" "$before"
    [ ! -e new ] || fail "$1 left a new volume behind"
    datasetfsctl list base >/dev/null || fail "$1: the volume cannot be listed"
}

say "unreadable"
if is_root; then
    chmod 777 .
    chmod 000 source/dir/77
    for volume in base new; do
        assert_fails 1 "cannot read 'dir/77' in 'source': run as root, or as a user who may, or use --exclude" \
            as_user "$(command -v mkdatasetfs)" --progress none "$volume" source
    done
    chmod 000 source/dir/99
    mkdir source/closed
    chmod 700 source/closed
    assert_fails 1 "cannot read 3 files and folders, 'closed', 'dir/77', 'dir/99' in 'source': run as root" \
        as_user "$(command -v mkdatasetfs)" --progress none new source
    as_user "$(command -v mkdatasetfs)" --progress none --exclude '[79][79]' --exclude closed new source >/dev/null ||
        fail "what is left out need not be readable"
    rm new
    rmdir source/closed
    chmod 000 source/dir/*
    assert_fails 1 "cannot read 300 files and folders, 'dir/1', 'dir/10', 'dir/100'" \
        as_user "$(command -v mkdatasetfs)" --progress none new source
    chmod 644 source/dir/*
    chmod 000 source/dir/77
    as_it_was "an unreadable file"
    chmod 644 source/dir/77
    chmod 000 source/dir
    assert_fails 1 "'dir'" as_user "$(command -v mkdatasetfs)" --progress none new source
    as_it_was "an unreadable directory"
    chmod 755 source/dir
fi

# meddle COMMAND…: packs the large file while it is meddled with
meddle() {
    local rc=0
    mkdatasetfs --progress none "$volume" source 2>err &
    local packer=$!
    wait_for 20 sh -c "ls -l /proc/$packer/fd 2>/dev/null | grep -q zz-large" || { wait $packer; return 3; }
    "$@"
    wait $packer || rc=$?
    [ $rc = 1 ] || return $((rc ? rc : 4))
    [ "$(wc -l <err)" = 1 ] || fail "more than one line: $(cat err)"
}

grow() { printf more >>source/zz-large; }
touch_it() { touch source/zz-large; }
shorten() { truncate -s 1M source/zz-large; }
for volume in base new; do
    for how in grow touch_it shorten; do
        say "$how into $volume"
        rc=0
        meddle $how || rc=$?
        case $rc in
        0) assert_contains "the reason" "$(cat err)" "zz-large"
           grep -q "chang" err || fail "it does not say that the file changed: $(cat err)"
           as_it_was "$how" ;;
        3|4) say "the packer was too fast for this machine: $how was not seen"
             rm -f new
             [ "$volume" = new ] || { pack base source --format --exclude zz-large; before=$(hash_of base); } ;;
        *) fail "status $rc: $(cat err)" ;;
        esac
        [ "$how" != shorten ] || head -c 400M /dev/zero | tr '\0' 'x' >source/zz-large
    done
done
