# The tables of truth.md, in its order, from the CSV files beside this one:
#
#   awk -f truth-tables.awk truth-rules.csv truth-findings.tsv truth-pairs.csv truth-reachable.csv truth-classics.csv truth-silver.csv truth-tau.csv truth-judges.csv truth-guides.csv
#
# truth-findings.tsv is written by hand: the findings, which strategies, web and budgets
# they are about, and what has become of them.
FNR == 1 {
	file = FILENAME
	sub(/.*\//, "", file)
	FS = file ~ /tsv$/ ? "\t" : ","
	n = split($0, head, FS)
	for (i = 1; i <= n; i++) column[file, head[i]] = i
	rows[file] = 0
	next
}
{
	rows[file]++
	for (i = 1; i <= NF; i++) row[file, rows[file], i] = $i
}
# at is a field of a row of a file, by the name of its column.
function at(file, r, name) { return row[file, r, column[file, name]] }

# find is the first row of a file whose columns have the values: "lab=read web=all".
function find(file, what,    n, pair, kv, i, r) {
	if ((file, what) in found) return found[file, what]
	n = split(what, pair, " ")
	for (r = 1; r <= rows[file]; r++) {
		for (i = 1; i <= n; i++) {
			split(pair[i], kv, "=")
			if (at(file, r, kv[1]) != kv[2]) break
		}
		if (i > n) return found[file, what] = r
	}
	print "truth-tables.awk: " file " has no row with " what > "/dev/stderr"
	failed = 1
	exit 1
}
# number has a minus sign and, below 1, no zero before the point.
function number(x, digits,    s) {
	s = sprintf("%." digits "f", x < 0 ? -x : x)
	if (digits > 1) sub(/^0\./, ".", s)
	return (x < 0 ? "−" : "") s
}
function value(file, what, name, digits) { return number(at(file, find(file, what), name), digits) }
function thousands(n) { return n >= 1000 ? substr(n, 1, length(n) - 3) "," substr(n, length(n) - 2) : n }

# sorted puts names in falling order of a column, equal ones by name, into order[1…].
function sorted(names, file, what, key, name,    a, n, i, x) {
	n = 0
	for (a in names) {
		x = at(file, find(file, what " " key "=" a), name) + 0
		for (i = n; i > 0 && (worth[i] < x || (worth[i] == x && order[i] > a)); i--) {
			order[i + 1] = order[i]; worth[i + 1] = worth[i]
		}
		order[i + 1] = a; worth[i + 1] = x
		n++
	}
	return n
}
# rule is the line below a table's first: columns of text, then of numbers.
function rule(text, numbers,    s) {
	s = "|"
	while (text-- > 0) s = s "---|"
	while (numbers-- > 0) s = s "--:|"
	print s
}
function rulesTable(    f, r, i, name, sum) {
	f = "truth-rules.csv"
	print "| topic | read of the rules’ pages: 2, 1, 0 | of the others: 2, 1, 0 |"
	rule(3, 0)
	split("rule-2 rule-1 rule-0 other-2 other-1 other-0", name, " ")
	for (r = 1; r <= rows[f]; r++) for (i = 1; i <= 6; i++) sum[i] += at(f, r, name[i])
	for (r = 1; r <= rows[f]; r++) printf "| %s | %d, %d, %d | %d, %d, %d |\n", at(f, r, "topic"), at(f, r, name[1]), at(f, r, name[2]), at(f, r, name[3]), at(f, r, name[4]), at(f, r, name[5]), at(f, r, name[6])
	printf "| all | %d, %d, %d | %d, %d, %d |\n\n", sum[1], sum[2], sum[3], sum[4], sum[5], sum[6]
}
function difference(lab, r, pages,    f, g, d, p) {
	f = "truth-findings.tsv"; g = "truth-pairs.csv"
	r = find(g, "lab=" lab " first=" at(f, r, "first") " second=" at(f, r, "second") " web=" at(f, r, "web") " pages=" pages " measure=auc")
	d = at(g, r, "difference"); p = at(g, r, "p")
	return (d < 0 ? "" : "+") number(d, 3) " (" at(g, r, "won") ":" at(g, r, "lost") ", p " (p < .001 ? "< .001" : "= " number(p, 3)) ")"
}
function findingsTable(    f, r, i, n, pages) {
	f = "truth-findings.tsv"
	print "| finding | at | by the rules | read, old examples | read | now |"
	print "|---|--:|---|---|---|---|"
	for (r = 1; r <= rows[f]; r++) {
		n = split(at(f, r, "pages"), pages, " ")
		for (i = 1; i <= n; i++) printf "| %s | %s | %s | %s | %s | %s |\n", i == 1 ? at(f, r, "finding") : "", thousands(pages[i]), difference("rules", r, pages[i]), difference("old-examples", r, pages[i]), difference("read", r, pages[i]), i == 1 ? at(f, r, "now") : ""
	}
	print ""
}
function classicsTable(pages,    f, r, names, n, i, a, b, c) {
	f = "truth-classics.csv"
	print "| strategy | AUC, rules | AUC, read, old examples | AUC, read | hits, rules | hits, read | H/U read | bpref | grade 2 | unread |"
	rule(1, 9)
	for (r = 1; r <= rows[f]; r++) names[at(f, r, "strategy")]
	n = sorted(names, f, "lab=read web=all pages=" pages, "strategy", "auc")
	for (i = 1; i <= n; i++) {
		a = " web=all pages=" pages " strategy=" order[i]
		b = "lab=old-examples" a; c = "lab=read" a; a = "lab=rules" a
		printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", order[i], value(f, a, "auc", 3), value(f, b, "auc", 3), value(f, c, "auc", 3), value(f, a, "hits", 1), value(f, c, "hits", 1), value(f, c, "of-bound-read", 3), value(f, c, "bpref", 3), value(f, c, "harvest-2", 3), value(f, c, "unread", 3)
	}
	print ""
}
function silverTable(    f, r, names, n, i, k, pages, a) {
	f = "truth-silver.csv"
	print "| strategy | AUC at 300, read | silver | hits, read | silver | H/U, read | silver | AUC at 1,000, read | silver | hits, read | silver | H/U, read | silver |"
	rule(1, 12)
	for (r = 1; r <= rows[f]; r++) names[at(f, r, "strategy")]
	n = sorted(names, f, "lab=read web=all pages=300", "strategy", "hits")
	for (i = 1; i <= n; i++) {
		printf "| %s |", order[i]
		for (k = 0; k < 2; k++) {
			a = " web=all pages=" (k ? 1000 : 300) " strategy=" order[i]
			printf " %s | %s | %s | %s | %s | %s |", value(f, "lab=read" a, "auc", 3), value(f, "lab=silver" a, "auc", 3), value(f, "lab=read" a, "hits", 1), value(f, "lab=silver" a, "hits", 1), value(f, "lab=read" a, "of-bound", 3), value(f, "lab=silver" a, "of-bound", 3)
		}
		print ""
	}
	print ""
}
function tauTable(    f, n, i, web, a) {
	f = "truth-tau.csv"
	print "| webs | τ of the means at 300 | at 1,000 | mean of the topics' τ at 300 | at 1,000 |"
	rule(1, 4)
	n = split("all campus manuals", web, " ")
	for (i = 1; i <= n; i++) {
		a = "first=read second=silver web=" web[i] " pages="
		printf "| %s | %s | %s | %s | %s |\n", web[i] == "all" ? "both" : web[i], value(f, a "300", "tau", 2), value(f, a "1000", "tau", 2), value(f, a "300", "mean-tau", 2), value(f, a "1000", "mean-tau", 2)
	}
	print ""
}
# judgesInOrder puts the judges into order[1…], the best of a lab first, and returns how
# many.
function judgesInOrder(lab,    f, r, names) {
	f = "truth-judges.csv"
	for (r = 1; r <= rows[f]; r++) names[at(f, r, "judge")]
	return sorted(names, f, "lab=" lab " web=all bad=0", "judge", "auroc")
}
function judgesTable(    f, g, n, i, a, b, c) {
	f = "truth-judges.csv"; g = "truth-guides.csv"
	print "| judge | AUROC, rules | AUROC, read, old examples | AUROC, read | precision, rules | precision, read | recall, rules | recall, read | AUC at 1,000 as a guide | hits |"
	rule(1, 9)
	n = judgesInOrder("read")
	for (i = 1; i <= n; i++) {
		a = " web=all bad=0 judge=" order[i]
		b = "lab=old-examples" a; c = "lab=read" a; a = "lab=rules" a
		printf "| %s | %s | %s | %s | %s | %s | %s | %s |", order[i], value(f, a, "auroc", 3), value(f, b, "auroc", 3), value(f, c, "auroc", 3), value(f, a, "precision", 3), value(f, c, "precision", 3), value(f, a, "recall", 3), value(f, c, "recall", 3)
		a = "lab=judges web=all pages=1000 judge=" order[i]
		printf " %s | %s |\n", value(g, a, "auc", 3), value(g, a, "hits", 1)
	}
	print ""
}
function badTable(    f, g, n, i, k, bad) {
	f = "truth-judges.csv"; g = "truth-guides.csv"
	print "| judge | AUROC with 0 bad | 1 | 2 | AUC at 300 with 0 bad | 1 | 2 | AUC at 1,000 with 0 bad | 1 | 2 |"
	rule(1, 9)
	n = judgesInOrder("bad-0")
	for (i = 1; i <= n; i++) {
		printf "| %s |", order[i]
		for (bad = 0; bad <= 2; bad++) printf " %s |", value(f, "lab=bad-" bad " web=all bad=" bad " judge=" order[i], "auroc", 3)
		for (k = 0; k < 2; k++) for (bad = 0; bad <= 2; bad++) printf " %s |", value(g, "lab=bad-" bad " web=all pages=" (k ? 1000 : 300) " judge=" order[i], "auc", 3)
		print ""
	}
	print ""
}
function reachableTable(    f, r, rules, read) {
	f = "truth-reachable.csv"
	print "| topic | by the rules | read, old examples | read | 95 % | times |"
	rule(1, 5)
	for (r = 1; r <= rows[f]; r++) {
		rules = at(f, r, "rules"); read = at(f, r, "read")
		printf "| %s | %s | %s | %s | %s to %s | %s |\n", at(f, r, "topic"), whole(rules), whole(at(f, r, "old-examples")), whole(read), whole(at(f, r, "low")), whole(at(f, r, "high")), number(read / rules, read < 10 * rules ? 1 : 0)
	}
	print ""
}
# whole is a number without decimals, its thousands parted.
function whole(x,    s) {
	s = sprintf("%.0f", x)
	return length(s) > 3 ? substr(s, 1, length(s) - 3) "," substr(s, length(s) - 2) : s
}
END {
	if (failed) exit 1
	rulesTable()
	findingsTable()
	reachableTable()
	classicsTable(300)
	classicsTable(1000)
	silverTable()
	tauTable()
	judgesTable()
	badTable()
}
