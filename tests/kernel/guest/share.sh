# SPDX-License-Identifier: GPL-2.0-only
# In the guest: a directory of the host at /host, which needs modules of the kernel.
while read -r module; do insmod "/kmod/$module"; done </kmod/order
mkdir /host
mount -t 9p -o trans=virtio,version=9p2000.L host /host
