# Grades of the pages that were read, by what the rules said of them:
#
#   waggle lab pool export ../truth qrels > qrels.txt
#   awk -f truth-rules.awk webs/*/truth/*.txt qrels.txt > truth-rules.csv
#
# rule-2 counts pages of grade 2 that the rules call relevant, other-2 those that
# they do not.
BEGIN { OFS = "," }
FILENAME ~ /truth\/[^\/]*\.txt$/ {
	n = split(FILENAME, part, "/")
	sub(/\.txt$/, "", part[n])
	rule[part[n - 2] "/" part[n] " " $1]
	next
}
{ grade[$1 " " $3] = $4 }
END {
	for (key in grade) {
		split(key, part, " ")
		count[part[1], key in rule, grade[key]]++
		topics[part[1]]
	}
	print "topic,rule-2,rule-1,rule-0,other-2,other-1,other-0"
	fflush()
	for (t in topics) print t, count[t, 1, 2] + 0, count[t, 1, 1] + 0, count[t, 1, 0] + 0, count[t, 0, 2] + 0, count[t, 0, 1] + 0, count[t, 0, 0] + 0 | "sort"
}
