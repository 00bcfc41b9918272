#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Images and arrays are the same on a mount without and with datasetfs-run: PIL, numpy, OpenCV.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
/usr/bin/python3 -c 'import PIL, numpy' 2>/dev/null ||
    skip "no PIL or no numpy: apt-get install python3-pil python3-numpy"

data images
images=$DATASETFS_SOURCE/tests/preload/images.py
works "PIL" /usr/bin/python3 "$images" pillow
works "numpy" /usr/bin/python3 "$images" arrays
same_programs 2
/usr/bin/python3 -c 'import cv2' 2>/dev/null || skip "no OpenCV: apt-get install python3-opencv;
    the rest was compared"
works "OpenCV" /usr/bin/python3 "$images" opencv
same_programs 3
