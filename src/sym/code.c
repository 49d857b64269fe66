// SPDX-License-Identifier: LGPL-2.1-only
/* The functions of a linked kernel, and what their instructions do; capstone takes them apart. */
#include "sym/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef KS_HAVE_CAPSTONE
#include <capstone/capstone.h>

#include "sym/elf.h"
#include "sym/late-capstone.h"
#include "sym/tree.h"

/* === Data ================================================================================= */

/* Functions that compilers call for their own purposes: what a kernel without these checks does not have. */
static const char *const instrumentation[] = { "__asan_",    "__hwasan_", "__kasan_",
					       "__tsan_",    "__kcsan_",  "__sanitizer_",
					       "__fentry__", "mcount",	  "__cyg_profile_",
					       "__mcount" };

/* The image, and the section that was asked for last. */
struct image {
	struct ks_elf elf;
	const u8 *data;
	u64 begin, end; /* its addresses */
	csh handle;
	cs_insn *insn;
	bool x86;
};

/* === Internals: what an instruction does ================================================== */

static bool is_instrumentation(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(instrumentation); i++)
		if (!strncmp(name, instrumentation[i], strlen(instrumentation[i])))
			return true;
	return false;
}

/* Operands in memory that are no access. */
static bool only_names_memory(unsigned int id)
{
	switch (id) {
	case X86_INS_LEA:
	case X86_INS_NOP:
	case X86_INS_PREFETCH:
	case X86_INS_PREFETCHNTA:
	case X86_INS_PREFETCHT0:
	case X86_INS_PREFETCHT1:
	case X86_INS_PREFETCHT2:
	case X86_INS_PREFETCHW:
	case X86_INS_INVLPG:
	case X86_INS_CLFLUSH:
	case X86_INS_CLFLUSHOPT:
	case X86_INS_CLWB:
		return true;
	default:
		return false;
	}
}

static void look_at_x86(const cs_insn *insn, bool *reads, bool *writes)
{
	const cs_x86 *x86 = &insn->detail->x86;
	size_t i;

	if (only_names_memory(insn->id))
		return;
	for (i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];

		if (op->type != X86_OP_MEM || op->mem.base == X86_REG_RSP)
			continue;
		*reads |= op->access & CS_AC_READ;
		*writes |= op->access & CS_AC_WRITE;
	}
}

static bool begins_with_one_of(const char *mnemonic, const char *const *words, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!strncmp(mnemonic, words[i], strlen(words[i])))
			return true;
	return false;
}

/* By name, since the library does not say of all operands how they are used. */
static void look_at_arm64(const cs_insn *insn, bool *reads, bool *writes)
{
	static const char *const both[] = { "ldadd",  "ldclr",	"ldeor",  "ldset", "ldsmax",
					    "ldsmin", "ldumax", "ldumin", "cas",   "swp" };
	const cs_arm64 *arm = &insn->detail->arm64;
	bool updates = begins_with_one_of(insn->mnemonic, both, ARRAY_SIZE(both));
	size_t i;

	for (i = 0; i < arm->op_count; i++) {
		const cs_arm64_op *op = &arm->operands[i];

		if (op->type != ARM64_OP_MEM || op->mem.base == ARM64_REG_SP)
			continue;
		*reads |= updates || !strncmp(insn->mnemonic, "ld", 2);
		*writes |= updates || !strncmp(insn->mnemonic, "st", 2);
	}
}

/* The function that a direct call or jump goes to; NULL = an indirect one, or none that is known. */
static const char *callee(const struct ks_code *code, const struct image *image,
			  const cs_insn *insn)
{
	const struct ks_symbol *symbol = NULL;

	if (image->x86 && insn->detail->x86.op_count == 1 &&
	    insn->detail->x86.operands[0].type == X86_OP_IMM)
		symbol = ks_symtab_find(code->table, (u64)insn->detail->x86.operands[0].imm);
	else if (!image->x86 && insn->detail->arm64.op_count == 1 &&
		 insn->detail->arm64.operands[0].type == ARM64_OP_IMM)
		symbol = ks_symtab_find(code->table, (u64)insn->detail->arm64.operands[0].imm);
	return symbol ? ks_symtab_name(code->table, symbol) : NULL;
}

static void count(const struct ks_code *code, const struct image *image,
		  struct ks_code_function *function)
{
	const cs_insn *insn = image->insn;
	bool reads = false, writes = false;
	const char *to;

	(image->x86 ? look_at_x86 : look_at_arm64)(insn, &reads, &writes);
	function->counts[KS_CODE_READ] += reads;
	function->counts[KS_CODE_WRITE] += writes;
	if (cs_insn_group(image->handle, insn, CS_GRP_CALL)) {
		to = callee(code, image, insn);
		function->counts[KS_CODE_CALL] += !to || !is_instrumentation(to);
	} else if (cs_insn_group(image->handle, insn, CS_GRP_RET)) {
		function->counts[KS_CODE_RETURN]++;
	} else if (cs_insn_group(image->handle, insn, CS_GRP_JUMP)) {
		/* Kernels with return thunks jump there in place of returning. */
		to = callee(code, image, insn);
		function->counts[KS_CODE_RETURN] += to && !strcmp(to, "__x86_return_thunk");
	}
}

/* === Internals: the image ================================================================= */

static int start(struct image *image, struct ks_diag *diag)
{
	u16 machine = image->elf.ehdr.e_machine;
	int err;

	image->x86 = machine == EM_X86_64;
	if (image->elf.ehdr.e_type == ET_REL)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: not a linked kernel: give the vmlinux of the build",
				   image->elf.path);
	if (!image->x86 && machine != EM_AARCH64)
		return ks_diag_set(diag, KS_EBADINPUT,
				   "%s: the instructions of its machine (number %u) are not known; "
				   "those of x86-64 and arm64 are",
				   image->elf.path, machine);
	err = ks_late_capstone(diag);
	if (err)
		return err;
	if (cs_open(image->x86 ? CS_ARCH_X86 : CS_ARCH_ARM64,
		    image->x86 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN, &image->handle))
		return ks_diag_nomem(diag, "taking instructions apart");
	cs_option(image->handle, CS_OPT_DETAIL, CS_OPT_ON);
	image->insn = cs_malloc(image->handle);
	return image->insn ? 0 : ks_diag_nomem(diag, "taking instructions apart");
}

static void stop(struct image *image)
{
	if (image->insn)
		cs_free(image->insn, 1);
	if (image->handle)
		cs_close(&image->handle);
	ks_elf_close(&image->elf);
}

/* Makes the section that has @addr the current one; false where there is none with bytes. */
static bool find_section(struct image *image, u64 addr)
{
	GElf_Shdr shdr;
	Elf_Data *data;
	size_t i;

	if (addr >= image->begin && addr < image->end)
		return true;
	for (i = 1; i < image->elf.sections; i++) {
		if (ks_elf_section(&image->elf, i, &shdr, NULL, NULL) ||
		    !(shdr.sh_flags & SHF_EXECINSTR) || shdr.sh_type != SHT_PROGBITS ||
		    addr < shdr.sh_addr || addr - shdr.sh_addr >= shdr.sh_size)
			continue;
		data = elf_getdata(elf_getscn(image->elf.elf, i), NULL);
		if (!data || !data->d_buf || addr - shdr.sh_addr >= data->d_size)
			return false;
		image->data = data->d_buf;
		image->begin = shdr.sh_addr;
		image->end = shdr.sh_addr + data->d_size;
		return true;
	}
	return false;
}

/* What is no instruction (tables between code) is stepped over. */
static void count_function(const struct ks_code *code, struct image *image,
			   struct ks_code_function *function)
{
	size_t step = image->x86 ? 1 : 4;
	u64 at = function->addr;
	const u8 *bytes = image->data + (at - image->begin);
	size_t left = (size_t)ks_min(function->size, image->end - at);

	while (left) {
		if (cs_disasm_iter(image->handle, &bytes, &left, &at, image->insn)) {
			count(code, image, function);
			continue;
		}
		if (left <= step)
			break;
		bytes += step;
		left -= step;
		at += step;
	}
}

/* The symbols that name the same address stand together; the first is the one to show. */
static int add_functions(struct ks_code *code, struct image *image, struct ks_diag *diag)
{
	size_t i;

	for (i = 0; i < code->table->symbols.len; i++) {
		const struct ks_symbol *symbol = &code->table->symbols.items[i];
		struct ks_code_function *function;

		/* Marks of the linker may stand behind the last code. */
		if ((i && symbol->addr == symbol[-1].addr) || !find_section(image, symbol->addr))
			continue;
		function = ks_vec_push(&code->functions);
		if (!function)
			return ks_diag_nomem(diag, "reading functions");
		function->name = symbol->name;
		function->addr = symbol->addr;
		function->size = symbol->size ? symbol->size
					      : ks_symtab_extent(code->table, symbol);
		count_function(code, image, function);
	}
	return 0;
}

static int read_image(struct ks_code *code, const char *path, struct ks_diag *diag)
{
	struct image image = { 0 };
	int err = ks_elf_open(&image.elf, path, diag);

	if (err)
		return err;
	err = start(&image, diag);
	if (!err)
		err = ks_symtab_load(path, &code->table, diag);
	if (!err)
		err = add_functions(code, &image, diag);
	stop(&image);
	return err;
}

/* === Public =============================================================================== */

int ks_code_read(const char *path, struct ks_code **ret_code, struct ks_diag *diag)
{
	struct ks_code *code = calloc(1, sizeof(*code));
	struct ks_tree tree = { 0 };
	int err;

	if (!code)
		return ks_diag_nomem(diag, "reading functions");
	err = ks_tree_open(&tree, path, diag);
	if (err == -ENOTDIR)
		err = read_image(code, path, diag);
	else if (!err)
		err = tree.vmlinux ? read_image(code, tree.vmlinux, diag)
				   : ks_diag_set(diag, -ENOENT, "%s: has no vmlinux", path);
	ks_tree_close(&tree);
	if (err)
		ks_code_free(code);
	else
		*ret_code = code;
	return err;
}

void ks_code_free(struct ks_code *code)
{
	if (!code)
		return;
	ks_symtab_free(code->table);
	ks_vec_free(&code->functions);
	free(code);
}
#else

/* === Public: without a disassembler ======================================================= */

int ks_code_read(const char *path, struct ks_code **ret_code, struct ks_diag *diag)
{
	(void)ret_code;
	return ks_diag_set(
		diag, -EOPNOTSUPP,
		"%s: this program was built without capstone and can't count instructions", path);
}

void ks_code_free(struct ks_code *code)
{
	(void)code;
}
#endif
