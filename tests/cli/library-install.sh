#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run: smoke plain once
# libdatasetfs as it is installed: what it lets out and what programs rely on is what it was (tests/library/abi.list);
# a program in C or C++ is compiled and linked by what datasetfs.pc says, with the shared library and with the static.
. "$DATASETFS_SOURCE/tests/lib/common.sh"
need_command cc pkg-config nm meson

DESTDIR=$PWD/installed meson install -C "$DATASETFS_BUILD" --no-rebuild --quiet >install.log 2>&1 ||
    { cat install.log; fail "meson install"; }
folder=$(dirname "$(find installed -name datasetfs.pc)")
lib=$PWD/$(dirname "$folder")
others=$(pkg-config --variable pc_path pkg-config)
export PKG_CONFIG_LIBDIR=$PWD/$folder:$others

# flags OPTION…: of pkg-config, where nothing is installed where the file says
flags() {
    local prefix
    prefix=$(pkg-config --variable=prefix datasetfs)
    pkg-config --define-variable=prefix="$PWD/installed$prefix" "$@" datasetfs
}

# The names that the library exports.
nm -D --defined-only "$lib"/libdatasetfs.so |
    sed -nE 's/^[0-9a-f]+ T ([a-z_]+)@@(.*)$/function \1 \2/p' | sort >abi.found
cc -std=gnu11 -Wall -Wextra -Werror "$DATASETFS_SOURCE/tests/library/abi.c" -I"$DATASETFS_SOURCE/include" -o abi ||
    fail "abi.c"
./abi >>abi.found
diff -u "$DATASETFS_SOURCE/tests/library/abi.list" abi.found || fail "programs that were compiled before rely on what \
tests/library/abi.list has. What is added is added there; anything else needs another soname"
others=$(nm -D --defined-only "$lib"/libdatasetfs.so | grep -vE ' (dsfs_[a-z_]+@@|DATASETFS_)' || true)
assert_eq "other names that leave the shared library" "$others" ""
others=$(nm -g --defined-only "$lib"/libdatasetfs.a | grep -E ' [A-Z] ' | grep -vE ' T dsfs_[a-z_]+$' || true)
assert_eq "other names that leave the static library" "$others" ""
assert_eq "soname" "$(readelf -d "$lib"/libdatasetfs.so | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" libdatasetfs.so.0
say "the interface is what it was"

cat >program.c <<'END'
#include <datasetfs/datasetfs.h>
#include <stdio.h>
#include <stdlib.h>

/* Names of our own code: those of the library must not clash with them. */
int error_set(int code);
int error_set(int code)
{
	return code;
}

int main(int argc, char **argv)
{
	struct dsfs *fs;
	void *contents;

	if (argc < 2 || dsfs_open(argv[1], NULL, &fs) < 0 || dsfs_read_file(fs, "file", &contents) < 0) {
		fprintf(stderr, "%s\n", dsfs_reason());
		return error_set(1);
	}
	printf("%s %s", dsfs_release(), (char *)contents);
	free(contents);
	dsfs_close(fs);
	return 0;
}
END
mkdir tree
echo contents >tree/file
pack volume tree
version=$(pkg-config --modversion datasetfs)

# shellcheck disable=SC2046
cc -Wall -Wextra -Werror $(flags --cflags) program.c -o shared $(flags --libs) || fail "with the shared library"
assert_eq "with the shared library" "$(LD_LIBRARY_PATH=$lib ./shared volume)" "$version contents"
assert_contains "what it is linked with" "$(readelf -d shared)" "libdatasetfs.so.0"

# As libdatasetfs(3) says: the library alone is static, whatever else is installed.
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror $(flags --cflags) program.c -o alone $(flags --libs-only-L) \
    -Wl,-Bstatic -ldatasetfs -Wl,-Bdynamic \
    $(pkg-config --libs $(pkg-config --print-requires-private datasetfs | cut -d' ' -f1)) -pthread ||
    fail "with the library alone static"
assert_eq "with the library alone static" "$(./alone volume)" "$version contents"
assert_eq "what it is linked with" "$(readelf -d alone | grep libdatasetfs || true)" ""

# Where there is no shared library, as for a program that is to run elsewhere.
rm "$lib"/libdatasetfs.so*
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror $(flags --cflags) program.c -o static $(flags --static --libs) ||
    fail "with the static library"
assert_eq "with the static library" "$(./static volume)" "$version contents"

# Without any shared library. The linker warns of what libcrypto has that needs some.
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -static $(flags --cflags) program.c -o whole $(flags --static --libs) 2>whole.log ||
    fail "with static libraries alone: $(cat whole.log)"
assert_eq "with static libraries alone" "$(./whole volume)" "$version contents"
say "C"

# As libdatasetfs(3) says of plugins: a thread that has read ends after the plugin was closed.
cat >plugin.c <<'END'
#include <datasetfs/datasetfs.h>
#include <stdlib.h>

ssize_t plugin_read(const char *volume);
ssize_t plugin_read(const char *volume)
{
	struct dsfs *fs;
	void *contents = NULL;
	ssize_t size;

	if (dsfs_open(volume, NULL, &fs) < 0)
		return -1;
	size = dsfs_read_file(fs, "file", &contents);
	free(contents);
	dsfs_close(fs);
	return size;
}
END
cat >host.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

static void *thread_main(void *argument)
{
	void *plugin = dlopen("./plugin.so", RTLD_NOW);
	ssize_t (*read)(const char *) = plugin ? (ssize_t (*)(const char *))dlsym(plugin, "plugin_read") : NULL;

	if (read)
		printf("%zd\n", read(argument));
	else
		puts(dlerror());
	fflush(stdout);
	if (plugin)
		dlclose(plugin);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argc;
	return pthread_create(&thread, NULL, thread_main, argv[1]) || pthread_join(thread, NULL);
}
END
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror -fPIC -shared $(flags --cflags) plugin.c -o plugin.so $(flags --static --libs) \
    -Wl,-z,nodelete || fail "as a plugin"
cc -Wall -Wextra -Werror host.c -o host -pthread -ldl || fail "the plugin's host"
read=$(./host volume) || fail "the plugin's host crashed: it said '$read'"
assert_eq "as a plugin" "$read" 9
say "a plugin"

if command -v c++ >/dev/null; then
    sed 's/(char \*)contents/static_cast<char *>(contents)/' program.c >program.cc
    # shellcheck disable=SC2046
    c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror $(flags --cflags) program.cc -o program $(flags --static --libs) ||
        fail "as C++"
    assert_eq "as C++" "$(./program volume)" "$version contents"
    say "C++"
fi
