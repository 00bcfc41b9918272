#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: once timeout=300
# Programs that look for files in a tree and seek in them do the same on a mount without and with datasetfs-run: gcc and
# its headers, sqlite3, git.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
. "$LIB/preload.sh"
need_fuse
need_command /usr/bin/python3

kinds=(headers)
! has git || kinds+=(repository)
! has sqlite3 || kinds+=(database)
data "${kinds[@]}"

say "compiling"
works "gcc -E" sh -c "gcc -E -I $MNT/include $MNT/include/all.c; gcc -M -I $MNT/include $MNT/include/all.c"
works "gcc" sh -c "gcc -I $MNT/include -o program $MNT/include/all.c && ./program && rm program"
works "gcc from stdin" sh -c "cd $MNT/include && gcc -E -xc - <all.c | cksum"

if has sqlite3; then
    say "databases"
    query="select count(*), sum(value) from samples; select * from samples where name = 'name77';
        pragma integrity_check;"
    works "sqlite3 immutable" sqlite3 "file:$MNT/db/data.db?immutable=1" "$query"
    works "sqlite3" sqlite3 -readonly "$MNT/db/data.db" "$query" ".dump" ".schema"
    works "sqlite3 mapped" sqlite3 "file:$MNT/db/data.db?mode=ro" "pragma mmap_size = 10000000; $query"
    works "sqlite3 attached" sqlite3 new.db "attach '$MNT/db/data.db' as d;
        create table t as select * from d.samples limit 9; select * from t;"
    both "sqlite3 written" sqlite3 "$MNT/db/data.db" "insert into samples values (1, 2, 3);"
    works "Python's sqlite3" /usr/bin/python3 -c "import sqlite3
print(list(sqlite3.connect('file:$MNT/db/data.db?mode=ro', uri=True).execute('select * from samples')))"
fi

if has git; then
    say "repositories"
    export GIT_COMMITTER_DATE=2020-01-02T03:04:05Z GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
    export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_CONFIG_KEY_1=core.fsync \
        GIT_CONFIG_VALUE_1=none
    repository=$MNT/repository
    works "git log" git -C "$repository" log -p --stat
    works "git fsck" sh -c "git -C $repository fsck --full; echo \$?"
    works "git grep" git -C "$repository" grep -n needle one
    works "git archive" git -C "$repository" archive --format=tar HEAD
    works "git blame" git -C "$repository" blame folder0/file0
    works "git cat-file" git -C "$repository" cat-file --batch-all-objects --batch-check
    works "git ls-files" git -C "$repository" ls-files -s
    both "git diff" git --no-pager -C "$repository" diff HEAD~2
    # the index of the clone holds times and inode numbers of its own
    for words in "" --no-hardlinks "--bare --no-local" "--depth 1 --no-local"; do
        works "git clone $words" sh -c "git clone -q $words $repository clone && git -C clone log --stat &&
            rm -f clone/.git/index"
    done
    works "git status" sh -c "git clone -q $repository clone && git -C clone fetch -q && git -C clone status &&
        rm -r clone"
fi
same_programs 3
