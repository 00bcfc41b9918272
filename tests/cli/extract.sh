#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: in=asan timeout=300
# Extracted files equal those that were packed, whole or in parts, and are only ever below their directory, whatever
# links, files and folders lie there or are extracted. A file has its name when it is complete; an interrupted extract
# leaves none that is not.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

# listing DIRECTORY: all that extract keeps of a tree
listing() {
    (cd "$1" && find . -mindepth 1 -printf '%P %y %m %s %l %Ts ' \( -type f -exec sha256sum {} \; -o -printf '\n' \) |
        LC_ALL=C sort)
}

# unpacked OPTIONS…: into an empty folder out
unpacked() {
    rm -rf out
    mkdir out
    datasetfsctl extract -C out "$@" >summary
}

long=$(printf '%0255d' 1)
mkdir -p "source/closed/in" source/deep
echo long >"source/$long"
echo in >source/closed/in/file
ln source/closed/in/file source/hard
ln -s /etc/passwd source/out-abs
ln -s ../../outside source/out-rel
ln -s closed source/link-to-folder
truncate -s 3M source/sparse
echo end >>source/sparse
head -c 1000000 /dev/urandom >source/large
chmod 0500 source/closed/in source/closed
chmod 4755 source/large
touch -h -d '2020-01-01 UTC' source/out-abs
folder=source/deep
for _ in {1..200}; do folder=$folder/d; done
mkdir -p "$folder"
echo bottom >"$folder/file"
pack volume source --label v1

say "every kind of tree"
tree nasty nasty --no-special --no-huge
setfattr -n user.first -v 0x0a00ff nasty 2>/dev/null || say "no user attributes here"
pack nasty.vol nasty
unpacked --suid nasty.vol
touch -r nasty out
chmod --reference nasty out
setfattr -n user.first -v 0x0a00ff out 2>/dev/null || true # the directory keeps its own
compare nasty out

say "a whole version"
unpacked volume
chmod u-s source/large
diff <(listing source) <(listing out) || fail "trees differ"
assert_eq "hard link" "$(stat -c %i out/hard)" "$(stat -c %i out/closed/in/file)"
[ "$(stat -c %b out/sparse)" -lt 2000 ] || fail "holes are filled"
assert_contains "summary" "$(cat summary)" "'out': version 'v1': "
unpacked --suid --json volume
assert_eq "mode" "$(stat -c %a out/large)" 4755
assert_eq "JSON" "$(json label <summary) $(json hard_links <summary)" "v1 1"
chmod -R u+w source/closed out/closed

say "parts"
unpacked volume /closed/in/ large "deep${folder#source/deep}/file"
assert_eq "parts" "$(cd out && find . -type f | LC_ALL=C sort | cut -c1-20)" "./closed/in/file
./deep/d/d/d/d/d/d/d
./large"
cmp source/large out/large
chmod -R u+w out
unpacked volume hard closed
assert_eq "hard link" "$(stat -c %i out/hard)" "$(stat -c %i out/closed/in/file)"
chmod -R u+w out
assert_eq "modes of a directory that was named, and of one on the way to it" \
    "$(unpacked volume closed/in; stat -c %a out/closed out/closed/in | xargs)" "500 500"
chmod -R u+w out
unpacked volume closed/in/file closed
assert_eq "modes of directories on the way to a file" "$(stat -c %a out/closed out/closed/in | xargs)" "500 500"
chmod -R u+w out
mkdir here
(cd here && datasetfsctl extract ../volume large >/dev/null)
cmp source/large here/large

say "what is there already"
unpacked volume large
assert_fails 1 "'./large': it is there already: --force replaces it" datasetfsctl extract -C out volume large
echo mine >out/large
datasetfsctl extract --force -C out volume large >/dev/null
cmp source/large out/large
ln -sf /nowhere out/hard
echo mine >out/out-rel
assert_fails 1 "it is there already" datasetfsctl extract -C out volume out-rel
datasetfsctl extract --force -C out volume hard out-rel >/dev/null
assert_eq "a file where a link was" "$(cat out/hard)" in
assert_eq "a link where a file was" "$(readlink out/out-rel)" ../../outside
rm out/large
mkdir out/large
assert_fails 1 "a directory is there" datasetfsctl extract --force -C out volume large
echo file >out/closed
assert_fails 1 "'./closed': it is there already, and is no directory" datasetfsctl extract --force -C out volume closed
rm -rf out
mkdir out
datasetfsctl extract --force -C out volume hard hard closed/in/file >/dev/null
assert_eq "hard link" "$(stat -c '%i %h' out/hard)" "$(stat -c %i out/closed/in/file) 2"
assert_eq "left" "$(find out -name '.new*')" ""

say "the volume is never replaced"
mkdir self
echo no >self/file
ln self/file self/volume
pack own self
for name in file volume; do
    rm -rf out
    mkdir out
    ln own "out/$name"
    exits 1 datasetfsctl extract --force -C out own 2>err >/dev/null
    assert_contains "reason" "$(cat err)" "'./$name': it is the volume itself"
    [ "out/$name" -ef own ] || fail "the volume was replaced"
done

say "links on the way lead nowhere"
mkdir -p outside/in elsewhere
rm -rf out
mkdir out
ln -s "$PWD/outside" out/closed
assert_fails 1 "'./closed': it is there already, and is no directory" datasetfsctl extract --force -C out volume closed
rm out/closed
mkdir out/closed
ln -s "$PWD/outside/in" out/closed/in
assert_fails 1 "'./closed/in': it is there already, and is no directory" \
    datasetfsctl extract --force -C out volume closed
ln -s "$PWD/outside/file" out/large
assert_fails 1 "it is there already" datasetfsctl extract -C out volume large
datasetfsctl extract --force -C out volume large >/dev/null
[ ! -L out/large ] || fail "the link is still there"
ln -sf closed out/link-to-folder
assert_fails 1 "there is no '..' in the version" datasetfsctl extract -C out volume ../elsewhere/x
assert_eq "outside" "$(find outside elsewhere -mindepth 1)" outside/in
assert_fails 1 "there is no 'in' in the version" datasetfsctl extract -C out volume link-to-folder/in
mkfifo out/sparse
datasetfsctl extract --force -C out volume sparse >/dev/null
cmp source/sparse out/sparse

say "no directory to write to"
assert_fails 1 "cannot open the directory 'nowhere'" datasetfsctl extract -C nowhere volume
assert_fails 1 "cannot open the directory 'source/large'" datasetfsctl extract -C source/large volume

say "damage: what came before is there, the damaged file is not"
cp volume damaged
spoil damaged "$(datasetfsctl stat --json volume large | json chunks.3.device_offset)"
rm -rf out
mkdir out
exits 1 datasetfsctl extract -C out damaged closed large 2>err >/dev/null
assert_contains "reason" "$(cat err)" "large"
assert_eq "what is there" "$(ls -A out)" closed
chmod -R u+w out

say "a file that does not fit"
rm -rf out
mkdir out
assert_fails 1 "cannot write './large': File too large" \
    bash -c 'ulimit -f 300 && exec datasetfsctl extract -C out volume hard large'
assert_eq "what is there" "$(ls -A out)" hard

say "interrupted"
rm -rf out
mkdir out pipes
head -c 60000000 /dev/zero | tr '\0' x >pipes/big
pack big pipes
(exec datasetfsctl extract --progress json -C out big 2>progress >/dev/null) & one=$!
wait_for 20 eval 'grep -q bytes progress || ! kill -0 $one 2>/dev/null'
kill -TERM $one 2>/dev/null || true
wait $one || true
[ ! -e out/big ] || cmp pipes/big out/big || fail "half a file under its name"
assert_eq "left" "$(find out -mindepth 1 ! -name big)" ""

if is_root; then
    say "owners"
    mkdir owned
    echo x >owned/file
    chown 1234:2345 owned/file
    ln -s x owned/link
    chown -h 77:88 owned/link
    pack owners owned
    unpacked owners
    assert_eq "owner" "$(stat -c %u:%g out/file)" 1234:2345
    assert_eq "owner of the link" "$(stat -c %u:%g out/link)" 77:88
    chmod a+r owners
    mkdir -m 777 user
    as_user datasetfsctl extract -C user owners >/dev/null
    assert_eq "a user's files" "$(stat -c %u user/file)" 65534
fi
