/* SPDX-License-Identifier: MIT */
#pragma once

#define SIGNED_KEY "AAAAC3NzaC1lZDI1NTE5AAAAIOtK+TD8rl0R/07jAgPhdjWXC3+hjcPunbp85M+becUF" /* ssh-ed25519 */
#define SIGNED_P256_KEY \
	"AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBIon2gA7tANmJ5igvA" \
	"bnUEuFFuxTp98ss/EwDYxTdItvT4SdaLZZq6l71oxGwAjkzf9CN0O4EhCyhoj+U+cs5qM=" /* ecdsa-sha2-nistp256 */
#define SIGNED_SK_KEY \
	"AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAILmTwTxvN6S77iXvVHsGN8Re9h" \
	"ndwotIJmy0fm60WIpuAAAABHNzaDo=" /* sk-ssh-ed25519@openssh.com */

/* A statement, signed by keys that are nowhere else. */
#define SIGNED_STATEMENT \
	"datasetfs statement 1\n" \
	"digest sha256:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n" \
	"sums sha256\n" \
	"block-sums none\n" \
	"label v1\n" \
	"created 2026-11-01T00:00:00Z\n" \
	"volume any\n"
/* By ssh-keygen -Y sign. */
static const char signed_text[] = SIGNED_STATEMENT
	"-----BEGIN SSH SIGNATURE-----\n"
	"U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAg60r5MPyuXRH/TuMCA+F2NZcLf6\n"
	"GNw+6dunzkz5t5xQUAAAAJZGF0YXNldGZzAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1l\n"
	"ZDI1NTE5AAAAQJ8JEiSucnqDfL2UXs5xDPO9q14WdF3Ovt5EUGUkgnDN3nzb5c4pUdnmdR\n"
	"HYw0UE46IJ2EuZlnA1CfWcztTzIg4=\n"
	"-----END SSH SIGNATURE-----\n";
static const char signed_p256[] = SIGNED_STATEMENT
	"-----BEGIN SSH SIGNATURE-----\n"
	"U1NIU0lHAAAAAQAAAGgAAAATZWNkc2Etc2hhMi1uaXN0cDI1NgAAAAhuaXN0cDI1NgAAAE\n"
	"EEiifaADu0A2YnmKC8BudQS4UW7FOn3yyz8TANjFN0i29PhJ1otlmrqXvWjEbACOTN/0I3\n"
	"Q7gSELKGiP5T5yzmowAAAAlkYXRhc2V0ZnMAAAAAAAAABnNoYTUxMgAAAGUAAAATZWNkc2\n"
	"Etc2hhMi1uaXN0cDI1NgAAAEoAAAAhAOCznqmxOXzQM9aAIjScefApb8N+EGabjYR7fnkQ\n"
	"srgAAAAAIQDOM9SbxibL7YekK75cuqeeaYa5BLdwacKH/J+imXnNwQ==\n"
	"-----END SSH SIGNATURE-----\n";
/* As a token signs, by tests/lib/token.py, and found good by ssh-keygen -Y verify. */
static const char signed_sk[] = SIGNED_STATEMENT
	"-----BEGIN SSH SIGNATURE-----\n"
	"U1NIU0lHAAAAAQAAAEoAAAAac2stc3NoLWVkMjU1MTlAb3BlbnNzaC5jb20AAAAguZPBPG\n"
	"83pLvuJe9UewY3xF72Gd3Ci0gmbLR+brRYim4AAAAEc3NoOgAAAAlkYXRhc2V0ZnMAAAAA\n"
	"AAAABnNoYTUxMgAAAGcAAAAac2stc3NoLWVkMjU1MTlAb3BlbnNzaC5jb20AAABAsryewr\n"
	"RTJIlHYmEw9YOIOjFdhmWfKQ7QSGKyzu8FqQhqMPwF+Nwt1MlJ+ZJNwMPsvDwsZAh8Dx/v\n"
	"ZNyPlz0DAwUAAABN\n"
	"-----END SSH SIGNATURE-----\n";
/* By ssh-keygen -k, to revoke the key of the first. */
static const char signed_revoked[] =
	"\x53\x53\x48\x4b\x52\x4c\x0a\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x6b"
	"\x09\xb9\x5f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x37\x00"
	"\x00\x00\x33\x00\x00\x00\x0b\x73\x73\x68\x2d\x65\x64\x32\x35\x35\x31\x39\x00\x00\x00\x20\xeb\x4a\xf9"
	"\x30\xfc\xae\x5d\x11\xff\x4e\xe3\x02\x03\xe1\x76\x35\x97\x0b\x7f\xa1\x8d\xc3\xee\x9d\xba\x7c\xe4\xcf"
	"\x9b\x79\xc5\x05";
