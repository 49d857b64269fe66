// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes as parts of a dump. The first byte chooses: 0 = pieces of a flattened dump, behind its first page; else the
 * tables of symbols, whose places a note says: count, base, index of tokens, offsets, tokens and names, at
 * 0, 8, 16, 528, 1024 and 4096.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "heap/flattened.h"
#include "heap/symbols.h"
#include "heap/vmcoreinfo.h"
#include "target.h"

enum { SIZE = 8192, HEAD = 80 };

static const char note[] = "OSRELEASE=x\nSYMBOL(kallsyms_num_syms)=ffffffff82000000\n"
			   "SYMBOL(kallsyms_relative_base)=ffffffff82000008\n"
			   "SYMBOL(kallsyms_token_index)=ffffffff82000010\n"
			   "SYMBOL(kallsyms_offsets)=ffffffff82000210\n"
			   "SYMBOL(kallsyms_token_table)=ffffffff82000400\n"
			   "SYMBOL(kallsyms_names)=ffffffff82001000\n";

static void flattened(const u8 *data, size_t size)
{
	char head[4096] = "makedumpfile";
	int fd = memfd_create("flattened", MFD_CLOEXEC), plain;
	struct ks_diag diag;

	FUZZ_ASSERT(fd >= 0 && !ks_write_all(fd, head, sizeof(head)) &&
		    !ks_write_all(fd, data, size));
	FUZZ_ASSERT(ks_is_flattened(fd));
	if (!ks_unflatten(fd, "dump", &plain, &diag))
		close(plain);
	close(fd);
}

static void symbols(const u8 *data, size_t size)
{
	/* No CPU, one segment, of one page of RAM. */
	const u64 head[HEAD / 8] = { 0, 1ull << 32, 0, 0, 0, 0, 0, 1, 0xffffffff82000000, SIZE };
	u8 *image = calloc(1, HEAD + SIZE);
	struct ks_memory *memory;
	struct ks_strbuf text;
	struct ks_diag diag;

	FUZZ_ASSERT(image);
	memcpy(image, head, sizeof(head));
	memcpy(image, "KSIMAGE1", 8);
	memcpy(image + HEAD, data, size < SIZE ? size : SIZE);
	FUZZ_ASSERT(!ks_memory_open_image(image, HEAD + SIZE, &memory, &diag));
	ks_strbuf_init(&text);
	ks_symbols_of_kernel(memory, note, &text, &diag);
	ks_strbuf_deinit(&text);
	ks_memory_free(memory);
	free(image);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text;
	u64 value;

	if (!size)
		return 0;
	if (data[0])
		symbols(data + 1, size - 1);
	else
		flattened(data + 1, size - 1);
	text = malloc(size);
	FUZZ_ASSERT(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	ks_vmcoreinfo_get(text, "SYMBOL", "a", &value);
	ks_vmcoreinfo_get(text, "NUMBER", "a", &value);
	free(text);
	return 0;
}
