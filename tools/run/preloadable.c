/* SPDX-License-Identifier: MIT */
/* Finds programs that ignore LD_PRELOAD, by their ELF headers and modes. */
#include "run/preloadable.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PRELOADABLE_SCRIPTS 5     /* number of #! lines that the kernel follows */
#define PRELOADABLE_HEAD    4096u /* bytes of a file that are looked at */

/* The beginning of a file, followed by a zero byte. */
struct preloadable_head {
	size_t size;
	char bytes[PRELOADABLE_HEAD + 1];
};

static bool preloadable_is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool preloadable_find(const char *name, char ret_path[PATH_MAX])
{
	const char *folder = getenv("PATH") ?: "/bin:/usr/bin", *end;

	if (strchr(name, '/')) {
		snprintf(ret_path, PATH_MAX, "%s", name);
		return preloadable_is_program(ret_path);
	}
	for (; folder; folder = *end ? end + 1 : NULL) {
		end = strchrnul(folder, ':');
		/* an empty folder means the working directory */
		snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)(end - folder), folder, end > folder ? "/" : "", name);
		if (preloadable_is_program(ret_path))
			return true;
	}
	return false;
}

static int preloadable_open(const char *path, struct preloadable_head *head)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? pread(fd, head->bytes, sizeof(head->bytes) - 1, 0) : 0;

	head->size = got > 0 ? (size_t)got : 0;
	head->bytes[head->size] = 0;
	return fd;
}

/* Returns the interpreter of a script; false: the file is no script. */
static bool preloadable_interpreter(const struct preloadable_head *head, char ret_path[PATH_MAX])
{
	const char *word = head->bytes + 2;

	if (head->size < 2 || memcmp(head->bytes, "#!", 2) != 0)
		return false;
	word += strspn(word, " \t");
	snprintf(ret_path, PATH_MAX, "%.*s", (int)strcspn(word, " \t\n"), word);
	return true;
}

static bool preloadable_has_64_bits(const struct preloadable_head *head)
{
	return head->size >= sizeof(Elf64_Ehdr) && head->bytes[EI_CLASS] == ELFCLASS64;
}

/* Finds the loader that a 64-bit program names; empty: it is static. False: its headers cannot be read. */
static bool preloadable_loader(int fd, const struct preloadable_head *head, char ret_path[PATH_MAX])
{
	Elf64_Ehdr elf;
	Elf64_Phdr part;

	memcpy(&elf, head->bytes, sizeof(elf));
	memset(ret_path, 0, PATH_MAX);
	for (unsigned i = 0; i < elf.e_phnum; i++) {
		if (pread(fd, &part, sizeof(part), (off_t)(elf.e_phoff + i * sizeof(part))) != sizeof(part))
			return false;
		if (part.p_type != PT_INTERP)
			continue;
		if (part.p_filesz >= PATH_MAX ||
		    pread(fd, ret_path, part.p_filesz, (off_t)part.p_offset) != (ssize_t)part.p_filesz)
			return false;
	}
	return true;
}

/* Compares the loader's name with that of ours: loaders of other C libraries and machines have other names, wherever
 * they lie. */
static bool preloadable_is_our_loader(const char *loader)
{
	char ours[PATH_MAX];
	struct preloadable_head head;
	auto_close int fd = preloadable_open("/proc/self/exe", &head);

	return !preloadable_has_64_bits(&head) || !preloadable_loader(fd, &head, ours) ||
	       strcmp(basename(loader), basename(ours)) == 0;
}

/* Returns whether the program gets rights by its file, because its loader then ignores the environment. */
static bool preloadable_is_privileged(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != getuid()) ||
	       ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid()) ||
	       (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

const char *preloadable_obstacle(const char *path, char ret_path[PATH_MAX])
{
	char interpreter[PATH_MAX], loader[PATH_MAX];
	struct preloadable_head head;

	snprintf(ret_path, PATH_MAX, "%s", path);
	for (unsigned scripts = 0; scripts <= PRELOADABLE_SCRIPTS; scripts++) {
		auto_close int fd = preloadable_open(ret_path, &head);

		if (preloadable_interpreter(&head, interpreter)) {
			snprintf(ret_path, PATH_MAX, "%s", interpreter);
			continue;
		}
		if (preloadable_is_privileged(ret_path))
			return "has rights by its file: it ignores LD_PRELOAD and reads the mount";
		if (head.size < sizeof(Elf32_Ehdr) || memcmp(head.bytes, ELFMAG, SELFMAG) != 0)
			return NULL; /* it cannot be read, or has commands for the shell */
		if (!preloadable_has_64_bits(&head))
			return "has 32 bits: it cannot load the library and reads the mount";
		if (!preloadable_loader(fd, &head, loader))
			return NULL; /* the kernel will report the problem */
		if (!*loader)
			return "is static: it ignores LD_PRELOAD and reads the mount";
		return preloadable_is_our_loader(loader) ? NULL : "is not for glibc: with the library it may not start";
	}
	return NULL;
}
