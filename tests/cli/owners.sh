#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan
# --owner, --group, --all-root and --mode, of folders and archives and beside --trust-mtime; the warnings of a source
# that is closed to other users.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/clock.sh"

# modes VOLUME [VERSION]: "type mode uid gid name" of each entry
modes() {
    datasetfsctl dump "$@" | awk '$2 ~ /^[dfl]$/ { print $2, $3, $4, $5, $NF }' | LC_ALL=C sort -k5 | tr '\n' ';'
}

# publish OPTIONS…
publish() {
    later mkdatasetfs --progress none --json "$@" >out 2>err || fail "$*: $(cat err)"
}

mkdir -m 700 source source/folder
echo data >source/folder/data
echo program >source/program
ln -s folder/data source/link
chmod 600 source/folder/data
chmod 710 source/program
me="$(id -u) $(id -g)"
umask 077

publish v source
as_is="d 0700 $me /;f 0600 $me data;d 0700 $me folder;l 0777 $me link;f 0710 $me program;"
assert_eq "as it is" "$(modes v)" "$as_is"

say "all options of owners and modes"
publish --owner 1234 --group 99 --mode a+rX v source --label opened
opened="d 0755 1234 99 /;f 0644 1234 99 data;d 0755 1234 99 folder;l 0777 1234 99 link;f 0755 1234 99 program;"
assert_eq "opened" "$(modes v opened)" "$opened"
publish --owner root --group root v source --label names
assert_eq "names of owners" "$(modes v names)" "${as_is//$me/0 0}"
publish --all-root --mode u=rwX,go=rX v source --label root
assert_eq "all-root" "$(modes v root)" "${opened//1234 99/0 0}"

say "with --trust-mtime: what is not read has the owners of these options, not those of the trusted version"
publish --trust-mtime=opened v source --label again
assert_eq "not opened" "$(json unchanged_files out)" 2
assert_eq "as it is, again" "$(modes v again)" "$as_is"
publish --trust-mtime=again --owner 1234 --group 99 --mode a+rX v source --label changed
assert_eq "not opened" "$(json unchanged_files out)" 2
assert_eq "opened again" "$(modes v changed)" "$opened"

say "archives"
tar -cf tree.tar -C source .
publish --owner 1234 --group 99 --mode a+rX a tree.tar
assert_eq "an archive" "$(modes a)" "$opened"
tar -cf deep.tar -C source folder/data
publish --all-root --mode 0700 b deep.tar
assert_eq "folders that no archive names" "$(modes b)" "d 0700 0 0 /;f 0700 0 0 data;d 0700 0 0 folder;"

# becomes MODE CHANGES EXPECTED: of a file
becomes() {
    chmod "$1" one/file
    rm -f c
    publish --mode "$2" c one
    assert_eq "$1 with $2" "$(datasetfsctl dump c | awk '$2 == "f" { print $3 }')" "$3"
}
mkdir one
echo 1 >one/file
becomes 600 644 0644
becomes 600 +x 0711
becomes 610 a+X 0711
becomes 600 a+X 0600
becomes 640 g=u,o=g 0666
becomes 777 go-rwx,u-w 0500
becomes 777 u=r-x+w,o= 0670
becomes 755 u+s,g+s,o+t 7755
becomes 7777 a-st 0777
becomes 644 a=,u=rX 0400

for mode in "" 8 08 99999 rwx a a+q "a+r," "a+r,,g+w" 0644x "+x,"; do
    assert_fails 2 "is not a mode, expected one as for chmod(1)" mkdatasetfs --mode "$mode" c one
done
assert_fails 2 "option '--owner': there is no user 'nobody at all' on this machine: give its number" \
    mkdatasetfs --owner "nobody at all" c one
assert_fails 2 "option '--group': there is no group '4294967295' on this machine: give its number" \
    mkdatasetfs --group 4294967295 c one

need_root
say "warnings: root packs, and other users will find it closed"
publish w source
assert_eq "a closed source" "$(cat err)" "\
mkdatasetfs: the top folder has mode 0700, so only its owner and group can enter a mount: --mode a+rX opens it
mkdatasetfs: 4 of 4 files and folders are closed to other users: --mode a+rX opens them"
publish --mode a+rX w source
assert_eq "an open one" "$(cat err)" ""
publish w tree.tar
assert_contains "a closed archive" "$(cat err)" "the top folder has mode 0700"
rm -rf few
mkdir -m 755 few
for ((i = 0; i < 19; i++)); do echo $i >few/$i; done
chmod 644 few/*
chmod 600 few/7 few/8
publish w few
assert_eq "two in twenty" "$(cat err)" ""
chmod 600 few/9
publish w few
assert_eq "three in twenty" "$(cat err)" \
    "mkdatasetfs: 3 of 20 files and folders are closed to other users: --mode a+rX opens them"
