#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: plain once in=none timeout=1800
# Slurm itself, of this Debian release, on a machine of its own: srun, sbatch and salloc with --dataset; two tasks, a
# job that is cancelled, daemons of Slurm that are killed. A user's mistake fails the job with one line, and the node
# stays idle. Nothing is left after each. LENGTH=N: how often a step with a data set is compared with one without.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$DATASETFS_SOURCE/tests/lib/fresh_root.sh"
. "$DATASETFS_SOURCE/tests/lib/machine.sh"
need_root
need_fuse
need_command debootstrap ip nsenter pivot_root
root=$PWD/root
plugin=$(cd "$DATASETFS_BUILD/root" && find . -name spank_datasetfs.so)
[ -n "$plugin" ] || skip "built without the plugin: libslurm-dev has slurm/spank.h"
plugin=${plugin#.}
need_space 1500

say "a machine with Slurm"
fresh_root "$root"
fresh_root_enter "$root"
fresh_root_install slurm-wlm munge procps "libblkid1, libfuse3-3, liblmdb0, libnvme1, libssl3, liburing2,
    libxxhash0, libzstd1, libarchive13, libexpat1, libjson-c5, libncursesw6"
umount "$root/sys" "$root/proc"
tar -C "$DATASETFS_BUILD/root" -cf - . | tar -C "$root" --keep-directory-symlink -xf -
within useradd --home-dir /srv/worker --create-home --uid 1234 worker
mkdir source
for i in {1..50}; do echo "file $i" >"source/$i"; done
pack train source --label v1
echo new >source/new
pack train source --label v2@x:y
mkdir -p "$root"/{etc/datasetfs,spool/d,spool/ctld,srv/worker/here}
cp train "$root/srv/train.dsfs"
chown 1234 "$root/srv/worker/here"
echo "train /srv/train.dsfs" >"$root/etc/datasetfs/datasets.conf"
cat >"$root/etc/slurm/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$(hostname -s)(192.0.2.1)
SlurmUser=root
NodeName=$(hostname -s) NodeAddr=192.0.2.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=FORCE:4
SlurmdSpoolDir=/spool/d
StateSaveLocation=/spool/ctld
SlurmctldLogFile=/spool/ctld.log
SlurmdLogFile=/spool/d.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=0
InactiveLimit=0
END
echo "CgroupPlugin=cgroup/v1" >"$root/etc/slurm/cgroup.conf"
echo "required $plugin" >"$root/etc/slurm/plugstack.conf"
machine_begin "$root"

# job COMMAND…: as a user
job() {
    machine setpriv --reuid 1234 --regid 1234 --clear-groups env HOME=/srv/worker USER=worker \
        bash -c 'cd && exec "$@"' job "$@"
}
start_munge() {
    machine mkdir -p /run/munge
    machine chown munge /run/munge
    machine setpriv --reuid munge --regid munge --clear-groups munged
}
node_is() { [ "$(machine sinfo --noheader --format=%T)" = "$1" ]; }
nothing_is_left() {
    [ -z "$(machine ls -A /run/datasetfs/attach 2>/dev/null)" ] && ! machine pgrep -x datasetfs >/dev/null &&
        [ -z "$(machine squeue --noheader)" ]
}
# all_is_well WHAT
all_is_well() {
    wait_for 60 node_is idle || fail "$1: the node is $(machine sinfo --noheader --format='%T %E')"
    wait_for 60 nothing_is_left || fail "$1: left: $(machine datasetfsctl attached; machine squeue; machine ps axf)"
}
logs() { tail -n 40 "$root"/spool/*.log; }

start_munge
machine slurmctld || fail "slurmctld: $(logs)"
machine slurmd || fail "slurmd: $(logs)"
wait_for 60 node_is idle || fail "no node: $(logs)"
job srun --help | grep -q -- '--dataset=NAME\[@VERSION\]\[,PATH\]' || fail "srun --help does not have the option"

place=/srv/worker/here
say "srun: the current version, another one, and a place of the user's"
assert_eq "current" "$(job srun --dataset=train cat /datasets/train/new)" new
assert_eq "label with @ and :" "$(job srun --dataset=train@v2@x:y,$place cat $place/new)" new
assert_eq "v1" "$(job srun --dataset=train@v1 ls /datasets/train | wc -l)" 50
machine mkdir -p /datasets/new
assert_eq "three" "$(job srun --dataset=train@v1 --dataset=train,$place --dataset=train@v2@x:y,/datasets/new \
    bash -c 'ls /datasets/train here | grep -c new; ls /datasets')" "1
new
train"
[ -z "$(machine ls -A /datasets/train)" ] || fail "a data set outside of the job"
all_is_well "srun"

say "two tasks share one namespace; others do not see it"
job srun -n2 -O --dataset=train bash -c 'readlink /proc/self/ns/mnt; cat /datasets/train/1' >tasks
assert_eq "namespaces and contents" "$(sort tasks | uniq -c | awk '{ print $1 }' | paste -sd' ')" "2 2"
all_is_well "two tasks"

say "sbatch, with srun inside; --export=NONE"
cat >"$root/srv/worker/batch" <<'END'
#!/bin/bash
#SBATCH --dataset=train@v1
cat /datasets/train/1
srun --dataset=train,/srv/worker/here bash -c 'ls /datasets/train | wc -l; cat /srv/worker/here/new'
END
job sbatch --quiet --wait --output=out --dataset=train,$place batch || fail "sbatch: $(cat "$root$place/../out")"
assert_eq "output" "$(cat "$root$place/../out")" "file 1
50
new"
job sbatch --quiet --wait --output=out --export=NONE --dataset=train@v1 --dataset=train,$place \
    --wrap='/bin/cat /datasets/train/1 here/new' || fail "sbatch --export=NONE: $(cat "$root$place/../out")"
assert_eq "output" "$(cat "$root$place/../out")" "file 1
new"
assert_eq "srun" "$(job srun --export=NONE --dataset=train@v1 --dataset=train,$place \
    /bin/cat /datasets/train/1 here/new)" "file 1
new"
all_is_well "sbatch"

say "salloc"
assert_eq "salloc" "$(job salloc --quiet --dataset=train@v1 srun cat /datasets/train/1)" "file 1"
all_is_well "salloc"

say "the daemon belongs to the machine, not to the job"
job srun --dataset=train sleep 60 & waits=$!
is_held() { machine datasetfsctl attached | grep -q "mount namespace .* of process"; }
wait_for 30 is_held || fail "attached: $(machine datasetfsctl attached)"
machine pgrep -ox datasetfs >daemon
assert_eq "control groups" "$(machine cat "/proc/$(cat daemon)/cgroup")" "$(machine cat /proc/1/cgroup)"

say "scancel"
job scancel --user worker
wait $waits 2>/dev/null || true
all_is_well "scancel"

say "slurmstepd and its task are killed"
job srun --dataset=train sleep 61 >stepd.log 2>&1 & waits=$!
wait_for 30 machine pgrep -fx '/usr/bin/sleep 61' || fail "no task: $(cat stepd.log)"
machine pkill -KILL -f 'slurmstepd: \['
machine pkill -KILL -fx '/usr/bin/sleep 61'
job scancel --user worker
wait $waits 2>/dev/null || true
all_is_well "slurmstepd killed"

say "slurmd is killed while a job runs"
job srun --dataset=train bash -c 'until [ -e go ]; do sleep 0.1; done; cat /datasets/train/new' >slurmd.log 2>&1 &
waits=$!
wait_for 30 machine pgrep -x datasetfs || fail "no daemon"
machine pkill -KILL -x slurmd
machine slurmd || fail "slurmd: $(logs)"
job touch go
wait $waits || fail "srun: $(cat slurmd.log)"
assert_eq "output" "$(cat slurmd.log)" new
all_is_well "slurmd killed"

say "mistakes: at submission where they can be seen, else the job fails; the node stays idle"
for value in "" @v1 train@ "train," "train,here" "train,/a/../b" "train@a b" tr/ain; do
    ! job srun --dataset="$value" true >mistake 2>&1 || fail "'$value' is accepted"
    assert_contains "srun --dataset='$value'" "$(cat mistake)" "expected NAME[@VERSION][,PATH]"
    ! job sbatch --dataset="$value" batch >mistake 2>&1 || fail "'$value' is accepted"
done
assert_eq "jobs" "$(machine squeue --noheader)" ""

# mistake VALUE MESSAGE: of srun and of sbatch
mistake() {
    local number
    ! job srun --dataset="$1" touch ran >mistake 2>&1 || fail "srun --dataset=$1 ran: $(cat mistake)"
    assert_contains "srun --dataset=$1" "$(cat mistake)" "$2"
    number=$(job sbatch --parsable --output=out --dataset="$1" --wrap='touch ran' 2>&1) || true
    wait_for 30 eval '[ -z "$(machine squeue --noheader)" ]' || fail "a job stays"
    machine scontrol show job "${number%%$'\n'*}" >state
    grep -q "JobState=FAILED" state || fail "$1: $(cat state)"
    assert_contains "sbatch --dataset=$1" "$(cat "$root/srv/worker/out")" "$2"
    [ ! -e "$root/srv/worker/ran" ] || fail "$1: the job ran"
    all_is_well "$1"
}
mistake web "no data set 'web' on this node"
mistake train@v9 "has no version 'v9': choose one that it has, v1, v2@x:y"
mistake train,/etc "'/etc' is no directory of your own"
mistake train,/srv/worker/nowhere "cannot look at '/srv/worker/nowhere'"
mv "$root/srv/train.dsfs" "$root/srv/gone"
mistake train "/srv/train.dsfs"
dd if=/dev/zero of="$root/srv/train.dsfs" bs=1M count=1 status=none
mistake train "/srv/train.dsfs"
mv "$root/srv/gone" "$root/srv/train.dsfs"
job srun --dataset=train true || fail "a job afterwards"
all_is_well "mistakes"

say "what a step with a data set costs"
machine mkdir -p /keep
machine datasetfsctl attach --named train /keep >/dev/null
cat >"$root/srv/worker/measure" <<'END'
for ((i = $1; i; i--)); do
    for option in --job-name=plain --dataset=train; do
        begin=$(date +%s%N)
        srun "$option" true
        echo "$option $((($(date +%s%N) - begin) / 1000))"
    done
done
END
job salloc --quiet bash measure "$(length 5 20)" >durations
machine datasetfsctl detach /keep >/dev/null
median() {
    grep -- "$1" durations | awk '{ print $2 }' | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
}
say "srun: $(median plain) us, with a mounted data set: $(median dataset) us (medians of $(($(wc -l <durations) / 2)))"
all_is_well "the end"
