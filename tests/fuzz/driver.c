// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a fuzz target without a fuzzer: once on each file of its corpus, then on a fixed number of
 * mutations of these files, the same in every run. With libFuzzer this file is not used.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MUTATIONS = 150, MAX_SIZE = 1 << 20 };

static uint64_t rng = 88172645463325252ull;

static size_t below(size_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return n ? (size_t)(rng % n) : 0;
}

/* Flips, overwrites, drops or repeats some bytes; the buffer has room for twice the size. */
static size_t mutate(uint8_t *data, size_t size)
{
	size_t times = 1 + below(8), at, len;

	while (times--) {
		at = below(size);
		len = 1 + below(16);
		if (!size || at + len > size)
			continue;
		switch (below(4)) {
		case 0:
			data[at] ^= (uint8_t)(1u << below(8));
			break;
		case 1:
			memset(data + at, (int)below(256), len);
			break;
		case 2:
			memmove(data + at, data + at + len, size - at - len);
			size -= len;
			break;
		default:
			memmove(data + at + len, data + at, size - at);
			size += len;
			break;
		}
	}
	return size;
}

static int run_file(const char *dir, const char *name)
{
	static uint8_t original[MAX_SIZE], data[2 * MAX_SIZE];
	char path[4096];
	size_t size;
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		return 1;
	}
	size = fread(original, 1, sizeof(original), f);
	fclose(f);
	LLVMFuzzerTestOneInput(original, size);
	for (i = 0; i < MUTATIONS; i++) {
		/* Exactly sized, so that the sanitizer sees a read past the end. */
		size_t len;
		uint8_t *exact;

		memcpy(data, original, size);
		len = mutate(data, size);
		exact = malloc(len ? len : 1);
		if (!exact)
			return 1;
		memcpy(exact, data, len);
		LLVMFuzzerTestOneInput(exact, len);
		free(exact);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent **names;
	int i, n, files = 0, failed = 0;

	if (argc != 2)
		return 2;
	n = scandir(argv[1], &names, NULL, alphasort);
	for (i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.') {
			failed |= run_file(argv[1], names[i]->d_name);
			files++;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	printf("1..1\n%s 1 - %d files of the corpus and %d mutations\n",
	       files && !failed ? "ok" : "not ok", files, files * MUTATIONS);
	return !files || failed;
}
