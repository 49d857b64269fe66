# SPDX-License-Identifier: GPL-2.0-only
# What doctor and heap say of the ways to read memory, before and after the kernel is locked down. Nothing can undo that.
S=/sys/kernel/security

check "doctor: both ways work" says 'ok +heap +kmemscope heap takes BPF' kmemscope doctor
check "doctor: kcore, too" says 'ok +heap kcore +kmemscope heap can read' kmemscope doctor
mount -t securityfs none $S
check "the kernel can be locked down" put confidentiality $S/lockdown
for how in bpf kcore auto; do
	check "heap by $how says that it is locked down" \
		ends_saying 1 'is forbidden: the kernel is locked down' kmemscope heap --memory $how
done
kmemscope doctor >/tmp/doctor
check "doctor says why neither way works" \
	is "$(grep -cE '^note +heap (bpf|kcore) .*the kernel is locked down' /tmp/doctor)" 2
check "and that heap will not work" grep -qE '^note +heap +kmemscope heap will not work' /tmp/doctor
