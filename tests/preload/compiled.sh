#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Compiled programs do the same on a mount without and with datasetfs-run: streams of C++; a static program and one of
# Go, which meet the mount. What a program in C calls is in calls.sh and sequences.sh.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command /usr/bin/python3

data files modes
some=("$MNT"/text/{0/000,no-end,crlf,utf-8}.txt "$MNT"/text/numbers "$MNT"/sizes/{0,1,4096,4097,65537,1048576} \
    "$MNT"/holes/middle "$MNT"/links/soft)
absent=("$MNT/missing" "$MNT/links/loop" "$MNT/text/0/000.txt/x" "$MNT/modes/0000")

if c++ -w -O2 -std=c++17 -o ifstream "$DATASETFS_SOURCE/tests/preload/ifstream.cc" -pthread 2>ifstream.log; then
    works "ifstream" "$PWD/ifstream" "${some[@]}" "${absent[@]}"
else
    say "c++ cannot build ifstream: $(head -n 1 ifstream.log)"
fi
if has busybox; then
    works "busybox" busybox sh -c "cd $MNT; find text | sort | busybox cpio -o -H newc; busybox cat ${some[*]};
        busybox ls -l text"
fi
if has go; then
    cat >main.go <<'END_OF_GO'
package main

import ("bufio"; "fmt"; "hash/crc32"; "os")

func main() {
	for _, path := range os.Args[1:] {
		all, err := os.ReadFile(path)
		fmt.Println(path, len(all), crc32.ChecksumIEEE(all), err)
		if file, err := os.Open(path); err == nil {
			line, err := bufio.NewReader(file).ReadString('\n')
			info, _ := file.Stat()
			fmt.Println(line, err, info.Size(), info.Mode(), info.ModTime().Unix())
			file.Close()
		}
	}
}
END_OF_GO
    GOCACHE=$PWD/cache GO111MODULE=off go build -o program main.go || fail "go cannot build it"
    works "Go" "$PWD/program" "${some[@]}" "${absent[@]}" "$MNT/text"
fi
same_programs 1
