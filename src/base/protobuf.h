/* SPDX-License-Identifier: LGPL-2.1-only */
/* Protocol buffers, written field by field: a message is no more than tagged varints and strings. */
#ifndef KS_BASE_PROTOBUF_H
#define KS_BASE_PROTOBUF_H

#include <string.h>

#include "base/pack.h"

static inline void ks_protobuf_number(struct ks_strbuf *sb, u32 field, u64 value)
{
	if (!value) /* what is not there is 0 */
		return;
	ks_pack_varint(sb, (u64)field << 3);
	ks_pack_varint(sb, value);
}

static inline void ks_protobuf_fixed64(struct ks_strbuf *sb, u32 field, u64 value)
{
	if (!value)
		return;
	ks_pack_varint(sb, (u64)field << 3 | 1);
	ks_pack_uint(sb, value, 8);
}

static inline void ks_protobuf_bytes(struct ks_strbuf *sb, u32 field, const void *data, size_t len)
{
	ks_pack_varint(sb, (u64)field << 3 | 2);
	ks_pack_string(sb, data, len);
}

static inline void ks_protobuf_text(struct ks_strbuf *sb, u32 field, const char *text)
{
	ks_protobuf_bytes(sb, field, text, strlen(text));
}

/* Adds the message, and empties it. */
static inline void ks_protobuf_message(struct ks_strbuf *sb, u32 field, struct ks_strbuf *message)
{
	ks_protobuf_bytes(sb, field, ks_strbuf_str(message), message->len);
	sb->failed |= message->failed;
	ks_strbuf_deinit(message);
}

#endif
