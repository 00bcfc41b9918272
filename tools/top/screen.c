/* SPDX-License-Identifier: MIT */
/* Draws with ncurses; no other file uses it. */
#include "top/screen.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#undef lines /* a macro of term.h; we use the lines of a page */

static SCREEN *screen; /* NULL: it is closed */

/* ---- fatal signals ---- */

/* Signals that end the program at once, because it has no other handler for them. */
static const int screen_signals[] = { SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGIO, SIGPROF, SIGPWR, SIGSEGV,
				      SIGSTKFLT, SIGSYS, SIGTRAP, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU };
#define SCREEN_SIGNALS (sizeof(screen_signals) / sizeof(*screen_signals))

static struct {
	struct termios modes;
	char text[256]; /* the sequence that restores the former screen */
	size_t length;
} screen_before;

/* Restores the terminal in a signal handler, so without ncurses. The signal, with its handler reset to the default,
 * then ends the program as it would have anyway. */
static void screen_rescue(int number)
{
	if (write(STDOUT_FILENO, screen_before.text, screen_before.length) >= 0)
		tcsetattr(STDIN_FILENO, TCSANOW, &screen_before.modes);
	raise(number);
}

static void screen_remember(void)
{
	static const char *const names[] = { "rmkx", "sgr0", "cnorm", "rmcup" };
	size_t room = sizeof(screen_before.text);
	const char *text;

	tcgetattr(STDIN_FILENO, &screen_before.modes);
	screen_before.length = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		text = tigetstr(names[i]);
		if (!text || text == (char *)-1 || strlen(text) > room - screen_before.length)
			continue;
		memcpy(screen_before.text + screen_before.length, text, strlen(text));
		screen_before.length += strlen(text);
	}
}

/* Installs the handler. Signals that already have one, such as a sanitizer's, keep it. */
static void screen_take_signals(void)
{
	const struct sigaction rescue = { .sa_handler = screen_rescue, .sa_flags = SA_RESETHAND | SA_NODEFER };
	struct sigaction now;

	for (size_t i = 0; i < SCREEN_SIGNALS; i++)
		if (sigaction(screen_signals[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
		    now.sa_handler == SIG_DFL)
			sigaction(screen_signals[i], &rescue, NULL);
}

static void screen_give_signal(int number)
{
	struct sigaction now;

	if (sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == screen_rescue)
		signal(number, SIG_DFL);
}

/* ---- the terminal ---- */

static void screen_colours(void)
{
	if (!has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(1, COLOR_RED, -1);
}

int screen_open(struct error *err)
{
	const char *name = getenv("TERM");
	int known;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(err, -ENOTTY, "standard input and output are no terminal, use --batch");
	/* newterm() leaks memory for a terminal that it does not know */
	if (setupterm(NULL, STDOUT_FILENO, &known) != OK)
		return error_set(err, -ENOTTY, "the terminal '%s' is not known here, use --batch or set TERM",
				 name ? name : "");
	screen_remember();
	del_curterm(cur_term);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return error_set(err, -ENOTTY, "the terminal '%s' cannot be used, use --batch", name ? name : "");
	screen_take_signals();
	screen_colours();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	return 0;
}

void screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
	for (size_t i = 0; i < SCREEN_SIGNALS; i++)
		screen_give_signal(screen_signals[i]);
}

unsigned screen_width(void)
{
	return (unsigned)COLS;
}

/* The last line of the terminal shows the keys. */
unsigned screen_rows(const struct page *page)
{
	unsigned taken = (unsigned)page->head + 1;

	return (unsigned)LINES > taken ? (unsigned)LINES - taken : 0;
}

static void screen_line(int row, const struct page_line *line)
{
	attr_t attributes = line->style == PAGE_HEAD ? A_REVERSE : line->style == PAGE_WRONG ? A_BOLD : A_NORMAL;
	short pair = line->style == PAGE_WRONG && has_colors() ? 1 : 0;

	attr_set(attributes, pair, NULL);
	move(row, 0);
	addnstr(line->text, -1);
	if (line->style == PAGE_HEAD) /* a bar as wide as the terminal */
		for (int column = getcurx(stdscr); getcury(stdscr) == row && column < COLS; column++)
			addch(' ');
	attr_set(A_NORMAL, 0, NULL);
}

static void screen_keys(const struct page *page, size_t first)
{
	static struct page_line keys = { .style = PAGE_PLAIN };
	size_t rows = screen_rows(page), all = page->count - page->head;
	char words[160];

	if (all > rows)
		snprintf(words, sizeof(words), "q quit  s sort  up/down: lines %zu to %zu of %zu", first + 1,
			 first + rows < all ? first + rows : all, all);
	else
		snprintf(words, sizeof(words), "q quit  s sort by another column");
	table_cut(words, (unsigned)COLS, keys.text);
	screen_line(LINES - 1, &keys);
}

void screen_draw(const struct page *page, size_t first)
{
	unsigned rows = screen_rows(page);

	erase();
	for (size_t i = 0; i < page->head && (int)i < LINES - 1; i++)
		screen_line((int)i, page->lines + i);
	for (size_t i = 0; i < rows && page->head + first + i < page->count; i++)
		screen_line((int)(page->head + i), page->lines + page->head + first + i);
	screen_keys(page, first);
	refresh();
}

enum screen_key screen_key(void)
{
	switch (getch()) {
	case 'q':
	case 'Q':
		return SCREEN_QUIT;
	case 's':
		return SCREEN_SORT;
	case KEY_UP:
	case 'k':
		return SCREEN_UP;
	case KEY_DOWN:
	case 'j':
		return SCREEN_DOWN;
	case KEY_RESIZE:
		return SCREEN_RESIZED;
	default:
		return SCREEN_NONE;
	}
}
