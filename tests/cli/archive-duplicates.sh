#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# Entries of one name: refused between archives, replaced and counted within one; or each archive in a folder.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command tar

# archives VOLUME SOURCE… [OPTIONS…]: packs them into a new volume
archives() {
    rm -f "$1"
    mkdatasetfs --progress none "$@" >pack.log 2>&1 || { cat pack.log; fail "mkdatasetfs $*"; }
}

# refused MESSAGE SOURCE… [OPTIONS…]: for a publish and for a dry run
refused() {
    assert_fails 1 "$1" mkdatasetfs --progress none x.vol "${@:2}"
    assert_fails 1 "$1" mkdatasetfs --progress none --dry-run x.vol "${@:2}"
    [ ! -e x.vol ] || fail "a volume was made"
}

say "shards that number their samples from 0"
for shard in 0 1 2; do
    mkdir s$shard
    for sample in 0 1 2; do echo "shard $shard sample $sample" >s$shard/00$sample.jpg; done
    tar -C s$shard --format=pax -cf shard-$shard.tar .
done
twice="'000.jpg' is in 'shard-0.tar' and 'shard-1.tar'"
refused "$twice: use --into-folders to pack each archive into a folder of its own, or --on-duplicate last to pack $(
    )the last one" shard-*.tar
refused "$twice: use" shard-*.tar --on-duplicate auto
refused "$twice: use" shard-*.tar --on-duplicate error
assert_fails 2 "'all' is not one of 'auto', 'last', 'error'" mkdatasetfs x.vol shard-*.tar --on-duplicate all

say "the last one, and a count of the others"
archives v.vol shard-*.tar --on-duplicate last
assert_eq "the line" "$(grep replaced pack.log)" \
    "  6 entries replaced by later ones of the same name, such as '000.jpg' of 'shard-0.tar', then of 'shard-1.tar'"
assert_eq "content" "$(datasetfsctl cat v.vol 000.jpg)" "shard 2 sample 0"
for run in "" --dry-run; do
    rm -f v.vol
    # shellcheck disable=SC2086 # no word
    mkdatasetfs --progress none --json $run v.vol shard-*.tar --on-duplicate last >summary.json || fail "pack"
    assert_eq "files, replaced" "$(json files summary.json) $(json replaced summary.json) $(
        )$(json replaced_example summary.json)" "3 6 000.jpg"
done

say "a folder for each archive"
archives f.vol shard-*.tar --into-folders
! grep -q replaced pack.log || fail "replaced: $(cat pack.log)"
assert_eq "files" "$(datasetfsctl dump f.vol | awk '$2 == "f"' | wc -l)" 9
for shard in 0 1 2; do
    assert_eq "content" "$(datasetfsctl cat f.vol shard-$shard/001.jpg)" "shard $shard sample 1"
done
mkdir tree && for shard in 0 1 2; do cp -a s$shard tree/shard-$shard; done
if is_root; then # the root, which no archive names, gets root and the time 0
    touch -d @0 tree && chmod 755 tree
    pack t.vol tree
    assert_eq "the digest of a tree" "$(datasetfsctl list --json f.vol | json versions.0.digest)" \
        "$(datasetfsctl list --json t.vol | json versions.0.digest)"
fi

say "links, names and filters in folders"
echo plain >s0/plain && ln s0/plain s0/linked
tar -C s0 --transform 's,^./,top/,' -czf links.tar.gz ./plain ./linked
archives l.vol links.tar.gz shard-2.tar --into-folders --exclude /shard-2/002.jpg --on-duplicate error
assert_eq "paths" "$(datasetfsctl dump l.vol | awk '$2 ~ /^[fh]$/ { print $2, $NF }' | sort -k2 | xargs)" \
    "f 000.jpg f 001.jpg f linked h plain"
assert_eq "a hard link" "$(datasetfsctl cat l.vol links/top/linked)" plain
archives st.vol links.tar.gz --into-folders --strip-components 1
assert_eq "stripped" "$(datasetfsctl cat st.vol links/linked)" plain
mkdir -p a b && cp shard-0.tar a/x.tar && cp shard-1.tar b/x.tar
refused "option '--into-folders': 'a/x.tar' and 'b/x.tar' would both become the folder 'x'" a/x.tar b/x.tar \
    --into-folders
refused "option '--into-folders': '-' has no name for a folder" - --into-folders </dev/null
assert_fails 1 "option '--into-folders' is for archives, and 'tree' is a directory" \
    mkdatasetfs x.vol tree --into-folders
assert_fails 1 "option '--on-duplicate' is for archives" mkdatasetfs x.vol tree --on-duplicate last

say "archives one behind the other in a file, and within each other"
cat shard-0.tar shard-1.tar >both.tar
refused "'000.jpg' is in 'both.tar' more than once: use --on-duplicate last to pack the last one" both.tar
refused "'both/000.jpg' is in 'both.tar' more than once" both.tar --into-folders
mkdir inner && cp shard-0.tar inner/s.tar && gzip -c shard-1.tar >inner/s.tar.gz
tar -C inner -cf outer.tar s.tar s.tar.gz
refused "'s/000.jpg' is in 'outer.tar' more than once" outer.tar --nested
refused "'000.jpg' is in 'shard-0.tar' and 'shard-0.tar'" shard-0.tar shard-0.tar

say "a name that comes again within an archive is an update"
tar -cf update.tar -C s0 000.jpg -C ../s1 000.jpg
archives u.vol update.tar
assert_eq "the line" "$(grep replaced pack.log)" \
    "  1 entry replaced by later ones of the same name, such as '000.jpg' of 'update.tar', then of 'update.tar'"
assert_eq "content" "$(datasetfsctl cat u.vol 000.jpg)" "shard 1 sample 0"
refused "'000.jpg' is in 'update.tar' more than once" update.tar --on-duplicate error

say "directories of one name become one, and a link that is there already is no other entry"
tar -C s0 -cf again.tar ./plain linked linked
archives d.vol again.tar --on-duplicate error
mkdir -p one/d two/d && echo 1 >one/d/1 && echo 2 >two/d/2
for i in one two; do tar -C $i -cf $i.tar d; done
archives d.vol one.tar two.tar --on-duplicate error
tar -C s0 -cf other.tar linked
refused "'linked' is in 'again.tar' and 'other.tar': use" again.tar other.tar
