/* SPDX-License-Identifier: MIT */
/* Drives the terminal through ncurses: shows lines, reads keys, and restores the screen when the program ends. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "top/page.h"

enum screen_key { SCREEN_NONE, SCREEN_QUIT, SCREEN_SORT, SCREEN_UP, SCREEN_DOWN, SCREEN_RESIZED };

/* Takes over the terminal, which standard input and output must be. */
must_check int screen_open(struct error *err);
/* Restores the terminal. Does nothing if the screen was never opened. */
void screen_close(void);

unsigned screen_width(void);
/* Returns how many lines fit below this header. */
unsigned screen_rows(const struct page *page);
/* Draws the page. first: the first line to show below the header. */
void screen_draw(const struct page *page, size_t first);
/* Returns a key that was pressed, without waiting. */
enum screen_key screen_key(void);
