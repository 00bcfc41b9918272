/* SPDX-License-Identifier: MIT */
/* Walks the components of a path, and of the links on its way, from directory to directory. */
#include "lib/direct/lookup.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "image/inode.h"
#include "image/names/names_find.h"
#include "lib/direct/context.h"
#include "lib/permission.h"

#define LOOKUP_LINKS    40u /* MAXSYMLINKS of the kernel */
#define LOOKUP_TOGETHER 8u  /* paths that are looked up in turns */

/* The rest of a path or of a link's target; end is the end of the text in the index or of the caller's string. */
struct lookup_rest {
	const char *at, *end;
};

/* State shared by the paths of one call. */
struct lookup_call {
	struct context *context;
	const struct index *index;
	uint64_t root; /* no path leads above it */
	struct permission permission;
};

struct lookup {
	struct lookup_call *call;
	const char *path;
	size_t number;   /* index of the path in its call */
	struct inode at;
	bool is_personal; /* the result depends on the caller's permissions */
	unsigned links, depth;
	struct lookup_rest rest[LOOKUP_LINKS + 1]; /* a stack: the path, then the links that are being followed */
	const char *folder_end; /* the end, in path, of the directory to be remembered; NULL: none */
	enum { LOOKUP_AT_PATH, LOOKUP_AT_NAME, LOOKUP_AT_INODE } next;
	struct names_find find; /* the search for a name, made step by step */
	uint64_t found;         /* its result: the inode that is loaded next */
	struct error why;
};

/* --- the directory that the last path led to: most paths in a row share it --- */

/* Remembers the directory unless permissions decided: a thread may become another user. */
static void lookup_remember(struct lookup *lookup)
{
	struct context_memo *memo = &lookup->call->context->memo;
	size_t length = (size_t)(lookup->folder_end - lookup->path);

	if (lookup->is_personal || length > sizeof(memo->path) || !S_ISDIR(lookup->at.mode))
		return;
	memcpy(memo->path, lookup->path, length);
	memo->length = length;
	memo->ordinal = lookup->at.ordinal;
	memo->links = lookup->links;
}

static int lookup_begin(struct lookup *lookup, struct lookup_call *call, const char *path, struct error *err)
{
	const struct context_memo *memo = &call->context->memo;
	const char *end = path + strlen(path), *slash = memrchr(path, '/', (size_t)(end - path));
	size_t length = slash ? (size_t)(slash - path) : 0;
	bool is_remembered = length && memo->length == length && !memcmp(memo->path, path, length);

	lookup->call = call;
	lookup->path = path;
	lookup->is_personal = false;
	lookup->depth = 0;
	lookup->next = LOOKUP_AT_PATH;
	lookup->rest[0] = (struct lookup_rest){ is_remembered ? slash : path, end };
	lookup->links = is_remembered ? memo->links : 0;
	lookup->folder_end = is_remembered || slash == path ? NULL : slash;
	return inode_get(call->index, is_remembered ? memo->ordinal : call->root, &lookup->at, err);
}

/* --- one component --- */

static int lookup_move(struct lookup *lookup, uint64_t ordinal, struct error *err)
{
	int r = inode_get(lookup->call->index, ordinal, &lookup->at, err);

	return r < 0 ? r : 1;
}

static int lookup_parent(struct lookup *lookup, struct error *err)
{
	if (lookup->at.ordinal == lookup->call->root)
		return error_set(err, -EXDEV, "'..' leads out of the data set");
	return lookup_move(lookup, lookup->at.where, err);
}

/* Continues in the target of a link, relative to the link's directory. */
static int lookup_follow(struct lookup *lookup, const struct inode *link, struct error *err)
{
	struct span target;
	const char *text;
	int r;

	if (lookup->links++ == LOOKUP_LINKS)
		return error_set(err, -ELOOP, "more than %u symbolic links", LOOKUP_LINKS);
	r = inode_link_target(lookup->call->index, link, &target, err);
	if (r < 0)
		return r;
	text = (const char *)target.base;
	if (text[0] == '/')
		return error_set(err, -EXDEV, "a symbolic link to '%.*s' leads out of the data set", (int)target.size,
				 text);
	lookup->rest[++lookup->depth] = (struct lookup_rest){ text, text + target.size };
	return 1;
}

/* Whether this name ends the path or the target. */
static bool lookup_is_last(const struct lookup *lookup)
{
	const struct lookup_rest *rest = &lookup->rest[lookup->depth];

	return rest->at == rest->end;
}

/* Returns the cache slot for this name: paths in random order share directories, too. */
static uint64_t *lookup_folder(const struct lookup *lookup)
{
	return &lookup->call->context->folders[names_find_hash(&lookup->find) % CONTEXT_FOLDERS];
}

static int lookup_name(struct lookup *lookup, const char *name, size_t length, struct error *err)
{
	uint64_t place;

	if (length > DSFS_NAME_MAX)
		return error_set(err, -ENAMETOOLONG, "a name of %zu bytes, expected at most %u", length, DSFS_NAME_MAX);
	names_find_begin(&lookup->find, names_tree(lookup->call->index->names), lookup->at.ordinal, name,
			 length);
	lookup->next = LOOKUP_AT_NAME;
	if (!lookup_is_last(lookup)) {
		place = *lookup_folder(lookup);
		if (place && names_find_again(&lookup->find, place, &lookup->found) == 0)
			lookup->next = LOOKUP_AT_INODE;
	}
	return 1;
}

static int lookup_find(struct lookup *lookup, struct error *err)
{
	int r = names_find_step(&lookup->find, &lookup->found);

	if (r > 0)
		return 1;
	if (r < 0)
		return error_set(err, r, r == -ENOENT ? "there is no '%.*s'" : "the names are damaged at '%.*s'",
				 (int)names_find_name(&lookup->find).size,
				 (const char *)names_find_name(&lookup->find).base);
	if (!lookup_is_last(lookup))
		*lookup_folder(lookup) = names_find_place(&lookup->find);
	inode_expect(lookup->call->index, lookup->found);
	lookup->next = LOOKUP_AT_INODE;
	return 1;
}

static int lookup_enter(struct lookup *lookup, struct error *err)
{
	struct inode inode;
	int r = inode_get(lookup->call->index, lookup->found, &inode, err);

	lookup->next = LOOKUP_AT_PATH;
	if (r < 0)
		return r;
	if (S_ISLNK(inode.mode))
		return lookup_follow(lookup, &inode, err);
	lookup->at = inode;
	return 1;
}

static int lookup_component(struct lookup *lookup, struct lookup_rest *rest, struct error *err)
{
	const char *name = rest->at, *slash = memchr(name, '/', (size_t)(rest->end - name));
	size_t length = (size_t)((slash ? slash : rest->end) - name);
	int r = permission_check(&lookup->call->permission, &lookup->at, PERMISSION_SEARCH, err);

	if (r < 0)
		return r;
	lookup->is_personal |= !permission_is_everybodys(&lookup->at, PERMISSION_SEARCH);
	rest->at += length;
	if (length == 1 && name[0] == '.')
		return 1;
	if (length == 2 && name[0] == '.' && name[1] == '.')
		return lookup_parent(lookup, err);
	return lookup_name(lookup, name, length, err);
}

/* Skips slashes; the component before them must be a directory, also at the end of a path. */
static int lookup_slashes(struct lookup *lookup, struct lookup_rest *rest, struct error *err)
{
	if (!S_ISDIR(lookup->at.mode))
		return error_set(err, -ENOTDIR, "what comes before a '/' is not a directory");
	while (rest->at != rest->end && *rest->at == '/')
		rest->at++;
	return 1;
}

static int lookup_go_on(struct lookup *lookup, struct error *err)
{
	struct lookup_rest *rest = &lookup->rest[lookup->depth];

	if (rest->at == lookup->folder_end)
		lookup_remember(lookup);
	if (rest->at == rest->end) {
		if (lookup->depth == 0)
			return 0;
		lookup->depth--;
		return 1;
	}
	return *rest->at == '/' ? lookup_slashes(lookup, rest, err) : lookup_component(lookup, rest, err);
}

/* Runs until a cache miss is due. Returns 1: there is more to do; 0: lookup->at is the result. */
static int lookup_step(struct lookup *lookup, struct error *err)
{
	int r;

	if (lookup->next == LOOKUP_AT_NAME)
		return lookup_find(lookup, err);
	do
		r = lookup->next == LOOKUP_AT_INODE ? lookup_enter(lookup, err) : lookup_go_on(lookup, err);
	while (r > 0 && lookup->next != LOOKUP_AT_NAME);
	return r;
}

/* --- calls --- */

static int lookup_call_begin(struct lookup_call *call, struct opened *opened, struct error *err)
{
	struct direct *direct = (struct direct *)opened;

	call->index = direct->version.index;
	call->root = direct_root(direct);
	call->permission = (struct permission){ 0 };
	return context_enter(direct, &call->context, err);
}

static void lookup_call_end(struct lookup_call *call)
{
	permission_end(&call->permission);
	context_leave(call->context);
}

int lookup_id(struct opened *opened, const char *path, uint64_t *ret_id, struct error *err)
{
	struct lookup_call call;
	struct lookup lookup;
	int r = lookup_call_begin(&call, opened, err);

	if (r < 0)
		return r;
	r = lookup_begin(&lookup, &call, path, err);
	if (r == 0)
		do
			r = lookup_step(&lookup, err);
		while (r > 0);
	lookup_call_end(&call);
	if (r < 0)
		return error_wrap(err, r, "'%s'", path);
	*ret_id = direct_id((struct direct *)opened, lookup.at.ordinal);
	return 0;
}

/* --- many paths --- */

struct lookup_many {
	struct lookup_call call;
	const struct direct *direct;
	const char *const *paths;
	size_t count, begun;
	int64_t *ids;
	size_t failed; /* the first path that failed, with its reason in err; count: none */
	int code;
	struct error *err;
};

/* Returns where to write a reason, or NULL: only the first failed path's reason is ever read. */
static struct error *lookup_why(const struct lookup_many *many, struct lookup *lookup)
{
	return lookup->number < many->failed ? &lookup->why : NULL;
}

static void lookup_finish(struct lookup_many *many, struct lookup *lookup, int r)
{
	many->ids[lookup->number] = r < 0 ? r : (int64_t)direct_id(many->direct, lookup->at.ordinal);
	if (r == 0 || lookup->number >= many->failed)
		return;
	many->failed = lookup->number;
	many->code = error_wrap(&lookup->why, r, "'%s'", many->paths[lookup->number]);
	error_pass(many->err, r, &lookup->why);
}

/* Begins the next path that is valid; false: all have begun. */
static bool lookup_begin_next(struct lookup_many *many, struct lookup *lookup)
{
	int r = -1;

	while (r < 0 && many->begun < many->count) {
		if (many->begun + LOOKUP_TOGETHER < many->count)
			__builtin_prefetch(many->paths[many->begun + LOOKUP_TOGETHER]);
		lookup->number = many->begun++;
		error_clear(&lookup->why);
		r = lookup_begin(lookup, &many->call, many->paths[lookup->number], lookup_why(many, lookup));
		if (r < 0)
			lookup_finish(many, lookup, r);
	}
	return r == 0;
}

static void lookup_by_turns(struct lookup_many *many)
{
	struct lookup lookups[LOOKUP_TOGETHER], *busy[LOOKUP_TOGETHER];
	unsigned count = 0;
	int r;

	while (count < LOOKUP_TOGETHER && lookup_begin_next(many, &lookups[count])) {
		busy[count] = &lookups[count];
		count++;
	}
	while (count)
		for (unsigned i = 0; i < count; i++) {
			r = lookup_step(busy[i], lookup_why(many, busy[i]));
			if (r > 0)
				continue;
			lookup_finish(many, busy[i], r);
			if (!lookup_begin_next(many, busy[i]))
				busy[i] = busy[--count];
		}
}

int lookup_ids(struct opened *opened, const char *const *paths, size_t count, int64_t *ids, struct error *err)
{
	struct lookup_many many = { .direct = (struct direct *)opened, .paths = paths, .count = count, .ids = ids,
				    .failed = count, .err = err };
	int r = lookup_call_begin(&many.call, opened, err);

	if (r < 0)
		return r;
	lookup_by_turns(&many);
	lookup_call_end(&many.call);
	return many.code;
}
