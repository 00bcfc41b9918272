/* SPDX-License-Identifier: MIT */
/* Declares the verbs of datasetfsctl, each in the file of its name, and the functions that they share. */
#pragma once
#include <stdbool.h>

#include "base/program/options.h"
#include "base/text/nearest.h"
#include "demands.h"
#include "io/window.h"
#include "volume/transaction/degraded.h"

enum { VERB_DONE = 0, VERB_FAILED = 1, VERB_USAGE = 2 };
enum { VERIFY_CLEAN = 0, VERIFY_DAMAGED = 1, VERIFY_INCOMPLETE = 2 }; /* verify's and scrub's own */
enum { FOLLOW_NO_MOUNT = 3 }; /* follow's own */

/* The command line of each verb, for --help; its program ends with the verb's name. */
extern const struct command_line attach_line, attached_line, cache_line, cat_line, compact_line, current_line,
	describe_line, detach_line, dump_line, export_line, extract_line, follow_line, list_line, ls_line,
	member_line, nvme_line, plan_line, remove_line, scrub_line, sign_line, stat_line, status_line,
	switch_line, top_line, upgrade_line, verify_line, warm_line;

/* Functions that run the verbs. argv[0] is the verb; each returns the exit status. */
int attach_run(int argc, char **argv);
int attached_run(int argc, char **argv);
int cache_run(int argc, char **argv);
int cat_run(int argc, char **argv);
int compact_run(int argc, char **argv);
int current_run(int argc, char **argv);
int describe_run(int argc, char **argv);
int detach_run(int argc, char **argv);
int dump_run(int argc, char **argv);
int export_run(int argc, char **argv);
int extract_run(int argc, char **argv);
int follow_run(int argc, char **argv);
int list_run(int argc, char **argv);
int ls_run(int argc, char **argv);
int member_run(int argc, char **argv);
int nvme_run(int argc, char **argv);
int plan_run(int argc, char **argv);
int remove_run(int argc, char **argv);
int scrub_run(int argc, char **argv);
int sign_run(int argc, char **argv);
int stat_run(int argc, char **argv);
int status_run(int argc, char **argv);
int switch_run(int argc, char **argv);
int top_run(int argc, char **argv);
int upgrade_run(int argc, char **argv);
int verify_run(int argc, char **argv);
int warm_run(int argc, char **argv);

/* The option structs of the verbs begin with this one. */
struct verb_options {
	bool json;
	bool force; /* go on even if mounts of this machine lose the version that they serve */
	enum degraded degraded;
	uint64_t max_bandwidth; /* bytes read a second at most; 0: as many as the devices' other readers leave */
	struct demands demands;
};

#define VERB_OPTION_JSON { "json", 0, NULL, OPTION_TRUE(struct verb_options, json), "print one JSON object" }
/* Option of verbs that change a volume. */
#define VERB_OPTION_DEGRADED                                  \
	{ "degraded", 0, "[=half]", OPTION_CALL(verb_set_degraded), \
	  "go on without missing members, =half: without half" }
/* Option of verbs that take away versions that mounts may serve. */
#define VERB_OPTION_FORCE                                         \
	{ "force", 0, NULL, OPTION_TRUE(struct verb_options, force), \
	  "even if mounts of this machine lose what they serve" }
/* Option of verbs that read much of a volume. */
#define VERB_OPTION_MAX_BANDWIDTH                                                                  \
	{ "max-bandwidth", 0, "SIZE",                                                              \
	  OPTION_SIZE(struct verb_options, max_bandwidth, WINDOW_BANDWIDTH_MIN, WINDOW_BANDWIDTH_MAX), \
	  "read at most SIZE a second (default what others leave)" }
/* Options of verbs that read an index. */
#define VERB_OPTIONS_DEMANDS                                                                       \
	{ "digest", 0, "DIGEST", OPTION_CALL(verb_set_digest), "require this digest of the version" }, \
	{ "revoked", 0, "FILE", OPTION_TEXT(struct verb_options, demands.trust.revoked, NULL),         \
	  "with --trust: not by a key in FILE (revoked keys)" },                                       \
	{ "trust", 0, "FILE", OPTION_TEXT(struct verb_options, demands.trust.signers, NULL),           \
	  "require a signature by a key in FILE (allowed signers)" }
int verb_set_digest(void *target, const char *argument, struct error *err);
int verb_set_degraded(void *target, const char *argument, struct error *err);

/* Returns the exit status of a verb that failed to change a volume and has undone the change. A signal that came
 * meanwhile takes effect now. */
int verb_failed(void);

/* Says that the program has no such verb, or no such option where a verb belongs. Returns the exit status. */
int verb_unknown(const char *program, const char *word, struct nearest nearest);

/* Parses the verb's words. True: the operands are argv[1..*ret_operands], as many as the line allows. False: the verb
 * ends with *ret_status, because help was shown, or the usage was wrong and a log line said so. */
bool verb_parse(const struct command_line *line, int argc, char **argv, void *target, int *ret_operands,
		int *ret_status);
