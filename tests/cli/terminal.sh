#!/bin/bash
# SPDX-License-Identifier: MIT
# However a source, an archive, a volume or a path is called, no program writes a control character of that to a
# terminal.
. "$DATASETFS_SOURCE/tests/lib/common.sh"

E=$'\e[31m' C=$'\xc2\x9b31m' # the sequence that makes text red, and its form of one character

# tame COMMAND…: however it ends
ran=0 shown=0
tame() {
    local rc=0
    "$@" >said.txt 2>&1 </dev/null || rc=$?
    [ $rc -lt 128 ] || fail "'${*@Q}' ends with status $rc"
    [ -s said.txt ] || fail "'${*@Q}' says nothing"
    ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' said.txt ||
        fail "'${*@Q}' writes: $(LC_ALL=C grep -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' said.txt | cat -v)"
    ran=$((ran + 1))
    ! grep -qF '[31m' said.txt || shown=$((shown + 1))
}

source=source$E
mkdir -p "$source/train$E/sub$C"
head -c 300000 /dev/urandom >"$source/large$E.kind$E"
echo content >"$source/train$E/sub$C/file"
cp "$source/train$E/sub$C/file" "$source/same$C"
echo line >"$source/two"$'\n'"lines"
truncate -s 5M "$source/hole$E"
ln -s "target$E" "$source/link$E"
setfattr -n "user.$E" -v "$E" "$source/same$C" 2>/dev/null || say "no user attributes on this filesystem: left out"
tar cf "archive$E" "$source"
head -c 1500 "archive$E" >"short$E"

say "packing"
v=volume$E$C
tame mkdatasetfs --progress plain "$v" "$source"
tame mkdatasetfs --progress none --dry-run "$v" "$source"
tame mkdatasetfs --progress none --json "$v" "$source"
echo more >"$source/more$E"
rm "$source/same$C"
tame mkdatasetfs --progress none "$v" "$source"
tame mkdatasetfs --progress none --strip-components 1 "$v" "archive$E"
tame mkdatasetfs --progress none "$v" "short$E"
tame mkdatasetfs --progress none "$v" "nowhere$E"
tame mkdatasetfs --progress none "no$E/volume" "$source"
tame mkdatasetfs --progress none --label "label$E" "$v" "$source"
tame mkdatasetfs --progress none --meta "key$E=value" "$v" "$source"
tame mkdatasetfs --progress none --from-list "list$E" "$v" "$source"
tame mkdatasetfs "--option$E"
tame mkdatasetfs --progress none --force "$source" "$source"
tame mkdatasetfs --progress none "two$E.a,two$E.b" "$source" --protect mirror:2

say "reading"
for volume in "$v" "two$E.a"; do
    for verb in list "list --space" "list --verbose" "list --json" describe "describe --json" dump "dump --json" \
        verify "verify --json" scrub "member list" "member list --json" "compact --dry-run" "compact --dry-run --json" \
        "plan --workers 1 --gpus 1 --rate 1" "plan --workers 1 --gpus 1 --rate 1 --json"; do
        # shellcheck disable=SC2086
        tame datasetfsctl $verb "$volume"
    done
    for verb in ls "ls -l" "ls -R" "ls --json"; do
        # shellcheck disable=SC2086
        tame datasetfsctl $verb "$volume" "train$E" "link$E"
    done
    rm -rf "out$E"
    mkdir "out$E"
    tame datasetfsctl extract -C "out$E" "$volume"
    tame datasetfsctl extract -C "out$E" "$volume"
    tame datasetfsctl cat "$volume" "nowhere$E"
    tame datasetfsctl cat "$volume" "link$E"
    tame datasetfsctl stat "$volume" "train$E/sub$C/file"
    tame datasetfsctl stat "$volume" "nowhere$E"
    tame datasetfsctl current "$volume" "label$E"
    tame datasetfsctl remove "$volume" "label$E"
done
tame datasetfsctl describe --diff v1 "$v" v3
grep -qF '/more\x1b' said.txt || fail "describe --diff: $(cat said.txt)"
tame datasetfsctl "verb$E"
tame datasetfsctl list "--option$E" "$v"
tame datasetfsctl list "nowhere$E"
tame datasetfsctl export erofs "$v" v1 "image$E"
tame datasetfsctl export erofs "$v" v1 "image$E"
tame datasetfsctl export tar "$v" v1 "no$E/archive"
tame datasetfsctl member replace --progress none "two$E.a" 1 "two$E.b"
tame datasetfsctl member replace --progress none "two$E.a" 1 "three$E"
tame datasetfsctl member add --dry-run "two$E.a" "four$E" "two$E.b"
tame datasetfsctl member add "two$E.a" "no$E/four"
tame datasetfsctl member grow "two$E.a"
tame datasetfsctl cache list "nowhere$E"
tame datasetfsctl cache drop "$source" "volume$E"
tame datasetfsctl remove "$v" v1
tame datasetfsctl attach "$v" "nowhere$E"
tame datasetfsctl attach -o "option$E" "$v" .
tame datasetfsctl detach "nowhere$E"

tame datasetfs-run "nowhere$E"

say "damage"
cp "$v" "damaged$E"
spoil "damaged$E" "$(datasetfsctl stat --json "$v" "large$E.kind$E" | json chunks.0.device_offset)"
tame datasetfsctl verify "damaged$E"
grep -qF 'large\x1b' said.txt || fail "verify of a damaged volume: $(cat said.txt)"
tame datasetfsctl scrub "damaged$E"
rm "two$E.b"
tame datasetfsctl list "two$E.a"
tame datasetfsctl member list "two$E.a"

if (need_fuse) >/dev/null; then
    say "mounts"
    mount_volume "$v" "mount$E"
    for verb in status "status --json" list describe; do
        # shellcheck disable=SC2086
        tame datasetfsctl $verb "mount$E"
    done
    tame datasetfsctl top --batch 1
    tame datasetfsctl stat "mount$E/large$E.kind$E"
    tame datasetfsctl switch "mount$E" "label$E"
    tame datasetfsctl follow "mount$E"
    tame datasetfsctl status "nowhere$E"
    tame datasetfsctl warm "mount$E"
    tame datasetfsctl warm "mount$E" "nowhere$E"
    tame datasetfsctl warm --from "nowhere$E" "mount$E"
    tame datasetfs "$v" "mount$E"
    tame datasetfs "$v" "nowhere$E"
    tame datasetfs -o "option$E" "$v" "mount$E"
    tame datasetfs -o "version=label$E" "$v" other
    tame umount.datasetfs "nowhere$E"
    unmount "mount$E"
    tame cat daemon.log
fi
say "$ran commands, $shown of them wrote such a name"
[ $shown -gt 30 ] || fail "only $shown of $ran commands wrote such a name"
