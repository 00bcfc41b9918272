#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# libdatasetfs on a volume, without a mount: the tree is that of the source, ids lead to paths and back, listings and
# ranges agree with the walk, and every refusal has its reason.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/library.sh"

# all_of VOLUME SOURCE: walk, ids and paths
all_of() {
    library_tree "$1" walk >walk
    python3 "$LIB/library_tree.py" walk "$2" <walk || fail "the walk of $1 is not as $2"
    library_tree "$1" ids >ids
    python3 "$LIB/library_tree.py" ids "$2" <ids || fail "the paths of $1 are not as $2"
    # every path leads to its id, both in order and in none
    tr '\0\n' '\n\0' <ids | shuf --random-source=<(yes) | cat - <(tr '\0\n' '\n\0' <ids) >lines
    cut -d ' ' -f 1 lines >expected
    cut -d ' ' -f 2- lines | tr '\n\0' '\0\n' >paths
    library_tree "$1" lookup <paths >found
    # a symbolic link leads elsewhere
    paste -d ' ' expected found lines | awk '$1 != $2 { print $1 }' | sort -u >others
    tr '\0' '\n' <walk | awk 'NF > 9 && $3 == 10 { print $1 }' | sort -u >symlinks
    comm -23 others symlinks >wrong
    [ ! -s wrong ] || fail "the paths of these ids do not lead to them: $(head -n 5 wrong | paste -sd ' ')"
}

options=(--no-special --no-huge)
[ "$(id -u)" = 0 ] || options+=(--plain-owners)
tree nasty source "${options[@]}"
pack volume source --label first
say "a tree with everything in it"
all_of volume source

say "seeds"
for seed in 1 2 3; do
    tree random random-$seed --seed $seed --files 300
    pack volume-$seed random-$seed
    all_of volume-$seed random-$seed
    rm -r random-$seed volume-$seed
done

say "hard links at every end of a directory"
mkdir -p linked/{a,b,c,d,e}
for i in {100..299}; do echo $i >linked/a/$i; done
for i in {100..299}; do ln linked/a/$i linked/b/$i; done
echo new >linked/b/199a
ln linked/a/100 linked/c/first
echo new >linked/c/second
ln linked/c/second linked/c/third
echo new >linked/c/zeroth
ln linked/a/100 linked/e/only
pack links linked
all_of links linked
root=$(tr '\0' '\n' <ids | sed -n '1s/ .*//p')
# Root, a to e, then the files in the order of the directories.
assert_eq "range of the root" "$(library_tree links range)" "$((root + 1)) 5"
assert_eq "range of 200 files" "$(library_tree links range a)" "$((root + 6)) 200"
assert_eq "range among hard links" "$(library_tree links range b)" "$((root + 206)) 1"
assert_eq "range behind a hard link" "$(library_tree links range c)" "$((root + 207)) 2"
assert_eq "range of an empty directory" "$(library_tree links range d)" "$((root + 209)) 0"
assert_eq "range of hard links alone" "$(library_tree links range e)" "$((root + 209)) 0"
assert_eq "entries of the listing" "$(library_tree links list b | tr '\0' '\n' | sed -n '2~3p' | wc -l)" 201

say "deeper than the kernel takes a path"
python3 - <<'END'
import os
os.mkdir("deep")
fd = os.open("deep", os.O_RDONLY)
with open("deepest", "wb") as out:
    for level in range(1200):
        name = b"level-%05d" % level
        os.mkdir(name, dir_fd=fd)
        fd = os.open(name, os.O_RDONLY, dir_fd=fd)
        out.write(name + b"/")
    os.close(os.open("file", os.O_CREAT, 0o644, dir_fd=fd))
    out.write(b"file")
END
pack deeps deep
library_tree deeps walk | tr '\0' '\n' | sed -n '2~3p' | tail -n 1 | tr -d '\n' >found
cmp found deepest || fail "the walk's path of the deepest file"
library_tree deeps ids | tr '\0' '\n' | tail -n 1 | sed 's/^[0-9]* //' | tr -d '\n' >found
cmp found deepest || fail "the path of the last id"
assert_eq "the id of the deepest file" "$(tr '\n' '\0' <deepest | library_tree deeps lookup)" \
    "$(library_tree deeps ids | tr '\0' '\n' | tail -n 1 | cut -d ' ' -f 1)"

say "versions"
tree_of_links ways
pack volume ways --label second
library_tree volume versions >found
assert_eq "versions" "$(cut -d ' ' -f 1-3 found | paste -sd ,)" "1 first 0,2 second 1"
assert_eq "their UUIDs" "$(cut -d ' ' -f 4 found | paste -sd ,)" \
    "$(datasetfsctl list --json volume | json versions.0.uuid | tr -d -),$(datasetfsctl list --json volume |
        json versions.1.uuid | tr -d -)"

say "refusals"
assert_fails 1 "ENOENT: 'missing/x': there is no 'missing'" library_tree volume list missing/x
assert_fails 1 "ENOTDIR: 'a/file/': what comes before a '/' is not a directory" library_tree volume list a/file/
assert_fails 1 "ENOTDIR: inode " library_tree volume list a/file
assert_fails 1 "ENOTDIR: inode " library_tree volume walk a/file
assert_fails 1 "ENOTDIR: inode " library_tree volume range a/file
assert_fails 1 "EXDEV: 'a/../../x': '..' leads out of the data set" library_tree volume list a/../../x
assert_fails 1 "EXDEV: 'absolute': a symbolic link to '/a/file' leads out of the data set" \
    library_tree volume list absolute
assert_fails 1 "ELOOP: 'loop': more than 40 symbolic links" library_tree volume list loop
assert_fails 1 "ENAMETOOLONG: 'long-name': a name of 256 bytes, expected at most 255" \
    library_tree volume list long-name
assert_fails 1 "EISDIR: inode " library_tree volume extents a
assert_eq "the mount's own directory" "$(printf '.datasetfs\0./.datasetfs/version\0' |
    library_tree volume lookup | paste -sd ' ')" "ENOENT ENOENT"
