#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# contrib/MLPERF.md, command by command, against stand-ins for mlpstorage and DLIO, and with DLIO where it is in
# PYTHONPATH: the checks of the front end pass, and datasetfs-run and the classes of datasetfs.dlio read past the mount.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
need_mount
need_command datasetfs-run
/usr/bin/python3 -c 'import torch, PIL, numpy' 2>/dev/null || skip "no PyTorch: apt-get install python3-torch"

mkdir programs data results
install -m 755 "$DATASETFS_SOURCE/tests/torch/mlperf_front.py" programs/mlpstorage
PATH=$PWD/programs:$PATH
mount -t tmpfs tmpfs data
at_exit umount -l data

page() { # SECTION COMMANDS
    python3 "$LIB/manual_session.py" "$DATASETFS_SOURCE/contrib/MLPERF.md" "$1" "$2" ||
        fail "contrib/MLPERF.md, $1, and the programs disagree"
}
page Prepare 4
page Mount 2
page Run 3

run=(mlpstorage open training retinanet run file --results-dir results --data-dir)
mount_volume retinanet.dsfs data/retinanet
before=$(stats data/retinanet bytes_served)
assert_eq "with datasetfs-run" "$(datasetfs-run "${run[@]}" data)" "read 40 files"
through=$(($(stats data/retinanet bytes_served) - before))
[ "$through" -lt 5000 ] || fail "datasetfs-run: $through bytes came through the mount" # the manifest is one of them

# Without 'test' in the version the front end cannot make it, and a mount as the data folder has no room.
mkdir -p bare/retinanet
cp -r source/retinanet/train source/retinanet/valid bare/retinanet
pack bare.dsfs bare/retinanet
unmount data/retinanet
mount_volume bare.dsfs data/retinanet
assert_fails 1 "Read-only file system: 'data/retinanet/test'" "${run[@]}" data
unmount data/retinanet
pack whole.dsfs source
mkdir mnt data/{upper,layers,over}
mount_volume whole.dsfs mnt
assert_fails 1 "insufficient disk space at mnt: 0" "${run[@]}" mnt
at_exit umount -l data/over
mount -t overlay overlay -o "lowerdir=mnt,upperdir=data/upper,workdir=data/layers" data/over || fail "no overlay"
assert_eq "on an overlay" "$("${run[@]}" data/over)" "read 40 files"
umount data/over
unmount mnt

# The package in DLIO.
export PYTHONPATH=$DATASETFS_BUILD/root/usr/share/datasetfs/python${PYTHONPATH:+:$PYTHONPATH}
/usr/bin/python3 - <<'END'
import os
import numpy
from PIL import Image
for kind in "jpeg", "png", "npy", "npz":
    os.makedirs(f"samples/{kind}/train")
    os.mkdir(f"samples/{kind}/valid")
    for number in range(27):
        pixels = numpy.full((16 + number, 20), 8 * number, dtype=numpy.uint8)
        name = f"samples/{kind}/train/img_{number:02d}_of_27.{kind}"
        if kind == "npy":
            numpy.save(name, pixels)
        elif kind == "npz":
            numpy.savez(name, x=pixels)
        else:
            Image.fromarray(pixels).save(name)
END
pack samples.dsfs samples
mkdir mnt2
mount_volume samples.dsfs mnt2
drive() { /usr/bin/python3 "$DATASETFS_SOURCE/tests/torch/mlperf_dlio.py" mnt2 samples "$@"; }
before=$(stats mnt2 bytes_served)
drive stand-in || fail "the classes in a stand-in for DLIO"
for reader in '{"reader_classname": "datasetfs.dlio.FileReader"}' \
    '{"data_loader_classname": "datasetfs.dlio.BatchDataLoader", "data_loader_sampler": "index"}'; do
    drive dlio "$reader" || fail "DLIO with $reader"
done
assert_eq "bytes through the mount" $(($(stats mnt2 bytes_served) - before)) 0
