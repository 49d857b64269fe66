# SPDX-License-Identifier: GPL-2.0-only
# Fields of objects whose accesses are known: what "kmap fields" says of them, by the module's debug information.
F=$D/mzfields

# The rows of a struct, without what is in quotes: "field offset size reads writes ranges reader-cpus writer-cpus verdict".
fields_of() { # TYPE
	kmemscope kmap fields -k /tmp/kallsyms --types /mzfields.ko.debug --csv "$1" /tmp/fields.bin |
		awk -F, 'function c(s) { return s == "" ? "-" : s }
			NR == 1 { for (i = 1; i <= NF; i++) n[$i] = i; next }
			{ v = $n["verdict"] == "" ? "-" : $n["verdict"]; gsub(" ", "_", v)
			print $n["field"], $n["offset"], $n["size"], $n["reads"], $n["writes"], $n["ranges"],
				c($n["reader_cpus"]), c($n["writer_cpus"]), v }'
}

reset
echo 1 >$M/memorizer_log_access
put 1 $M/memorizer_enabled
check "widgets are made" put widgets $F/run
check "pairs are made" put pairs $F/run
put 0 $M/memorizer_enabled
cat $M/kmap_bin >/tmp/fields.bin
cat /proc/kallsyms >/tmp/kallsyms
fields_of mz_widget >/tmp/widget
wanted=$(grep -c . $F/expect)
check "the module expects fields" test "$wanted" -gt 8
while read -r line; do
	check "mz_widget: $line" grep -qxF -e "$line" /tmp/widget
done <<EOF
$(cat $F/expect)
EOF
[ "$tap_failed" = 0 ] || sed 's/^/# /' /tmp/widget
check "a hole is one" grep -q '^ 25 7 .* hole$' /tmp/widget
kmemscope kmap fields -k /tmp/kallsyms --types /mzfields.ko.debug mz_widget /tmp/fields.bin >/tmp/text
check "a loop is in no field, and is counted" grep -q '^160 accesses were at offsets that vary' /tmp/text
check "... as objects are" grep -q '^struct mz_widget, .* 10 objects,' /tmp/text
check "the reader beside a writer is named" grep -q 'limit *mzfields_read .* counter *mzfields_count' /tmp/text
fields_of mz_pair >/tmp/pairs
check "an array is as its elements" grep -q '^left 0 8 0 5 0 - [0-9]* never_read$' /tmp/pairs
[ "$tap_failed" = 0 ] || sed 's/^/# /' /tmp/text /tmp/pairs
put 0 $M/memorizer_log_access
reset
