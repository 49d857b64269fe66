// SPDX-License-Identifier: LGPL-2.1-only
/*
 * From the name of a cache to a struct. Most caches are named after their struct; for others there is a rule or a row
 * in a table. A guess must fit: the struct exists in this kernel, and has the size of the cache's objects.
 */
#include "heap/cache-types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

/* === Data ================================================================================= */

static const struct {
	const char *cache, *type;
} known[] = {
	{ "PING", "ping_sock" },
	{ "RAW", "raw_sock" },
	{ "RAWv6", "raw6_sock" },
	{ "TCP", "tcp_sock" },
	{ "TCPv6", "tcp6_sock" },
	{ "UDP", "udp_sock" },
	{ "UDPv6", "udp6_sock" },
	{ "UNIX", "unix_sock" },
	{ "UNIX-STREAM", "unix_sock" },
	{ "bdev_cache", "bdev_inode" },
	{ "blkdev_ioc", "io_context" },
	{ "cred_jar", "cred" },
	{ "eventpoll_epi", "epitem" },
	{ "eventpoll_pwq", "eppoll_entry" },
	{ "eventpoll_ep", "eventpoll" },
	{ "files_cache", "files_struct" },
	{ "filp", "file" },
	{ "fs_cache", "fs_struct" },
	{ "inet_peer_cache", "inet_peer" },
	{ "inode_cache", "inode" },
	{ "ip4-frags", "ipq" },
	{ "ip6_dst_cache", "rt6_info" },
	{ "ip_dst_cache", "rtable" },
	{ "jbd2_inode", "jbd2_inode" },
	{ "kernfs_iattrs_cache", "kernfs_iattrs" },
	{ "kernfs_node_cache", "kernfs_node" },
	{ "key_jar", "key" },
	{ "mnt_cache", "mount" },
	{ "mqueue_inode_cache", "mqueue_inode_info" },
	{ "net_namespace", "net" },
	{ "posix_timers_cache", "k_itimer" },
	{ "proc_dir_entry", "proc_dir_entry" },
	{ "proc_inode_cache", "proc_inode" },
	{ "radix_tree_node", "xa_node" },
	{ "request_sock_TCP", "tcp_request_sock" },
	{ "request_sock_TCPv6", "tcp6_request_sock" },
	{ "shared_policy_node", "sp_node" },
	{ "shmem_inode_cache", "shmem_inode_info" },
	{ "sighand_cache", "sighand_struct" },
	{ "signal_cache", "signal_struct" },
	{ "skbuff_fclone_cache", "sk_buff_fclones" },
	{ "skbuff_head_cache", "sk_buff" },
	{ "sock_inode_cache", "socket_alloc" },
	{ "tracefs_inode_cache", "tracefs_inode" },
	{ "tw_sock_TCP", "tcp_timewait_sock" },
	{ "tw_sock_TCPv6", "tcp6_timewait_sock" },
	{ "uid_cache", "user_struct" },
};

static const u32 classes[] = { 8,     16,    32,     64,     96,     128,    192,
			       256,   512,   1024,   2048,   4096,   8192,   16384,
			       32768, 65536, 131072, 262144, 524288, 1048576 };

/* === Internals ============================================================================ */

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_anonymous(const char *name)
{
	return starts_with(name, "kmalloc-") || starts_with(name, "dma-kmalloc-") ||
	       starts_with(name, "memdup_user-");
}

/*
 * A struct of the size of the objects. task_struct alone ends in registers, for which the struct has a page, and objects
 * have more or less, depending on the CPU.
 */
static bool fits(const struct ks_types *types, u32 type, const struct ks_cache *cache)
{
	u32 size = types->items.items[type].size;

	if (!strcmp(ks_type_text(types, type), "task_struct"))
		return size <= cache->object_size + 4096;
	return size == cache->object_size ||
	       (size < cache->object_size &&
		(types->items.items[type].open || cache->object_size - size < 64));
}

static u32 try_name(struct ks_types *types, const struct ks_cache *cache, const char *name,
		    size_t len)
{
	u32 type = ks_types_struct(types, name, len);

	return type && fits(types, type, cache) ? type : 0;
}

/* "ext4_inode_cache": ext4_inode_info or ext4_inode. */
static u32 try_inode(struct ks_types *types, const struct ks_cache *cache, const char *name)
{
	const char *end = strstr(name, "_inode_cache");
	char text[128];
	u32 type;

	if (!end || end[12])
		return 0;
	snprintf(text, sizeof(text), "%.*s_inode_info", (int)(end - name), name);
	type = try_name(types, cache, text, strlen(text));
	return type ? type : try_name(types, cache, name, (size_t)(end - name) + 6);
}

static u32 type_of_name(struct ks_types *types, const struct ks_cache *cache, const char *name)
{
	size_t len = strlen(name), i;
	const char *cut;
	u32 type;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i].cache) &&
		    (type = try_name(types, cache, known[i].type, strlen(known[i].type))))
			return type;
	type = try_name(types, cache, name, len);
	if (!type)
		type = try_inode(types, cache, name);
	/* "bio-184", "msg_msg-64" */
	cut = strrchr(name, '-');
	if (!type && cut && cut[1] >= '0' && cut[1] <= '9') {
		type = ks_types_struct(types, name, (size_t)(cut - name));
		if (type && types->items.items[type].size > cache->object_size)
			type = 0;
	}
	/* "ext4_extent_status", "jbd2_journal_head", "sgpool-8": what is behind the first word */
	cut = strchr(name, '_');
	if (!type && cut)
		type = try_name(types, cache, cut + 1, strlen(cut + 1));
	/* "dentry_cache" */
	cut = strstr(name, "_cache");
	if (!type && cut && !cut[6])
		type = try_name(types, cache, name, (size_t)(cut - name));
	return type;
}

/* A merged cache has the size of its largest member: any struct that fits will do. */
static u32 type_of_alias(struct ks_types *types, const struct ks_cache *cache, const char *name)
{
	u32 type, size;

	for (size = cache->object_size; size + 64 > cache->object_size && size >= 8; size -= 8) {
		struct ks_cache like = *cache;

		like.object_size = size;
		type = type_of_name(types, &like, name);
		if (type)
			return type;
	}
	return 0;
}

/* === Public =============================================================================== */

u32 ks_cache_type(struct ks_types *types, const struct ks_caches *caches, u32 number)
{
	const struct ks_cache *cache = &caches->items.items[number];
	u32 type = 0;

	if (!cache->valid || is_anonymous(cache->name))
		return 0;
	/* Of merged caches the objects may be of any of their types. */
	if (cache->users > 1)
		return 0;
	type = type_of_name(types, cache, cache->name);
	return type ? type : ks_types_name(types, cache->name, strlen(cache->name));
}

u32 ks_cache_either(struct ks_types *types, const struct ks_caches *caches, u32 number,
		    const struct ks_aliases *aliases)
{
	const struct ks_cache *cache = &caches->items.items[number];
	struct ks_strbuf text;
	u32 type = 0, found;
	size_t i;

	if (!ks_cache_merged(cache))
		return 0;
	ks_strbuf_init(&text);
	for (i = 0; i < aliases->items.len; i++) {
		if (aliases->items.items[i].cache != number)
			continue;
		found = type_of_alias(types, cache, aliases->items.items[i].name);
		ks_strbuf_printf(&text, "%s%s", text.len ? " | " : "",
				 found ? ks_type_text(types, found) : aliases->items.items[i].name);
	}
	if (!text.len)
		ks_strbuf_printf(&text, "%s and %u more", cache->name, cache->users - 1);
	if (!text.failed)
		type = ks_types_name(types, text.s, text.len);
	ks_strbuf_deinit(&text);
	return type;
}

u32 ks_cache_candidates(struct ks_types *types, const struct ks_caches *caches, u32 number,
			const struct ks_aliases *aliases, u32 *candidates, u32 max)
{
	const struct ks_cache *cache = &caches->items.items[number];
	u32 count = 0, type, k;
	size_t i;

	for (i = 0; ks_cache_merged(cache) && i < aliases->items.len && count < max; i++) {
		if (aliases->items.items[i].cache != number)
			continue;
		type = type_of_alias(types, cache, aliases->items.items[i].name);
		for (k = 0; k < count && candidates[k] != type; k++)
			;
		if (type && k == count)
			candidates[count++] = type;
	}
	return count;
}

bool ks_cache_merged(const struct ks_cache *cache)
{
	return cache->valid && cache->users > 1 && !is_anonymous(cache->name);
}

u32 ks_cache_floor(const struct ks_cache *cache)
{
	size_t i;

	if (!is_anonymous(cache->name))
		return cache->object_size - ks_min(cache->object_size, 64u);
	for (i = 1; i < ARRAY_SIZE(classes); i++)
		if (classes[i] == cache->object_size)
			return classes[i - 1];
	return 0;
}
