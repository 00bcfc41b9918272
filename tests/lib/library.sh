# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Functions that the tests of libdatasetfs share; after common.sh.

library_tree() {
    "$DATASETFS_BUILD/tests/library/library-tree" "$@"
}

# tree_of_links DIRECTORY: every way in which a path may come to its end, or to none
tree_of_links() {
    mkdir -p "$1"/a/b/c "$1/.hidden" "$1/a/.datasetfs" "$1/empty"
    echo x >"$1/a/file"
    echo y >"$1/a/b/c/deep"
    echo z >"$1/.hidden/file"
    echo w >"$1/a/.datasetfs/version"
    echo v >"$1/$(printf 'n%.0s' {1..255})"
    (
        cd "$1"
        ln -s a/b to-directory
        ln -s a/b/ to-directory-slash
        ln -s a/file to-file
        ln -s a/file/ to-file-slash
        ln -s a/./b//c/../c/deep around
        ln -s missing dangling
        ln -s missing/more dangling-deep
        ln -s loop loop
        ln -s pong ping
        ln -s ping pong
        ln -s /a/file absolute
        ln -s / absolute-root
        ln -s .. out
        ln -s ../outside out-more
        ln -s a/../.. out-later
        ln -s . self
        ln -s self/self/self self-more
        ln -s .datasetfs to-control
        ln -s "$(printf 'n%.0s' {1..256})" long-name
        ln -s ../../a/file a/b/up-and-down
        ln -s ../../../out a/b/up-too-far
        ln -s ../file a/b/sibling
        ln a/file hard
        # 40 links in a row are followed, 41 are not
        ln -s a/file chain-1
        for i in {2..41}; do ln -s chain-$((i - 1)) chain-$i; done
        ln -s a/b dir-1
        for i in {2..40}; do ln -s dir-$((i - 1)) dir-$i; done
    )
}

# paths_of_links: a path and a NUL each: what tree_of_links() is looked at with
paths_of_links() {
    python3 - <<'END'
import sys
long = "n" * 255
paths = ["", ".", "/", "//", "./.", "a", "/a", "//a//b", "a/", "a//", "a/.", "a/./", "a/..", "a/../a", "a/b/../b/../b",
         "a/b/c/deep", "a/b/c/deep/", "a/b/c/deep/.", "a/b/c/deep/..", "a/b/c/deep/x", "a/b/c/../../b/c/deep",
         "a/file", "/a/file", "a/file/", "a/file//", "a/file/.", "a/file/x", "hard", "hard/", ".hidden", ".hidden/file",
         "missing", "missing/", "missing/x", "a/missing", "a/missing/..", "a/b/c/deep2", "...", "a/...", "..a", "a..",
         "..", "../", "/..", "../a", "a/../..", "a/../../a", "a/b/../../..", "./..", "self/..", "a/b/c/../../../../x",
         "empty", "empty/", "empty/.", "empty/..", "empty/x",
         long, long + "/", "n" * 256, "n" * 256 + "/x", "n" * 300, "a/" + "n" * 256, "missing/" + "n" * 256,
         "a/file/" + "n" * 256, "empty/" + long,
         "to-directory", "to-directory/", "to-directory/c/deep", "to-directory/../file", "to-directory-slash",
         "to-directory-slash/c", "to-file", "to-file/", "to-file/x", "to-file-slash", "to-file-slash/", "around",
         "around/", "dangling", "dangling/", "dangling/x", "dangling-deep", "loop", "loop/", "loop/x", "ping", "pong",
         "absolute", "absolute/x", "absolute-root", "absolute-root/a", "out", "out/", "out/a", "out-more", "out-later",
         "self", "self/self/self/a", "self-more", "self-more/a/file", "long-name", "a/b/up-and-down",
         "a/b/up-too-far", "a/b/sibling", "a/b/c/../sibling", "to-directory/sibling", "to-directory/up-and-down",
         "chain-39", "chain-40", "chain-41", "chain-40/", "self/chain-40", "self/chain-39", "chain-41/x",
         "dir-39", "dir-40", "dir-40/", "dir-40/c", "dir-40/sibling", "dir-39/sibling", "dir-40/sibling",
         "dir-39/c/deep",
         "dir-39/c/../sibling", "dir-39/sibling/x", "dir-40/c/deep", "dir-40/c/nothing", "dir-39/c/deep/",
         "a/.datasetfs", "a/.datasetfs/version", "./a/.datasetfs/version",
         "a\nb", "a/\x01", "a/\xff", " ", "a/b/c/deep ", "/" * 3000, "./" * 1500 + "a/file", "a/../" * 700 + "a/file",
         "a/b/c/d/e/f", "self/" * 39 + "a/file", "self/" * 40 + "a/file", "self/" * 41 + "a/file", "self/" * 40,
         "a/b/c/deep", "a/b/c/x", "a/b/c/deep", "a/b/x", "a/b/c/", "a/b/c", "a/b/c/..", "a/b/c/.", "a/b/c/deep"]
sys.stdout.buffer.write(b"".join(path.encode("latin-1") + b"\0" for path in paths))
END
}
