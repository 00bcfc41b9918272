#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Programs that walk and copy a tree do the same on a mount without and with datasetfs-run: find, ls, du, stat, tar, cp,
# dd, rsync.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command /usr/bin/python3

data files modes archives
text=$MNT/text/big.txt

say "walking"
works "find" find "$MNT" -printf '%p %y %Y %m %n %u %g %s %b %l %A@ %T@ %C@ %i %D %S\n'
works "find -ls" find "$MNT" -ls
both "find -L" find -L "$MNT/text" "$MNT/links/to-folder" "$MNT/links/out-folder" -type f -ls
works "find -empty" find "$MNT" -empty -size -10k -newer "$MNT/links/plain"
works "find -exec" find "$MNT/text/0" -type f -execdir cksum {} +
works "find -samefile" find "$MNT/links" -samefile "$MNT/links/plain"
both "ls" ls -laR --time-style=full-iso "$MNT/text" "$MNT/links" "$MNT/modes" "$MNT/names"
both "ls -L" ls -lLi --full-time "$MNT/links"
works "du" du -a --apparent-size "$MNT/text" "$MNT/holes"
works "du -B1" du -aB1 "$MNT/holes" "$MNT/sizes"
works "stat" stat "$text" "$MNT/links/soft" "$MNT/holes/middle" "$MNT/empty"
works "stat -L" stat -L "$MNT/links/soft" "$MNT/links/out-near"
works "stat of stdin" sh -c "stat -L - <$text; stat -c '%s %i %h' - <$text"
works "realpath" realpath "$MNT/links/soft" "$MNT/links/around" "$MNT/links/up" "$MNT/../outside/into"
works "readlink" readlink -f "$MNT/links/to-deep" "$MNT/links/out-and-back"

say "copying"
works "tar" tar -cf out.tar -C "$MNT" text sizes links names
works "tar to stdout" sh -c "tar -C $MNT -c . | sha256sum"
works "tar --sparse" tar --sparse -cf out.tar -C "$MNT/holes" .
works "tar -x" tar -xf "$MNT/archives/a.tar"
works "tar -tvz" tar -tvzf "$MNT/archives/a.tar.gz"
works "tar -d" sh -c "tar -C $MNT -c text/0 | tar -C $MNT -dv"
works "cp -a" cp -a "$MNT/." .
works "cp -r" cp -r "$MNT/text" "$MNT/sizes" .
works "cp -L" cp -rL "$MNT/links/folder" "$MNT/links/soft" "$MNT/links/out" .
works "cp --sparse" cp --sparse=always "$MNT/holes/middle" "$MNT/holes/many" .
works "cp --reflink" cp --reflink=auto "$MNT/sizes/3M" "$MNT/sizes/0" .
both "cp --reflink=always" cp --reflink=always "$MNT/sizes/3M" .
works "install" install -m 600 "$text" .
both "mv" mv "$MNT/links/plain" .
both "ln" ln "$MNT/links/plain" .
works "dd" sh -c "dd if=$text bs=1000 skip=3 count=200 status=none; dd if=$text iflag=skip_bytes skip=777 status=none"
works "dd direct" sh -c "dd if=$MNT/sizes/3M iflag=direct bs=1M status=none | cksum"
works "split" split -b 100K "$MNT/sizes/1048576"
works "cpio" sh -c "cd $MNT/text && find . | sort | busybox cpio -o -H newc 2>/dev/null | cksum"
if has rsync; then
    works "rsync" rsync -a "$MNT/" .
    works "rsync -c" rsync -rlHic --sparse --no-whole-file "$MNT/links" "$MNT/holes" .
    works "rsync by a list" sh -c "find $MNT/many -printf '%P\\n' | rsync -a --files-from=- $MNT/many ."
fi
same_programs 30
