#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain timeout=300
# The plugin of Slurm, called by a stand-in (tests/lib/spank.c): what a submission passes on, what a step sees and
# others do not, where a user may have a data set. A mistake fails the task with one line, and nothing before it, which
# would take a node out of service. site/slurm.sh has Slurm itself.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_fuse
need_root
plugin=$DATASETFS_BUILD/tools/site/slurm/spank_datasetfs.so
[ -e "$plugin" ] || skip "built without slurm/spank.h (libslurm-dev)"
own_machine
. "$LIB/attach.sh"

mkdir source
for i in {1..50}; do echo "file $i" >"source/$i"; done
pack train source --label v1
echo new >source/new
pack train source --label v2@x
own_names
printf '%s\n' "train $PWD/train" "gone $PWD/gone" "v1 $PWD/train version=v1" \
    "wrong $PWD/train digest=sha256:$(printf '%064d' 1)" \
    "signed $PWD/train trust=/etc/datasetfs/signers" "fast $PWD/train kernel" >/etc/datasetfs/datasets.conf
echo "alice ssh-ed25519 $(sed -n 's/^#define SIGNED_KEY "\(.*\)".*/\1/p' "$LIB/signed.h")" >/etc/datasetfs/signers
chmod 644 /etc/datasetfs/signers
chmod 755 . "$DATASETFS_TEST_DIR"
mkdir here shared strangers
chown 65534 here
folder=$PWD/sets
control=$(command -v datasetfsctl)

spank() { "$DATASETFS_BUILD/tests/spank" "$plugin" "$@"; }
# submit VALUE…
submit() { spank submit -- "$@"; }
# step VALUE… -- COMMAND…
step() { spank step 65534 "folder=$folder" "control=$control" "places=$PWD/shared:$PWD/more" -- "$@"; }

say "what a submission passes on"
assert_eq "variables" "$(submit train train@v1,/a 'web@a@b:c,/b, c/' | sort)" "SLURM_DATASETFS_1=train
SLURM_DATASETFS_2=train@v1,/a
SLURM_DATASETFS_3=web@a@b:c,/b, c"
assert_eq "a step of a job" "$(SLURM_DATASETFS_1=train SLURM_DATASETFS_2=web,/b submit train@v2 | sort)" \
    "SLURM_DATASETFS_1=web,/b
SLURM_DATASETFS_2=train@v2"
assert_fails 1 "error: --dataset: the path is relative, expected an absolute one" submit train,here
assert_fails 1 "expected NAME[@VERSION][,PATH]" submit ""
SLURM_DATASETFS_1=train,/../etc assert_fails 1 "the path has . or .. in it" submit
assert_fails 1 "more than 16 data sets" submit n{1..17}

say "what a step sees"
assert_eq "current" "$(step train -- cat "$folder/train/new")" new
assert_eq "v1" "$(step train@v1 -- ls "$folder/train" | wc -l)" 50
assert_eq "an own directory" "$(step "train@v2@x,$PWD/here" -- cat here/new)" new
assert_eq "below a folder of the site" "$(mkdir shared/a; step "train,$PWD/shared/a" -- cat shared/a/new)" new
assert_eq "from the job's environment" "$(SLURM_DATASETFS_1="train@v1,$PWD/here" step train -- \
    bash -c 'ls here "$0/train" | grep -c new' "$folder")" 1
assert_eq "without a data set" "$(step -- readlink /proc/self/ns/mnt)" "$(readlink /proc/self/ns/mnt)"
if can_loop && (need_filesystem erofs) >/dev/null; then
    . "$LIB/kernel.sh"
    assert_eq "by the kernel" "$(step fast@v1 -- bash -c 'findmnt -no FSTYPE "$0"; ls "$0" | wc -l' "$folder/fast")" \
        $'erofs\n50'
    wait_for 10 has_no_loops train || fail "loop devices are left: $(losetup)"
fi
[ -z "$(find "$folder" here shared -type f)" ] || fail "a data set outside of the step"
all_is_gone

say "mistakes fail the task, and it does not run"
# mistake MESSAGE VALUE…
mistake() {
    assert_fails 1 "$1" step "${@:2}" -- touch ran
    [ ! -e ran ] && [ ! -e here/ran ] || fail "the task ran"
    all_is_gone
}
mistake "error: datasetfs: cannot attach 'web' to '$folder/web': no data set 'web' on this node" web
mistake "cannot attach 'train' to '$folder/train': volume '$PWD/train': the volume has no version 'v9'" train@v9
mistake "cannot attach 'gone'" gone
mistake "attach: option 'version' is given twice" v1@v2@x
mistake "volume '$PWD/train': no version has the digest sha256:" wrong
mistake "volume '$PWD/train': version 'v2@x' is not trusted: it is not signed" signed
assert_fails 1 "the path is relative" submit signed,trust=/x
mistake "'/etc' is no directory of your own, expected one, or a path below $folder:$PWD/shared:$PWD/more" train,/etc
mistake "'$PWD/strangers' is no directory of your own" "train,$PWD/strangers"
mistake "'$PWD/shared' is no directory of your own" "train,$PWD/shared"
mistake "'$PWD/shared/b' does not exist" "train,$PWD/shared/b"
touch here/file shared/file
chown 65534 here/file
mistake "'$PWD/here/file' is no directory of your own" "train,$PWD/here/file"
mistake "'$PWD/shared/file' is not a directory" "train,$PWD/shared/file"
ln -s /etc here/link
mistake "'$PWD/here/link' is no directory of your own" "train,$PWD/here/link"
mistake "the name of a data set is" ../etc
mistake "the path has . or .. in it" "train,$folder/../etc"
control=$PWD/nowhere mistake "cannot run '$PWD/nowhere'" train
SLURM_DATASETFS_1=$'train,/\n' mistake "the path holds a control character" train

say "a slurmd that has not what it takes"
assert_fails 1 "cannot make a mount namespace for the job (does slurmd lack CAP_SYS_ADMIN?): Operation not permitted" \
    setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$DATASETFS_BUILD/tests/spank" "$plugin" step 65534 \
    "folder=$folder" "control=$control" -- train -- touch ran
mkdir jail
for each in /*; do
    if [ -L "$each" ]; then cp -P "$each" "jail$each"; fi
    if [ -d "$each" ] && [ ! -L "$each" ]; then mkdir -p "jail$each" && mount --bind "$each" "jail$each"; fi
done
assert_fails 1 "cannot make the job's mounts private ('/' is not a mount point: is slurmd in a chroot?): Invalid" \
    chroot "$PWD/jail" env -C "$PWD" "$DATASETFS_BUILD/tests/spank" "$plugin" step 65534 "folder=$folder" \
    "control=$control" -- train -- touch ran
for each in /*; do
    if is_mounted "jail$each"; then umount "jail$each"; fi
done
rm -r --one-file-system jail
# The daemon would live in the job's namespace: as long as nobody finds it, after the job.
assert_fails 1 "cannot enter the mount namespace of process 1, where shared mounts belong: CAP_SYS_PTRACE is missing" \
    setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$DATASETFS_BUILD/tests/spank" "$plugin" step 65534 \
    "folder=$folder" "control=$control" -- train -- touch ran
all_is_gone
[ ! -e ran ] || fail "the task ran"

say "an attach that does not end is given up"
printf '#!/bin/bash\nexec sleep 100\n' >slow
chmod +x slow
assert_fails 1 "'$PWD/slow' did not end within 1 seconds" \
    spank step 65534 "folder=$folder" "control=$PWD/slow" timeout=1 -- train -- touch ran

say "a mistake of the administrator's"
step_with() { spank step 65534 "$@" "folder=$folder" "control=$control" -- train -- cat "$folder/train/1" 2>&1; }
assert_contains "unknown" "$(step_with place=/x)" "plugstack.conf: 'place=/x': expected folder="
assert_contains "goes on" "$(step_with place=/x)" "file 1"
all_is_gone

say "a job that is killed in the middle of a mount"
stand_in
ln -s "$control" bin/datasetfsctl
touch hold
(control=$PWD/bin/datasetfsctl; step train -- touch ran) >killed.log 2>&1 &
more_starts_than 0
pkill -KILL -x spank
rm hold
wait_for 20 eval 'spank epilog "control=$control" && nothing_is_left' || fail "left: $(datasetfsctl attached)"
[ ! -e ran ] || fail "the task ran"
PATH=${PATH#*:}

say "the end of a job clears away what a killed step left"
mkfifo go
step train -- cat go >killed.log 2>&1 &
wait_for 20 pgrep -fx 'cat go' || fail "no task: $(cat killed.log)"
pkill -KILL -x spank
pkill -KILL -fx 'cat go'
wait_for 20 eval 'spank epilog "control=$control" && nothing_is_left' || fail "left: $(datasetfsctl attached)"
umount /etc
