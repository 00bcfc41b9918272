/* SPDX-License-Identifier: MIT */
/* Calls of sequences on streams of the C library. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t __fread_chk(void *buffer, size_t room, size_t size, size_t count, FILE *stream);
char *__fgets_chk(char *buffer, size_t room, int size, FILE *stream);

/* One that is open, or NULL. */
static FILE **any_stream(void)
{
	unsigned first = (unsigned)choose(STREAMS);

	for (unsigned i = 0; i < STREAMS; i++)
		if (state.streams[(first + i) % STREAMS])
			return &state.streams[(first + i) % STREAMS];
	return NULL;
}

static FILE **free_stream(void)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (!state.streams[i])
			return &state.streams[i];
	return NULL;
}

static const char *any_mode(const struct place *place)
{
	static const char *const modes[] = { "r",  "r",  "rb", "re", "rm", "rme", "rc",
					     "rx", "r+", "",   "z",  "w",  "a",   "a+" };
	const char *mode = modes[chance(70) ? choose(6) : choose(14)];

	return (mode[0] == 'w' || mode[0] == 'a') && !may_create(place) ? "r" : mode;
}

static void any_buffering(FILE *stream)
{
	static char own[STREAMS][3000];
	int mode = (int)choose(3);
	FILE **slot = &state.streams[0];

	while (*slot != stream)
		slot++;
	if (chance(80))
		return;
	log_result(setvbuf(stream, chance(50) ? NULL : own[slot - state.streams], mode, sizeof(own[0])), "setvbuf(%d)",
		   mode);
}

static void stream_open(void)
{
	FILE **slot = free_stream();
	struct place place;
	const char *mode;
	bool is_large = chance(50);

	if (!slot)
		return;
	choose_path(&place);
	mode = any_mode(&place);
	errno = 0;
	*slot = is_large ? fopen64(place.path, mode) : fopen(place.path, mode);
	log_result(*slot ? 0 : -1, "%s('%s', '%s')", is_large ? "fopen64" : "fopen", log_path(place.path), mode);
	if (!*slot)
		return;
	log_result(fileno(*slot), "fileno");
	any_buffering(*slot);
}

static void stream_adopt(void)
{
	static const char *const modes[] = { "r", "r", "rb", "rm", "r+", "w", "a", "x" };
	FILE **slot = free_stream();
	int fd = choose_regular();
	const char *mode = modes[chance(70) ? 0 : choose(8)];

	if (!slot || fd == 0)
		return;
	errno = 0;
	*slot = fdopen(fd, mode);
	log_result(*slot ? 0 : -1, "fdopen(%d, '%s')", fd, mode);
	if (*slot)
		any_buffering(*slot);
}

static void stream_reopen(void)
{
	FILE **slot = any_stream();
	bool is_large = chance(50);
	const char *path, *mode;
	struct place place;

	if (!slot)
		return;
	choose_path(&place);
	mode = any_mode(&place);
	path = chance(20) ? NULL : place.path;
	errno = 0;
	*slot = is_large ? freopen64(path, mode, *slot) : freopen(path, mode, *slot);
	log_result(*slot ? fileno(*slot) : -1, "freopen('%s', '%s')", log_path(path), mode);
}

static void read_lines(FILE *stream)
{
	char *line = NULL, *buffer = (char *)state.buffer;
	unsigned kind = (unsigned)choose(4);
	size_t room = 0;
	int64_t result;

	errno = 0;
	if (kind < 2) {
		line = kind == 0 ? fgets(buffer, 200, stream) : __fgets_chk(buffer, ROOM, 200, stream);
		log_bytes(line ? (int64_t)strlen(line) : 0, line, "fgets");
		return;
	}
	result = kind == 2 ? getline(&line, &room, stream) : getdelim(&line, &room, 'x', stream);
	log_bytes(result, line, "%s", kind == 2 ? "getline" : "getdelim");
	free(line);
}

static void stream_read(void)
{
	FILE **slot = any_stream(), *stream;
	size_t size = choose_size(), result;
	char word[32] = "";
	int c;

	if (!slot)
		return;
	stream = *slot;
	errno = 0;
	switch (choose(8)) {
	case 0:
	case 1:
	case 2:
		result = fread(state.buffer, 1, size, stream);
		log_bytes((int64_t)result, state.buffer, "fread(%zu)", size);
		break;
	case 3:
		result = chance(50) ? fread_unlocked(state.buffer, 3, size / 3, stream) :
				      __fread_chk(state.buffer, ROOM, 3, size / 3, stream);
		log_bytes((int64_t)result, state.buffer, "fread(3 * %zu)", size / 3);
		break;
	case 4:
		c = chance(50) ? getc(stream) : fgetc_unlocked(stream);
		log_result(c, "getc");
		if (chance(50))
			log_result(ungetc(chance(80) ? c : 'q', stream), "ungetc");
		break;
	case 5:
		c = fscanf(stream, "%20s", word);
		log_result(c, "fscanf #%08x", (unsigned)log_hash(0, word, strlen(word)));
		break;
	default:
		read_lines(stream);
	}
	log_line("eof %d error %d", feof(stream), ferror(stream));
}

static void seek_back(FILE *stream)
{
	fpos_t position;
	int result = fgetpos(stream, &position);

	log_result(result, "fgetpos");
	log_result(fgetc(stream), "fgetc");
	if (result == 0)
		log_result(fsetpos(stream, &position), "fsetpos");
}

static void stream_seek(void)
{
	static const int whences[] = { SEEK_SET, SEEK_CUR, SEEK_END, 7 };
	FILE **slot = any_stream(), *stream;
	int whence = whences[chance(95) ? choose(3) : 3];
	int64_t offset;

	if (!slot)
		return;
	stream = *slot;
	offset = chance(40) ? (int64_t)choose(200) : choose_offset(fileno(stream));
	errno = 0;
	switch (choose(6)) {
	case 0:
		log_result(fseek(stream, offset, whence), "fseek(%lld, %d)", (long long)offset, whence);
		break;
	case 1:
		log_result(fseeko(stream, offset, whence), "fseeko(%lld, %d)", (long long)offset, whence);
		break;
	case 2:
		log_result(fseeko64(stream, offset, whence), "fseeko64(%lld, %d)", (long long)offset, whence);
		break;
	case 3:
		rewind(stream);
		log_line("rewind");
		break;
	case 4:
		seek_back(stream);
		break;
	case 5:
		clearerr(stream);
	}
	log_result(chance(50) ? ftell(stream) : ftello64(stream), "ftell");
}

/* The descriptor below a stream: its number, and its offset after a flush. */
static void stream_below(void)
{
	FILE **slot = any_stream();
	int fd;

	if (!slot)
		return;
	errno = 0;
	fd = fileno(*slot);
	log_result(fd, "fileno");
	if (chance(60))
		log_result(fflush(*slot), "fflush");
	if (chance(60))
		log_result(lseek(fd, 0, SEEK_CUR), "lseek(%d, 0, SEEK_CUR)", fd);
	if (chance(20))
		log_result(read(fd, state.buffer, 10), "read(%d, 10)", fd);
}

static void stream_write(void)
{
	FILE **slot = any_stream();

	if (!slot || !may_change(fileno(*slot)) || fileno(*slot) < 3)
		return;
	errno = 0;
	if (chance(50))
		log_result(fputs("written", *slot), "fputs");
	else
		log_result((int64_t)fwrite("written", 1, 7, *slot), "fwrite");
	log_result(fflush(*slot), "fflush");
	log_line("eof %d error %d", feof(*slot), ferror(*slot));
}

static void stream_close(void)
{
	FILE **slot = any_stream();
	int result;

	if (!slot)
		return;
	errno = 0;
	result = fclose(*slot);
	log_result(result, "fclose");
	*slot = NULL;
}

const struct call calls_stream[] = {
	{ "fopen", 16, stream_open },  { "fdopen", 10, stream_adopt }, { "freopen", 4, stream_reopen },
	{ "fread", 22, stream_read },  { "fseek", 12, stream_seek },   { "fileno", 6, stream_below },
	{ "fwrite", 3, stream_write }, { "fclose", 8, stream_close },  { NULL, 0, NULL },
};
