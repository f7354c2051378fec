# The first two tables of paths.md, as Markdown, from the lab paths.yaml:
#
#   awk -f paths.awk -v csv=paths.csv -v names="pathlearner breadth-first" LAB/values.csv LAB/tests.csv
#
# The first has hits and AUC of each strategy at 50, 100 and 300 pages, means over topics (each the
# mean of its repeats), best AUC at 100 first, with the best of a column bold; the CSV file has
# the same. The second compares the baseline of the lab with the strategies named: topics
# won, even and lost, the mean difference with its interval, and Wilcoxon's p, before Holm's correction.
BEGIN { FS = OFS = ","; budgets = split("50 100 300", at, " ") }
FNR == 1 { delete col; for (i = 1; i <= NF; i++) col[$i] = i; tests = "wilcoxon" in col; next }
!tests && ($col["measure"] == "hits" || $col["measure"] == "auc") && $col["value"] != "" {
	s = $col["scorer"]; key = $col["measure"] SUBSEP $col["pages"] SUBSEP s
	if (!(s in known)) { known[s]; name[++n] = s }
	if (!((key, $col["topic"]) in count)) topics[key]++
	count[key, $col["topic"]]++; sum[key, $col["topic"]] += $col["value"]
	topic[$col["topic"]]
}
tests && $col["web"] == "*" && ($col["measure"] == "harvest" || $col["measure"] == "auc") {
	many = $col["measure"] == "auc" ? 1 : $col["pages"] # goals are harvest by pages
	key = $col["measure"] SUBSEP $col["pages"] SUBSEP $col["scorer"]
	digits = $col["measure"] == "auc" ? 3 : 1
	told[key] = $col["lost"] ", " $col["tied"] ", " $col["won"] ": " sign(-many * $col["difference"], digits) ($col["low"] == "" ? "" : " (" sign(-many * $col["high"], digits) " … " sign(-many * $col["low"], digits) ")")
	p[key] = $col["wilcoxon"] < .01 ? "<.01" : number($col["wilcoxon"], 2)
}
END {
	for (k = 1; k <= n; k++) for (b = 1; b <= budgets; b++) { mean("hits", at[b], name[k]); mean("auc", at[b], name[k]) }
	for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++)
		if (of["auc", 100, name[j]] > of["auc", 100, name[i]]) { s = name[i]; name[i] = name[j]; name[j] = s }
	head = "| strategy |"; rule = "|---|"
	if (csv) printf "strategy" > csv
	for (b = 1; b <= budgets; b++) {
		head = head " hits at " at[b] " | AUC |"; rule = rule "--:|--:|"
		if (csv) printf ",hits at %d,AUC at %d", at[b], at[b] > csv
	}
	if (csv) print "" > csv
	print head; print rule
	for (k = 1; k <= n; k++) {
		line = "| " name[k] " |"
		if (csv) printf "%s", name[k] > csv
		for (b = 1; b <= budgets; b++) {
			line = line " " cell("hits", at[b], name[k], 1) " | " cell("auc", at[b], name[k], 3) " |"
			if (csv) printf ",%.2f,%.4f", of["hits", at[b], name[k]], of["auc", at[b], name[k]] > csv
		}
		if (csv) print "" > csv
		print line
	}
	print ""
	print "| against | goals at 50 | p | goals at 100 | p | AUC at 100 | p | goals at 300 | p |"
	print "|---|---|--:|---|--:|---|--:|---|--:|"
	n = split(names, want, " ")
	for (k = 1; k <= n; k++) {
		line = "| " want[k] " |"
		split("harvest:50 harvest:100 auc:100 harvest:300", what, " ")
		for (i = 1; i <= 4; i++) { split(what[i], part, ":"); key = part[1] SUBSEP part[2] SUBSEP want[k]; line = line " " told[key] " | " p[key] " |" }
		print line
	}
}

function mean(m, pages, s,    t, key, x) {
	key = m SUBSEP pages SUBSEP s
	for (t in topic) if ((key, t) in count) x += sum[key, t] / count[key, t]
	of[m, pages, s] = topics[key] ? x / topics[key] : 0
	if (of[m, pages, s] > best[m, pages]) best[m, pages] = of[m, pages, s]
}

function cell(m, pages, s, digits,    x) {
	x = number(of[m, pages, s], digits)
	return of[m, pages, s] == best[m, pages] ? "**" x "**" : x
}

# number has no zero before the point, and a minus that is one.
function number(x, digits,    s, minus) {
	if (x == 0) x = 0 # which -0 is not
	minus = x < 0 ? "−" : ""
	s = sprintf("%." digits "f", x < 0 ? -x : x)
	if (s + 0 == 0) minus = ""
	sub(/^0\./, ".", s)
	return minus s
}

function sign(x, digits,    s) {
	s = number(x, digits)
	return (s ~ /^−/ ? "" : "+") s
}
