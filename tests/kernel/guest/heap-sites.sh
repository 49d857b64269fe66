# SPDX-License-Identifier: GPL-2.0-only
# Who allocated what nobody holds, by a recording of the whole machine. A thread of the kernel makes the objects of
# mzheap.ko, so a recording of the command alone would not have them.
kmemscope record -v --slab -o /tmp/made.dat 2>/tmp/record.txt &
recorder=$!
until grep -q 'recording the whole' /tmp/record.txt; do sleep 0.1; done
check "mzheap.ko makes its objects again, recorded" put all $H/run
kill -INT $recorder
wait $recorder
cat $H/expect >/tmp/truth
check "unreachable, with a recording" to_file /tmp/each kmemscope heap unreachable --wait 0s --capture /tmp/made.dat --each --csv
# The site is the last column; the one before it is the address, and others may have commas in quotes.
awk -F, 'NR > 1 { print substr($(NF - 1), 3), $NF }' /tmp/each >/tmp/found
awk 'NR == FNR { site[$1] = $2; next } $5 == "leaked" && site[$1] !~ /^new_object\+/ { print $1, site[$1] }' /tmp/found /tmp/truth >/tmp/unknown
head -n 5 /tmp/unknown | sed 's/^/# /'
check "it says of every leaked object which code allocated it" is "$(wc -l </tmp/unknown) of $(truths 5 leaked)" "0 of 329"
