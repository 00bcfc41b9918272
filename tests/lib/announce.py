# SPDX-License-Identifier: MIT
"""Announces one file to the daemon, which reads it ahead: announce.py MOUNTPOINT FILE."""
import array
import os
import sys

sys.path.insert(0, os.path.join(os.environ["DATASETFS_SOURCE"], "contrib", "python"))
import datasetfs
from datasetfs import prefetch

mountpoint, file = sys.argv[1:]
mount = datasetfs.Mount(mountpoint)
prefetch.prefetch(mount, mount.version["digest"], array.array("Q", [os.stat(os.path.join(mountpoint, file)).st_ino]))
