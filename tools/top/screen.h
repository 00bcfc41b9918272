/* SPDX-License-Identifier: MIT */
/* The terminal, through ncurses: shows lines, reads keys, and restores the screen when the program ends. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "top/page.h"

enum screen_key { SCREEN_NONE, SCREEN_QUIT, SCREEN_SORT, SCREEN_UP, SCREEN_DOWN, SCREEN_RESIZED };

/* Standard input and output must be a terminal. */
must_check int screen_open(struct error *err);
/* Restores the terminal. May be called if it was never opened. */
void screen_close(void);

unsigned screen_width(void);
/* How many lines fit below this header. */
unsigned screen_rows(const struct page *page);
/* first: the first line to show below the header. */
void screen_draw(const struct page *page, size_t first);
/* Does not wait. */
enum screen_key screen_key(void);
