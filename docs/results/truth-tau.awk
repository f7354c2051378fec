# Kendall's τ of the order of strategies by AUC in two labs, for truth-tau.csv:
#
#   awk -f truth-tau.awk truth-read/values.csv truth-silver/values.csv
#
# One line for each web ("all" = both) and budget: τ of the means over topics, and the
# mean over topics of τ. Pairs that are equal in one of the labs count 0; strategies that
# one of them does not have are left out.
BEGIN { FS = "," }
FNR == 1 {
	lab++
	for (i = 1; i <= NF; i++) column[$i] = i
	next
}
$column["measure"] == "auc" {
	split($column["web"] " all", w, " ")
	t = $column["web"] "/" $column["topic"]
	scorers[$column["scorer"]]
	has[lab, $column["scorer"]]
	for (i = 1; i <= 2; i++) {
		key = w[i] "," $column["pages"]
		keys[key]; topics[key, t]
		sum[lab, key, $column["scorer"]] += $column["value"]
	}
	value[lab, $column["pages"] t, $column["scorer"]] = $column["value"]
}
function sign(x) { return x > 0 ? 1 : x < 0 ? -1 : 0 }
function tau(v, key,    a, b, n, s) {
	for (a in scorers) for (b in scorers) if (a < b) {
		n++
		s += sign((v[1, key, a] - v[1, key, b]) * (v[2, key, a] - v[2, key, b]))
	}
	return s / n
}
END {
	for (a in scorers) if (!((1, a) in has) || !((2, a) in has)) delete scorers[a]
	for (key in keys) {
		split(key, k, ",")
		n = s = 0
		for (kt in topics) {
			split(kt, x, SUBSEP)
			if (x[1] == key) { n++; s += tau(value, k[2] x[2]) }
		}
		printf "%s,%.2f,%.2f,%d\n", key, tau(sum, key), s / n, n
	}
}
