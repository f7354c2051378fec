# Tables of docs/results/many-machines.md, of the values.csv of its lab: hits, the mean over
# the topics of a web, and their ratio to one worker with as many fetches at a time; and on
# how many topics there are more, as many and fewer.
#
#   awk -f many-machines.awk many-machines/values.csv
BEGIN { FS = "," }
$10 == "hits" && $11 != "" {
	cell = $5 SUBSEP $1 SUBSEP $9
	sum[cell] += $11
	topics[cell]++
	hits[cell, $3] = $11
	if (!(($1, $3) in topic)) { topic[$1, $3]; webOf[++nt] = $1; names[nt] = $3 }
	if (!($1 in web)) { web[$1]; webs[++nw] = $1 }
	if (!($5 in scorer)) { scorer[$5]; scorers[++ns] = $5 }
	if (!($9 in budget)) { budget[$9]; budgets[++nb] = $9 }
}
function mean(s, w, b) { return topics[s, w, b] ? sum[s, w, b] / topics[s, w, b] : 0 }
# base is one worker with as many fetches at a time: of "waggle 8 own price", "waggle 1x8".
function base(s,   part, n) {
	n = split(s, part, " ")
	return n > 1 && part[2] ~ /^[0-9]+$/ && part[2] > 1 ? part[1] " 1x" part[2] : part[1] " 1"
}
function wins(s, b,   t, one, other, more, same, fewer) {
	more = same = fewer = 0
	for (t = 1; t <= nt; t++) {
		one = s SUBSEP webOf[t] SUBSEP b SUBSEP names[t]
		other = base(s) SUBSEP webOf[t] SUBSEP b SUBSEP names[t]
		if (!(one in hits) || !(other in hits)) continue
		if (hits[one] > hits[other]) more++
		else if (hits[one] < hits[other]) fewer++
		else same++
	}
	return more ", " same ", " fewer
}
END {
	for (k = 1; k <= nb; k++) {
		b = budgets[k]
		printf "\n%d pages\n\n| |", b
		for (j = 1; j <= nw; j++) printf " %s | ratio |", webs[j]
		printf " mean ratio | more, as many, fewer |\n|---|"
		for (j = 1; j <= 2 * nw + 2; j++) printf "--:|"
		print ""
		for (i = 1; i <= ns; i++) {
			s = scorers[i]
			printf "| %s |", s
			all = n = 0
			for (j = 1; j <= nw; j++) {
				m = mean(base(s), webs[j], b)
				if (m > 0 && topics[s, webs[j], b]) {
					printf " %.1f | %.3f |", mean(s, webs[j], b), mean(s, webs[j], b) / m
					all += mean(s, webs[j], b) / m
					n++
				} else printf " %s | |", topics[s, webs[j], b] ? sprintf("%.1f", mean(s, webs[j], b)) : ""
			}
			if (n > 0) printf " %.3f | %s |\n", all / n, wins(s, b)
			else print " | |"
		}
	}
}
