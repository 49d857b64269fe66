// SPDX-License-Identifier: LGPL-2.1-only
/* From the name of a cache to structs. Most caches are named after theirs; for others there is a rule or a row in a table. */
#include "sym/cache-structs.h"

#include <stdio.h>
#include <string.h>

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

/* === Internals ============================================================================ */

static void copy(char *name, size_t size, const char *from, size_t len)
{
	snprintf(name, size, "%.*s", (int)len, from);
}

static void from_table(const char *cache, char *name, size_t size)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(cache, known[i].cache))
			copy(name, size, known[i].type, strlen(known[i].type));
}

/* What is before @end, where the name ends in that. */
static bool before(const char *cache, const char *end, size_t *ret_len)
{
	const char *at = strstr(cache, end);

	*ret_len = at ? (size_t)(at - cache) : 0;
	return at && !at[strlen(end)];
}

/* === Public =============================================================================== */

bool ks_cache_struct(const char *cache, unsigned int nr, char *name, size_t size)
{
	const char *cut;
	size_t len;

	name[0] = '\0';
	switch (nr) {
	case 0:
		from_table(cache, name, size);
		return true;
	case 1:
		copy(name, size, cache, strlen(cache));
		return true;
	case 2: /* "ext4_inode_cache": ext4_inode_info or ext4_inode */
		if (before(cache, "_inode_cache", &len))
			snprintf(name, size, "%.*s_inode_info", (int)len, cache);
		return true;
	case 3:
		if (before(cache, "_inode_cache", &len))
			copy(name, size, cache, len + 6);
		return true;
	case 4: /* "ext4_extent_status", "jbd2_journal_head", "sgpool-8": what is behind the first word */
		cut = strchr(cache, '_');
		if (cut)
			copy(name, size, cut + 1, strlen(cut + 1));
		return true;
	case 5: /* "dentry_cache" */
		if (before(cache, "_cache", &len))
			copy(name, size, cache, len);
		return true;
	default:
		return false;
	}
}
