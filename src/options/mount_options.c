/* SPDX-License-Identifier: MIT */
/* One table parses the options, describes them in --help and reports them. */
#include "options/mount_options.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <string.h>
#include <unistd.h>

#include "base/program/options.h"
#include "base/text/format.h"
#include "base/text/nearest.h"
#include "base/text/parse.h"
#include "io/window.h"

#define FOLLOW_SECONDS 5 /* between looks, unless the option says */

/* ---- options that no kind of value fits ---- */

static int mount_options_set_digest(void *target, const char *value, struct error *err)
{
	struct mount_options *options = target;

	options->has_digest = true;
	return parse_digest(value, options->digest, err);
}

static void mount_options_report_digest(const void *target, const char *key, struct json *json)
{
	const struct mount_options *options = target;
	char digest[DIGEST_TEXT_SIZE] = "";

	if (options->has_digest)
		format_digest(options->digest, digest);
	json_string(json, key, digest);
}

/* current, or current:SECONDS. */
static int mount_options_set_follow(void *target, const char *value, struct error *err)
{
	struct mount_options *options = target;
	static const char what[] = "current";
	const char *seconds = value + strlen(what);
	uint64_t n = FOLLOW_SECONDS;
	int r = 0;

	if (strncmp(value, what, strlen(what)) != 0 || (*seconds && *seconds != ':'))
		return error_set(err, -EINVAL, "'%s' is neither 'current' nor 'current:SECONDS'", value);
	if (*seconds)
		r = parse_u64(seconds + 1, 1, 86400, &n, err);
	if (r == 0)
		options->follow = (unsigned)n;
	return r;
}

static void mount_options_report_control_group(const void *target, const char *key, struct json *json)
{
	const struct mount_group *group = &((const struct mount_options *)target)->control_group;
	char number[16] = "";

	if (group->name)
		snprintf(number, sizeof(number), "%u", group->number);
	json_string(json, key, number);
}

/* ---- the table ---- */

enum {
	NEEDS_DAEMON = 1, /* means nothing where none runs */
	NEEDS_ROOT = 2,   /* to make the field true: fusermount3 would drop it with a line of its own, or refuse it */
	WITH_NO = 4,      /* "no" and the name mean the opposite, for which no daemon is needed */
	IS_FILE = 8,
	UNREPORTED = 16,
};

#define FIELD_TRUE(FIELD)             OPTION_TRUE(struct mount_options, FIELD)
#define FIELD_FALSE(FIELD)            OPTION_FALSE(struct mount_options, FIELD)
#define FIELD_TEXT(FIELD, CHECK)      OPTION_TEXT(struct mount_options, FIELD, CHECK)
#define FIELD_WORD(FIELD, ...)        OPTION_WORD(struct mount_options, FIELD, __VA_ARGS__)
#define FIELD_NUMBER(FIELD, ...)      OPTION_NUMBER(struct mount_options, FIELD, __VA_ARGS__)
#define FIELD_SIZE(FIELD, ...)        OPTION_SIZE(struct mount_options, FIELD, __VA_ARGS__)
#define FIELD_SIZE_OR_OFF(FIELD, ...) OPTION_SIZE_OR_OFF(struct mount_options, FIELD, __VA_ARGS__)
#define FIELD_SELINUX(INDEX)          FIELD_TEXT(selinux.values[INDEX], selinux_check)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

/* In the order of --help and of stats.json. */
static const struct mount_option {
	const char *name;
	const char *argument; /* its name in the help; NULL: none, or one of the words of value */
	struct option_value value;
	const char *initial; /* the default; NULL: all bits of the field are 0 */
	unsigned flags;
	const char *help; /* NULL: it is an error, and not listed */
} mount_options_table[] = {
	{ "kernel", NULL, FIELD_TRUE(kernel), NULL, UNREPORTED, "let the kernel serve, without a daemon" },
	{ "version", "LABEL", FIELD_TEXT(version, version_check_label), NULL, 0,
	  "mount this version, not the current one" },
	{ "digest", "sha256:HEX", { .kind = OPTION_KIND_CALL, .call = mount_options_set_digest,
				    .report = mount_options_report_digest },
	  NULL, 0, "mount the version with this digest, and no other" },
	{ "trust", "FILE", FIELD_TEXT(trust.signers, NULL), NULL, IS_FILE,
	  "open only versions that keys in FILE have signed" },
	{ "revoked", "FILE", FIELD_TEXT(trust.revoked, NULL), NULL, IS_FILE,
	  "ignore signatures by keys that FILE revokes" },
	{ "verify", NULL, FIELD_WORD(read.verify, "never", "always"), "always", NEEDS_DAEMON,
	  "check the sums of everything that is read" },
	{ "io", NULL, FIELD_WORD(io, "auto", "uring", "threads"), NULL, NEEDS_DAEMON, "how the volume is read" },
	{ "channel", NULL, FIELD_WORD(channel, "auto", "ring", "dev"), NULL, NEEDS_DAEMON,
	  "how requests come from the kernel" },
	{ "workers", "N", FIELD_NUMBER(workers, 1, 1024), NULL, NEEDS_DAEMON, "threads that serve requests" },
	{ "readahead", "SIZE|off", FIELD_SIZE_OR_OFF(ahead, 2 * MIB, GIB), "16M", NEEDS_DAEMON,
	  "read ahead of walkers" },
	{ "prefetch", "SIZE|off", FIELD_SIZE_OR_OFF(prefetch, 16 * MIB, TIB), "256M", NEEDS_DAEMON,
	  "keep announced files" },
	{ "window", NULL, FIELD_WORD(window, "off", "auto"), "auto", NEEDS_DAEMON,
	  "limit reads in flight while devices are busy" },
	{ "max_iops", "N", FIELD_NUMBER(max_iops, 1, WINDOW_IOPS_MAX), NULL, NEEDS_DAEMON,
	  "reads of the volume a second" },
	{ "max_bandwidth", "SIZE", FIELD_SIZE(max_bandwidth, WINDOW_BANDWIDTH_MIN, WINDOW_BANDWIDTH_MAX), NULL,
	  NEEDS_DAEMON, "bytes of the volume a second" },
	{ "cache", "DIR", FIELD_TEXT(cache, NULL), NULL, NEEDS_DAEMON | IS_FILE,
	  "keep copies in DIR, on this machine's drive" },
	{ "cache_size", "SIZE", FIELD_SIZE(cache_size, 8 * MIB, 1024 * TIB), NULL, NEEDS_DAEMON,
	  "room for contents in DIR" },
	{ "cache_fill", NULL, FIELD_WORD(cache_fill, "reads", "warm"), NULL, NEEDS_DAEMON,
	  "keep contents that programs read, or 'warm' alone" },
	{ "on_error", NULL, FIELD_WORD(read.wait, "eio", "wait"), "wait", NEEDS_DAEMON,
	  "what a read does while the device is away" },
	{ "deadline", "SECONDS", FIELD_NUMBER(read.deadline, 1, 31536000), "300", NEEDS_DAEMON,
	  "how long it waits" },
	{ "control_group", "GROUP", { OPTION_IS(OPTION_KIND_TEXT, const char *, struct mount_options,
						control_group.name),
				      .report = mount_options_report_control_group },
	  NULL, NEEDS_DAEMON, "members may switch the mount" },
	{ "direct_group", "GROUP", FIELD_TEXT(direct_group.name, NULL), NULL, NEEDS_DAEMON,
	  "members may read past the mount" },
	{ "follow", "current[:SECONDS]", { OPTION_INTEGER(struct mount_options, follow),
					   .call = mount_options_set_follow },
	  NULL, 0, "follow the current version (1 to 86400, default 5)" },
	{ "notify", NULL, FIELD_WORD(notify, "auto", "epoch", "entries"), NULL, NEEDS_DAEMON,
	  "how to tell the kernel about a switch" },
	{ "versions", NULL, FIELD_FALSE(noversions), NULL, NEEDS_DAEMON | WITH_NO,
	  "show other versions in .datasetfs/versions" },
	{ "supervisor", NULL, FIELD_FALSE(nosupervisor), NULL, NEEDS_DAEMON | WITH_NO,
	  "replace the serving process when it dies" },
	{ "idmap", NULL, FIELD_TRUE(idmap), NULL, NEEDS_DAEMON, "let copies of the mount be idmapped" },
	{ "allow_other", NULL, FIELD_TRUE(allow_other), NULL, 0, "let all users use the mount (default for root)" },
	{ "exec", NULL, FIELD_FALSE(noexec), NULL, WITH_NO, "let programs on the mount be executed" },
	{ "suid", NULL, FIELD_TRUE(suid), NULL, WITH_NO | NEEDS_ROOT,
	  "honour setuid and setgid bits (default nosuid)" },
	{ "allow_suid", NULL, FIELD_TRUE(suid), NULL, UNREPORTED | NEEDS_ROOT,
	  "suid, which mount(8) keeps for itself" },
	{ "symfollow", NULL, FIELD_FALSE(nosymfollow), NULL, WITH_NO | NEEDS_ROOT,
	  "follow symbolic links of the mount" },
	{ "context", "LABEL", FIELD_SELINUX(SELINUX_CONTEXT), NULL, 0, "SELinux's label of all files" },
	{ "fscontext", "LABEL", FIELD_SELINUX(SELINUX_FSCONTEXT), NULL, 0, "of the filesystem" },
	{ "defcontext", "LABEL", FIELD_SELINUX(SELINUX_DEFCONTEXT), NULL, 0, "of files without one" },
	{ "rootcontext", "LABEL", FIELD_SELINUX(SELINUX_ROOTCONTEXT), NULL, 0, "of the root" },
	{ "rw", NULL, OPTION_REFUSED("a mounted version is read-only, publish a new one with mkdatasetfs"),
	  NULL, 0, NULL },
	{ "dev", NULL, OPTION_REFUSED("a volume is always mounted nodev"), NULL, 0, NULL },
	{ "remount", NULL, OPTION_REFUSED("a mount keeps its options, unmount it and mount it again"), NULL, 0, NULL },
	{ 0 },
};

/* Words without a value that change nothing: it is so anyway, or they are for mount(8). */
static const char *const mount_options_idle[] = {
	"ro", "nodev", "noatime", "atime", "nodiratime", "diratime", "relatime", "norelatime", "strictatime",
	"nostrictatime", "lazytime", "nolazytime", "iversion", "noiversion", "silent", "loud", "mand", "nomand",
	"default_permissions", "seclabel", "defaults", "_netdev", "nofail", "auto", "noauto", "user", "nouser", "users",
	"owner", "group", "async", "sync", "dirsync", NULL,
};

void mount_options_init(struct mount_options *options)
{
	int r = 0;

	*options = (struct mount_options){ .allow_other = geteuid() == 0 };
	for (const struct mount_option *o = mount_options_table; o->name; o++)
		if (o->initial)
			r |= option_set(&o->value, options, o->initial, NULL);
	assert(r == 0);
}

/* ---- parsing ---- */

/* x-systemd.automount, comment=..., user=NAME: for others to read. */
static bool mount_options_is_foreign(const char *word)
{
	return !strncmp(word, "x-", 2) || !strncmp(word, "X-", 2) || !strncmp(word, "comment=", 8) ||
	       !strncmp(word, "user=", 5);
}

/* Returns the option with this name, or the one that *ret_no says the opposite of. NULL: there is none. */
static const struct mount_option *mount_options_find(const char *name, bool *ret_no)
{
	for (const struct mount_option *o = mount_options_table; o->name; o++) {
		*ret_no = (o->flags & WITH_NO) && !strncmp(name, "no", 2) && !strcmp(name + 2, o->name);
		if (*ret_no || !strcmp(name, o->name))
			return o;
	}
	return NULL;
}

static bool mount_options_is_idle(const char *name)
{
	for (const char *const *idle = mount_options_idle; *idle; idle++)
		if (!strcmp(name, *idle))
			return true;
	return false;
}

static bool mount_options_has_value(const struct mount_option *o)
{
	return o->argument || o->value.words;
}

static int mount_options_check_value(const char *name, bool has_value, const char *value, struct error *err)
{
	if (has_value && (!value || !*value))
		return error_set(err, -EINVAL, "mount option '%s' needs a value", name);
	if (!has_value && value)
		return error_set(err, -EINVAL, "mount option '%s' takes no value", name);
	return 0;
}

static int mount_options_apply(struct mount_options *options, const struct mount_option *o, bool no, const char *value,
			       struct error *err)
{
	const bool *field = (const void *)((const char *)options + o->value.offset);
	struct option_value parsed = o->value;
	int r;

	if (no)
		parsed.kind = parsed.kind == OPTION_KIND_TRUE ? OPTION_KIND_FALSE : OPTION_KIND_TRUE;
	else if (o->flags & NEEDS_DAEMON)
		options->daemon_word = o->name;
	r = option_set(&parsed, options, value, err);
	if (r == 0 && (o->flags & NEEDS_ROOT) && *field && geteuid() != 0)
		return error_set(err, -EPERM, "only root may ask for it");
	return r;
}

static int mount_options_refuse(const char *name, struct error *err)
{
	struct nearest nearest = nearest_begin(name, strlen(name));
	char opposite[NEAREST_MAX];

	for (const struct mount_option *o = mount_options_table; o->name; o++) {
		nearest_try(&nearest, o->name);
		if (o->flags & WITH_NO) {
			snprintf(opposite, sizeof(opposite), "no%s", o->name);
			nearest_try(&nearest, opposite);
		}
	}
	for (const char *const *idle = mount_options_idle; *idle; idle++)
		nearest_try(&nearest, *idle);
	if (*nearest.found)
		return error_set(err, -EINVAL, "-o %s: unknown; did you mean %s?", name, nearest.found);
	return error_set(err, -EINVAL, "-o %s: unknown, see datasetfs(8)", name);
}

int mount_options_set(struct mount_options *options, char *word, struct error *err)
{
	const struct mount_option *o;
	bool is_idle, no;
	char *value;
	int r;

	if (!*word || mount_options_is_foreign(word))
		return 0;
	value = strchr(word, '=');
	if (value)
		*value++ = 0;
	o = mount_options_find(word, &no);
	is_idle = mount_options_is_idle(word) || (options->ignores_rw && !strcmp(word, "rw"));
	if (!o && !is_idle)
		return mount_options_refuse(word, err);
	r = mount_options_check_value(word, o && mount_options_has_value(o), value, err);
	if (r < 0 || is_idle)
		return r;
	r = mount_options_apply(options, o, no, value, err);
	return r < 0 ? error_wrap(err, r, "mount option '%s'", word) : 0;
}

bool mount_options_names_file(const char *word)
{
	size_t length = strcspn(word, "=");

	for (const struct mount_option *o = mount_options_table; o->name; o++)
		if (o->flags & IS_FILE && strlen(o->name) == length && !memcmp(o->name, word, length))
			return true;
	return false;
}

/* ---- checks ---- */

int mount_options_check(const struct mount_options *options, struct error *err)
{
	if (options->follow && (options->version || options->has_digest))
		return error_set(err, -EINVAL, "mount option 'follow' cannot be combined with '%s', which pins the "
				 "mount", options->version ? "version" : "digest");
	if (options->kernel && options->daemon_word)
		return error_set(err, -EINVAL, "mount option 'kernel' cannot be combined with '%s': no daemon runs "
				 "that could do it", options->daemon_word);
	if (options->trust.revoked && !options->trust.signers)
		return error_set(err, -EINVAL, "mount option 'revoked' needs 'trust', which says who may sign");
	if (options->trust.signers && !options->read.verify)
		return error_set(err, -EINVAL, "mount option 'trust' cannot be combined with 'verify=never', which "
				 "serves unsigned bytes");
	if (options->cache_size && !options->cache)
		return error_set(err, -EINVAL, "mount option 'cache_size' needs 'cache', the folder");
	if (options->cache_fill && !options->cache)
		return error_set(err, -EINVAL, "mount option 'cache_fill' needs 'cache', the folder");
	if (options->cache && !options->read.verify)
		return error_set(err, -EINVAL, "mount option 'cache' cannot be combined with 'verify=never', as every "
				 "copy may be wrong");
	return 0;
}

static int mount_options_find_group(const char *option, struct mount_group *group, struct error *err)
{
	const struct group *found = group->name ? getgrnam(group->name) : NULL;
	uint64_t number = found ? found->gr_gid : 0;

	if (group->name && !found && parse_u64(group->name, 0, UINT32_MAX - 1, &number, NULL) < 0)
		return error_set(err, -EINVAL, "mount option '%s': there is no group '%s'", option, group->name);
	group->number = (uint32_t)number;
	return 0;
}

int mount_options_find_groups(struct mount_options *options, struct error *err)
{
	int r = mount_options_find_group("control_group", &options->control_group, err);

	return r < 0 ? r : mount_options_find_group("direct_group", &options->direct_group, err);
}

/* ---- what they are ---- */

/* Formats an option as it is given; of several words, the first is the default. */
static void mount_options_usage(const struct mount_option *o, char *text, size_t size)
{
	const char *const *words = o->value.words;
	const char *initial = o->initial || !words ? o->initial : words[0];
	const char *value = o->argument ? o->argument : words ? initial : "";
	size_t n = (size_t)snprintf(text, size, "  %s%s%s%s", o->flags & WITH_NO ? "[no]" : "", o->name,
				    *value ? "=" : "", value);

	for (; words && *words && n < size; words++)
		if (strcmp(*words, initial) != 0)
			n += (size_t)snprintf(text + n, size - n, "|%s", *words);
}

void mount_options_help(FILE *out)
{
	char usage[64], range[OPTION_RANGE_SIZE], text[128];

	fprintf(out, "\nMount options, for -o; of several words, the first is the default:\n");
	for (const struct mount_option *o = mount_options_table; o->name; o++) {
		if (!o->help)
			continue;
		mount_options_usage(o, usage, sizeof(usage));
		option_range(&o->value, range);
		if (*range)
			snprintf(text, sizeof(text), "%s (%s%s%s)", o->help, range, o->initial ? ", default " : "",
				 o->initial ? o->initial : "");
		options_help_line(usage, *range ? text : o->help, out);
	}
}

void mount_options_report(const struct mount_options *options, struct json *json)
{
	for (const struct mount_option *o = mount_options_table; o->name; o++)
		if (o->help && !(o->flags & UNREPORTED))
			option_report(&o->value, options, o->name, json);
}
