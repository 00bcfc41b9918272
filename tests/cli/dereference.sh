#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# --dereference: symlinks are packed as what they lead to, if that lies below a directory. Without it a warning counts
# the symlinks that lead out of the source.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"

# names VOLUME [VERSION]: types and names
names() {
    datasetfsctl dump "$@" | awk '$2 ~ /^[dflh]$/ { print $2, $NF }' | LC_ALL=C sort -k2 | tr '\n' ';'
}

# publish OPTIONS…: with what it says in err
publish() {
    later mkdatasetfs --progress none --json "$@" >out 2>err || fail "$*: $(cat err)"
}

say "a snapshot of a hub: links to blobs beside it, and one in a folder"
mkdir -p hub/blobs hub/snapshots/abc/sub
snapshot=hub/snapshots/abc
for i in 1 2 3; do echo "image $i" >hub/blobs/sha$i; done
ln -s ../../blobs/sha1 $snapshot/1.jpg
ln -s ../../blobs/sha2 $snapshot/2.jpg
ln -s ../../../blobs/sha3 $snapshot/sub/3.jpg
ln -s 3.jpg $snapshot/sub/inside
publish v $snapshot
assert_eq "links that lead out" "$(cat err)" "mkdatasetfs: 3 symlinks lead out of the source, such as '1.jpg' to \
'../../blobs/sha1': --dereference=DIR packs what they lead to"
publish --dereference=hub v $snapshot --label all
assert_eq "messages" "$(cat err)" ""
assert_eq "names" "$(names v all)" "d /;f 1.jpg;f 2.jpg;f 3.jpg;f inside;d sub;"
assert_eq "content" "$(datasetfsctl cat v sub/3.jpg 2.jpg)" "image 3
image 2"

say "the same with an archive: the warning, and no option"
tar -cf hub.tar -C $snapshot 1.jpg sub
publish a hub.tar
assert_eq "of an archive" "$(cat err)" \
    "mkdatasetfs: 2 symlinks lead out of the source, such as '1.jpg' to '../../blobs/sha1'"
assert_fails 1 "option '--dereference' is for a directory" mkdatasetfs --dereference=hub b hub.tar

say "folders, absolute links, links to links, lists and filters"
mkdir -p data/real/deep source
echo deep >data/real/deep/file
echo plain >data/plain
ln -s "$PWD/data/real" source/folder
ln -s ../data/chain source/chain
ln -s plain data/chain
ln -s /nowhere source/dangling
publish --dereference=data --exclude dangling v source --label folders
assert_eq "names" "$(names v folders)" "d /;f chain;d deep;f file;d folder;"
assert_eq "content" "$(datasetfsctl cat v folder/deep/file chain)" "deep
plain"
echo folder/deep/file >list
publish --dereference=data --from-list list v source --label listed
assert_eq "listed" "$(names v listed)" "d /;d deep;f file;d folder;"
if command -v setfattr >/dev/null && setfattr -n user.note -v yes data/plain 2>/dev/null; then
    publish --dereference=data --exclude dangling v source --label attributes
    publish --dereference=data --exclude dangling --trust-mtime v source --label trusted
    assert_eq "not opened" "$(json unchanged_files out)" 2
    assert_contains "attributes of what is not opened" "$(datasetfsctl dump v trusted)" \
        "$(datasetfsctl dump v attributes | grep user.note)"
fi

say "what a link must not do"
# refused REASON
refused() {
    assert_fails 1 "$1" mkdatasetfs --progress none --dereference=data w source
}
refused "'dangling': it is a symlink to something that does not exist: use --exclude"
rm source/dangling
mkdir data2
echo no >data2/file
ln -s /etc/passwd data/escape
below="which is not below 'data': use --exclude or another --dereference"
for target in /etc/passwd "$PWD/data/../list" ../data2/file ../data/escape /proc/self/cwd/list; do
    ln -sf "$target" source/secret
    refused "'secret': it leads to '$(realpath source/secret | sed "s|^/proc/[^/]*/cwd|$PWD|")', $below"
done
ln -sf secret source/secret
refused "'secret': it is a symlink that leads back to itself: use --exclude"
rm source/secret
ln -s .. data/real/deep/up
refused "'folder/deep/up': it is a symlink to 'folder' above it: use --exclude"
rm data/real/deep/up
ln -s ../../folders data/real/deep/other
mkdir data/folders
ln -s ../real data/folders/real
refused "'folder/deep/other/real': it is a symlink to 'folder' above it: use --exclude"
rm data/real/deep/other
mkfifo data/pipe
ln -s ../data/pipe source/pipe
publish --dereference=data v source --label special
assert_eq "a FIFO" "$(json special_left_out out)" 1
assert_fails 1 "cannot open 'nowhere': No such file or directory" mkdatasetfs --dereference=nowhere w source
