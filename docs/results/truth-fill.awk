# Puts tables into a Markdown file:
#
#   awk -f truth-fill.awk TABLES.md FILE.md > NEW.md
#
# A table of TABLES.md takes the place of the one in FILE.md that has the same first
# line; of several with the same, the first that of the first, and so on. It fails where
# one of the tables has no place.
FNR == 1 { file++; inside = 0 }
!/^\|/ { inside = 0 }
/^\|/ && !inside {
	inside = 1
	count[file, $0]++
	key = $0 " " count[file, $0]
	if (file == 1) keys[key]
}
file == 1 {
	if (inside) table[key] = table[key] $0 "\n"
	next
}
inside && key in table {
	printf "%s", table[key]
	table[key] = ""
	delete keys[key]
	next
}
{ print }
END {
	for (key in keys) {
		print "truth-fill.awk: no place for the table " key > "/dev/stderr"
		failed = 1
	}
	exit failed
}
