#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: timeout=600
# The PyTorch example: ImageFolder and DataLoader from a directory, from the mount and past it, with the same losses.
# The images are some icons, with --all those that the example takes by itself.
. "$(dirname "$0")/../lib/common.sh"
need_fuse
/usr/bin/python3 -c 'import torch, torchvision, PIL' 2>/dev/null ||
    skip "no PyTorch: contrib/examples/run installs python3-torch and python3-torchvision"
for theme in gnome Tango; do
    [ -d /usr/share/icons/$theme ] || skip "no icons in /usr/share/icons/$theme: contrib/examples/run installs them"
done

images=()
if [ "$DATASETFS_FULL" = 0 ]; then
    images=(icons)
    /usr/bin/python3 "$DATASETFS_SOURCE/contrib/examples/icons.py" icons /usr/share/icons/gnome/{16x16,32x32} ||
        fail "no icons"
fi
DATASETFS_EXAMPLE_OFFLINE=1 "$DATASETFS_SOURCE/contrib/examples/run" "${images[@]}" >run.log 2>&1 ||
    { cat run.log; fail "the example"; }
cat run.log
assert_eq "trainings" "$(grep -c '^training ' run.log)" 3
grep -qE '^the same loss in all [1-9][0-9]+ steps$' run.log || fail "no steps were compared"
