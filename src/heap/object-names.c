// SPDX-License-Identifier: LGPL-2.1-only
/* Follows the few pointers that names are behind. What can't be read has no name. */
#include "heap/object-names.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* === Data ================================================================================= */

enum { DEPTH_MAX = 128, NAME_LEN = 256, SUN_PATH_LEN = 108 };

struct naming {
	struct ks_memory *memory;
	struct ks_types *types;
};

/* === Internals ============================================================================ */

static bool offset_of(const struct naming *n, const char *type, const char *member, u32 *ret_offset)
{
	u32 number = ks_types_struct(n->types, type, strlen(type));

	*ret_offset = number ? ks_types_member(n->types, number, member) : KS_NONE;
	return *ret_offset != KS_NONE;
}

/* Reads a member of the struct at @addr. */
static bool get(const struct naming *n, u64 addr, const char *type, const char *member, void *to,
		u32 len)
{
	u32 offset;

	return offset_of(n, type, member, &offset) &&
	       !ks_memory_get(n->memory, addr + offset, to, len);
}

static bool dentry_part(const struct naming *n, u64 dentry, char *name, size_t size)
{
	u64 at;

	return get(n, dentry, "dentry", "d_name.name", &at, 8) &&
	       !ks_memory_string(n->memory, at, name, size);
}

/* The path in its filesystem, put together from its end. */
static void name_dentry(const struct naming *n, u64 dentry, char *text, size_t size)
{
	char name[NAME_LEN], path[4096];
	size_t at = sizeof(path) - 1, len;
	u64 parent;
	int depth;

	path[at] = '\0';
	for (depth = 0; depth < DEPTH_MAX; depth++, dentry = parent) {
		if (!get(n, dentry, "dentry", "d_parent", &parent, 8) ||
		    !dentry_part(n, dentry, name, sizeof(name)))
			break;
		if (parent == dentry && (!strcmp(name, "/") || depth))
			break;
		len = strlen(name);
		if (len + 1 > at)
			break;
		at -= len;
		memcpy(path + at, name, len);
		if (parent == dentry)
			break;
		path[--at] = '/';
	}
	snprintf(text, size, "%s", depth || path[at] ? path + at : "/");
}

static void name_file(const struct naming *n, u64 file, char *text, size_t size)
{
	u64 dentry;

	if (get(n, file, "file", "f_path.dentry", &dentry, 8))
		name_dentry(n, dentry, text, size);
}

static void name_unix(const struct naming *n, u64 sock, char *text, size_t size)
{
	char name[SUN_PATH_LEN + 1] = "";
	u32 offset, len, i;
	u64 addr;

	if (!get(n, sock, "unix_sock", "addr", &addr, 8) || !addr ||
	    !get(n, addr, "unix_address", "len", &len, 4) ||
	    !offset_of(n, "unix_address", "name", &offset))
		return;
	/* The length counts the family, too. What is behind the name is not ours to show. */
	if (len <= 2 || len - 2 > SUN_PATH_LEN ||
	    ks_memory_get(n->memory, addr + offset + 2, name, len - 2))
		return;
	/* An abstract name begins with a NUL, may have others, and ends by its length alone. */
	if (!name[0])
		for (i = 0; i < len - 2; i++)
			name[i] = name[i] ? name[i] : '@';
	snprintf(text, size, "unix:%s", name);
}

static void name_inet(const struct naming *n, u64 sock, u16 family, char *text, size_t size)
{
	static const char common[] = "sock_common";
	char from[INET6_ADDRSTRLEN] = "", to[INET6_ADDRSTRLEN] = "";
	u8 local[16] = { 0 }, remote[16] = { 0 };
	bool six = family == AF_INET6;
	u16 lport = 0, rport = 0;

	if (!get(n, sock, common, six ? "skc_v6_rcv_saddr" : "skc_rcv_saddr", local,
		 six ? 16 : 4) ||
	    !get(n, sock, common, six ? "skc_v6_daddr" : "skc_daddr", remote, six ? 16 : 4) ||
	    !get(n, sock, common, "skc_num", &lport, 2) ||
	    !get(n, sock, common, "skc_dport", &rport, 2))
		return;
	inet_ntop(family, local, from, sizeof(from));
	inet_ntop(family, remote, to, sizeof(to));
	snprintf(text, size, six ? "[%s]:%u -> [%s]:%u" : "%s:%u -> %s:%u", from, lport, to,
		 ntohs(rport));
}

static void name_sock(const struct naming *n, u64 sock, char *text, size_t size)
{
	u16 family;

	if (!sock || !get(n, sock, "sock_common", "skc_family", &family, 2))
		return;
	if (family == AF_UNIX)
		name_unix(n, sock, text, size);
	else if (family == AF_INET || family == AF_INET6)
		name_inet(n, sock, family, text, size);
}

static void name_socket(const struct naming *n, u64 socket, char *text, size_t size)
{
	u64 sock;

	if (get(n, socket, "socket", "sk", &sock, 8))
		name_sock(n, sock, text, size);
}

static void name_task(const struct naming *n, u64 task, char *text, size_t size)
{
	char comm[17] = "";
	u32 pid;

	if (get(n, task, "task_struct", "comm", comm, 16) &&
	    get(n, task, "task_struct", "pid", &pid, 4))
		snprintf(text, size, "%s/%u", comm, pid);
}

static bool ends_with(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && !strcmp(text + a - b, end);
}

/* === Public =============================================================================== */

void ks_heap_object_name(struct ks_kernel *kernel, struct ks_types *types, const char *type,
			 u64 addr, char *text, size_t size)
{
	const struct naming n = { kernel->memory, types };
	u32 offset;

	*text = '\0';
	if (!strcmp(type, "dentry"))
		name_dentry(&n, addr, text, size);
	else if (!strcmp(type, "file"))
		name_file(&n, addr, text, size);
	else if (!strcmp(type, "task_struct"))
		name_task(&n, addr, text, size);
	else if (!strcmp(type, "socket_alloc") && offset_of(&n, type, "socket", &offset))
		name_socket(&n, addr + offset, text, size);
	else if (!strcmp(type, "socket"))
		name_socket(&n, addr, text, size);
	else if (!strcmp(type, "sock") || ends_with(type, "_sock"))
		name_sock(&n, addr, text, size);
}
