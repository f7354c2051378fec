# Strategies in pairs, over the topics of a lab's values.csv, for truth-pairs.csv:
#
#   awk -v lab=NAME -f truth-pairs.awk NAME/values.csv
#
# difference is the mean over topics of the first minus the second; won and lost
# count topics; p is that of the exact permutation test, by which each difference
# could as well have had the other sign. It is not adjusted for the number of pairs.
BEGIN {
	FS = ","; OFS = ","
	pairs = split("best-first-both breadth-first,best-first-both shark-search-0.8,best-first-both shark-search-0.5,best-first-both best-first-page,best-first-both best-first-anchor,best-first-anchor best-first-page,best-first-tf best-first-both,best-n-first best-first-both,semantic-synonym best-first-both,semantic-hypernym best-first-both,semantic-hypernym semantic-synonym,infospiders-like best-first-both,shark-search-0.8 fish-search,shark-search-0.5 fish-search,backlink best-first-both,pagerank best-first-both,opic best-first-both,ache-like-soft best-first-both,ache-like-hard best-first-both,ache-like-soft best-first-page,anthelion-like best-first-both,aggarwal best-first-both,tagpath-bandit-like random,apprentice-tempered best-first-page,apprentice-tempered best-first-both", list, ",")
	measures = split("auc of-bound-read bpref", measure, " ")
	webs = split("all campus manuals", web, " ")
}
FNR == 1 {
	for (i = 1; i <= NF; i++) column[$i] = i
	next
}
$column["value"] != "" {
	topics[$1 " " $column["topic"]]
	budgets[$column["pages"]]
	value[$1 " " $column["topic"], $column["scorer"], $column["pages"], $column["measure"]] = $column["value"]
}
END {
	for (i = 1; i <= pairs; i++) for (n in budgets) for (m = 1; m <= measures; m++) for (w = 1; w <= webs; w++) {
		split(list[i], s, " ")
		count = won = lost = sum = 0
		for (t in topics) {
			if (web[w] != "all" && index(t, web[w] " ") != 1) continue
			if (!((t, s[1], n, measure[m]) in value) || !((t, s[2], n, measure[m]) in value)) continue
			d = value[t, s[1], n, measure[m]] - value[t, s[2], n, measure[m]]
			x[++count] = d; sum += d
			won += d > 1e-9; lost += d < -1e-9
		}
		if (count) print lab, s[1], s[2], web[w], n, measure[m], sprintf("%.4f", sum / count), won, lost, sprintf("%.4f", permutation(x, count, sum < 0 ? -sum : sum))
	}
}
function permutation(x, count, seen, sums, all, k, i, as) {
	sums[1] = 0; all = 1
	for (k = 1; k <= count; k++) {
		for (i = 1; i <= all; i++) { sums[all + i] = sums[i] - x[k]; sums[i] += x[k] }
		all *= 2
	}
	for (i = 1; i <= all; i++) as += (sums[i] < 0 ? -sums[i] : sums[i]) >= seen - 1e-12
	return as / all
}
