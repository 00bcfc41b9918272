#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke queue=loops timeout=300
# A version that the kernel serves by itself (-o kernel) is to the last byte what our mount shows, whatever the tree
# holds, whatever the volume is made of, and nothing of the mount stays when it goes.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/kernel.sh"
need_fuse
need_root
own_namespace # it looks at all mounts
need_loop
need_mount
need_filesystem erofs
need_space 600
need_command getfattr fsck.erofs

# both VOLUME: by us, and by the kernel
both() {
    local file
    mount_volume "$1" ours
    kernel_mount "$1"
    views_agree
    umount theirs
    unmount ours
    for file in "${@:2}"; do
        wait_for 10 has_no_loops "$file" || fail "a loop device of $file is left"
    done
}

say "a tree of everything"
tree nasty source --no-special --no-huge
tree random source/random --seed "${SEED:-17}" --files "$(length 150 1500)"
mkdir -p source/sizes source/flat source/runs
step=$(length 61 1)
python3 - "$step" <<'END'
import random, sys
random.seed(5)
for size in {*range(1, 8194, int(sys.argv[1])), *range(4030, 4100), *range(8126, 8194)}:
    with open(f"source/sizes/{size}", "wb") as file:
        file.write(random.randbytes(size - 1) + b"\xff")
for number in range(700):
    open(f"source/flat/{'n' * (number % 200)}{number}", "w").close()
parts = [random.randbytes(1 << 20) for _ in range(3)]
for name, content in {
    "a": b"".join(parts), "b": parts[2] + parts[0] + b"the end", "c": parts[1] + b"between" + parts[1],
    "d": parts[1] + parts[1] + parts[2][:5000], "tail": parts[0] + b"x" * 4090,
}.items():
    open(f"source/runs/{name}", "wb").write(content)
with open("source/runs/holes", "wb") as file:
    for offset, content in ((3 << 20, parts[0]), (9 << 20, b"in between"), ((17 << 20) + 77, parts[1][:70000])):
        file.seek(offset)
        file.write(content)
    file.truncate(40 << 20)
with open("source/runs/hole", "wb") as file:
    file.truncate((7 << 20) + 1)
END
chmod 6755 source/sizes/62
ln source/sizes/62 source/runs/linked
for name in ! - . .. a; do touch "source/flat/$name$name"; done
pack volume source
both volume volume
enough_for_smoke
say "deduplicated against an earlier version, whose small files lie behind the ends of large ones"
rm -rf source/random
for number in {1..40}; do head -c $((number * 300)) /dev/urandom >"source/new$number"; done
pack volume source --label v2
both volume volume

say "attributes: of one set that many files share, more than an inode can share, and one as large as it may be"
python3 - <<'END'
import tarfile
with tarfile.open("attributes.tar", "w", format=tarfile.PAX_FORMAT) as archive:
    for number, count, size in ((1, 3, 5), (2, 3, 5), (3, 255, 7), (4, 256, 7), (5, 600, 3), (6, 1, 60000), (7, 1, 0)):
        member = tarfile.TarInfo(f"file{number}")
        member.pax_headers = {f"SCHILY.xattr.user.name{i}": "v" * size for i in range(count)}
        archive.addfile(member)
END
pack attributes attributes.tar
both attributes attributes
mount_volume attributes ours
kernel_mount attributes
for number in {1..7}; do
    getfattr --absolute-names -d "ours/file$number" | sed 1d >ours.list
    getfattr --absolute-names -d "theirs/file$number" | sed 1d >theirs.list
    [ -s ours.list ] && sort ours.list | diff - <(sort theirs.list) || fail "attributes of file$number"
done
umount theirs
unmount ours

say "set-uid bits"
kernel_mount volume
assert_eq "mode" "$(stat -c %a theirs/sizes/62) $(stat -c %h theirs/sizes/62)" "755 2"
findmnt -no OPTIONS theirs | grep -q nosuid || fail "it is not mounted nosuid"
umount theirs
kernel_mount volume -o suid,noexec
assert_eq "mode" "$(stat -c %a theirs/sizes/62)" 6755
assert_eq "options" "$(findmnt -no OPTIONS theirs | tr , '\n' | grep -cE '^(ro|noexec|nodev|noatime|nosuid)$')" 4

say "nobody on this machine changes the volume meanwhile, and another mount is no trouble"
mkdir again
at_exit kernel_end again
datasetfs -o kernel,version=v1 volume again
assert_fails 1 "the kernel has it mounted, or" datasetfsctl remove volume v1
there="mountpoint 'again': the kernel serves a volume there already: 'umount $PWD/again', then mount again"
assert_fails 32 "$there" datasetfs -o kernel,version=v2 volume again
pack other source/flat
assert_fails 32 "$there" datasetfs -o kernel other again
assert_fails 32 "$there" datasetfs other again
umount again
umount theirs
wait_for 10 has_no_loops volume || fail "a loop device is left"
datasetfsctl remove volume v1

say "what is refused leaves nothing"
assert_fails 32 "another program has '$PWD/volume' locked, mount it when that has ended: process " \
    flock volume datasetfs -o kernel volume theirs
assert_fails 32 "the volume has no version 'v9': choose one that it has, v2" \
    datasetfs -o kernel,version=v9 volume theirs
assert_fails 32 "no version has the digest sha256:00" \
    datasetfs -o "kernel,digest=sha256:$(printf '0%.0s' {1..64})" volume theirs
assert_fails 2 "mount option 'kernel' cannot be combined with 'verify': no daemon runs that could do it" \
    datasetfs -o kernel,verify=always volume theirs
ln -s "$(command -v datasetfs)" mount.datasetfs
./mount.datasetfs volume "$PWD/theirs" -f -o kernel || fail "a rehearsal"
! is_mounted theirs || fail "something is mounted"
has_no_loops volume || fail "a loop device is left of a mount that was refused"

say "several members"
pack a,b,c source --protect none
both b a b c
rm a b c
pack a,b source --protect mirror:2
both b,a a b
mkdir away
mv b away/
assert_fails 32 "member 1 of the volume is missing or stale" datasetfs -o kernel a theirs
has_no_loops a || fail "a loop device is left of a mount that failed"
mv away/b .

say "a block device, which the kernel opens exclusively"
loop_device volume
both "$LOOP"
say "a path to it with a comma, which mount(8) cannot hand on"
ln -s "$LOOP" 'a,b'
both './a,b'
datasetfsctl export erofs './a,b' v2 comma.image >export.log
eval "$(tail -n 1 export.log | sed 's/MOUNTPOINT$/theirs/')" || fail "the command: $(cat export.log)"
cmp theirs/runs/a source/runs/a || fail "what the command mounts"
umount theirs
rm 'a,b' comma.image
kernel_mount "$LOOP"
assert_fails 1 "it is mounted or another publisher has it open" datasetfsctl remove "$LOOP" v2
umount theirs

say "members of more than 16 TiB, together and each"
mkdir memory
mount -t tmpfs none memory
at_exit umount --lazy memory
for size in 15999G 20T; do
    truncate -s $size memory/large
    loop_device memory/large
    pack "$LOOP" source --format
    both "$LOOP"
    datasetfsctl export erofs --force "$LOOP" v1 large.erofs >export.log
    [ $size = 20T ] || fsck.erofs --extract --device="$LOOP" large.erofs || fail "fsck.erofs: its files"
    loop_end "$LOOP"
    rm memory/large
done

say "what the kernel serves is no stranger to datasetfsctl"
kernel_mount volume -o version=v2
assert_contains "status" "$(datasetfsctl status theirs)" \
    "the kernel serves '$PWD/theirs': version 'v2' of '$PWD/volume'"
assert_eq "status --json" "$(datasetfsctl status --json theirs | json label)" v2
assert_contains "list" "$(datasetfsctl list theirs)" v2
assert_eq "the version of the mount" "$(datasetfsctl describe --json theirs | json version.label)" v2
# in_top: as the kernel's; on a busy machine who looks at it may be too late for that
in_top() {
    datasetfsctl top --batch 1 --json theirs >top.json
    [ "$(json mounts.0.state top.json) $(json mounts.0.version top.json)" = "kernel v2" ]
}
wait_for 20 in_top || fail "top: $(cat top.json)"
assert_contains "top of all mounts" "$(datasetfsctl top --batch 1 --json)" "\"mount\": \"$PWD/theirs\""
assert_fails 1 "the kernel serves it by itself: it has no program" datasetfsctl upgrade theirs
umount theirs

if command -v ssh-keygen >/dev/null; then
    say "a signature proves nothing of what the kernel reads"
    ssh-keygen -q -t ed25519 -N '' -C alice -f alice
    chmod go-w .
    echo "alice $(cut -d' ' -f1,2 alice.pub)" >signers
    chmod 644 signers
    assert_fails 32 "version 'v2' is not trusted: it is not signed" \
        datasetfs -o "kernel,version=v2,trust=$PWD/signers" volume theirs
    datasetfsctl sign volume v2 --key alice >/dev/null
    kernel_mount volume -o version=v2,trust="$PWD/signers"
    assert_contains "what the signature is worth" "$(cat kernel.log)" \
        "version 'v2' is signed by 'alice', but the kernel verifies nothing that it reads"
    umount theirs
fi

say "an exported image, mounted by hand"
datasetfsctl export erofs volume v2 image >export.log
datasetfsctl export erofs volume v2 again.image >/dev/null
cmp image again.image || fail "the same version gives other bytes"
loop_device volume -r
fsck.erofs --device="$LOOP" image || fail "fsck.erofs"
mount_volume volume ours
mount -t erofs -o loop,ro,nosuid,nodev,device="$LOOP" image theirs
views_agree
umount theirs
unmount ours
