#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke daemon ring in=asan timeout=240
# .datasetfs/versions/LABEL: every version side by side, opened on first use, unmoved by a switch, closed when
# forgotten.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_root

c_program lib/hold_notify -shared -fPIC -ldl
for i in 1 2 3; do
    tree random source$i --seed $i --files 150
    chmod -R u+rwX source$i
    pack volume source$i --label v$i
done

open_versions() {
    python3 -c 'import json; print(len(json.load(open("mnt/.datasetfs/stats.json"))["generations"]))'
}

forgotten() {
    drop_caches
    [ "$(open_versions)" = 1 ]
}

# lists LABEL
lists() {
    [[ " $(echo $versions/*) " == *" $versions/$1 "* ]]
}

for channel in dev ring; do
    if [ $channel = ring ]; then
        ring_switch Y || break
    fi
    # On /dev/fuse the kernel asks for a label again within milliseconds, not seconds.
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$PWD/hold_notify NOTIFY_HURRY=1000 \
        mount_volume volume mnt -o channel=$channel,version=v3
    versions=mnt/.datasetfs/versions
    assert_eq "open versions at first" "$(open_versions)" 1
    listed=$(echo $versions/*)
    assert_eq "versions" "$listed" "$versions/v1 $versions/v2 $versions/v3"
    for i in 1 2 3; do
        compare source$i $versions/v$i
    done
    compare source3 mnt
    exec 5<$versions/v1 6<$versions/v2
    assert_eq "open versions" "$(open_versions)" 3
    exec 5<&- 6<&-
    find $versions/ >/dev/null 2>find.err || fail "find: $(cat find.err)"
    [ ! -s find.err ] || fail "find: $(cat find.err)"
    [ ! -e $versions/v9 ] || fail "there is a version v9"
    # A file is the same file by both paths, and so is what the kernel caches of it.
    file=$(cd source3 && find . -type f -size +1k -print -quit)
    assert_eq "inode of '$file'" "$(stat -c %i "mnt/$file")" "$(stat -c %i "$versions/v3/$file")"
    # A job in one version stays there.
    (cd $versions/v2 && exec sleep 60) &
    sleeper=$!
    end_process_at_exit $sleeper
    datasetfsctl switch mnt v1 >/dev/null
    compare source1 mnt
    compare source2 $versions/v2
    compare source2 /proc/$sleeper/cwd/.
    kill $sleeper
    wait $sleeper 2>/dev/null || true
    # Published while it is mounted: in the next listing.
    tree random source4 --seed 4 --files 20
    pack volume source4 --label v4-$channel --no-current
    wait_for 10 lists v4-$channel || fail "no v4-$channel in the listing: $(echo $versions/*)"
    compare source4 $versions/v4-$channel
    # A label that is published anew leads to the new version.
    datasetfsctl remove volume v2 2>/dev/null >&2 || fail "remove v2"
    pack volume source4 --label v2 --no-current
    [ $channel = dev ] || expire $versions v2
    file=$(cd source4 && find . -type f -print -quit)
    wait_for 20 cmp "source4/$file" "$versions/v2/$file" ||
        fail "v2 stays what it was"
    compare source4 $versions/v2
    rm -rf source4
    # The kernel forgets them when their names go.
    wait_for 20 forgotten ||
        fail "versions nobody uses stay open: $(cat mnt/.datasetfs/stats.json)"
    unmount mnt
    mv volume volume.4
    for i in 1 2 3; do
        pack volume source$i --label v$i
    done
    say "channel=$channel"
done
