# The strategies of a lab by one measure: the mean of each web, and the difference to a
# baseline over all topics, with an interval of 95 in 100.
#
#   awk -f papers.awk -v base=lm10-bfs -v measure=auc -v pages=300 LAB/values.csv
#
# With -v only=NAME webs of that name alone are seen, and with -v topics=PATTERN topics that match it. Webs whose names differ by a number at
# their end, as trail-1 and trail-2, share a column. Parts of a topic, which are named TOPIC@SITE, and repeats are averaged first, so that
# a topic counts once; a repeat in which a strategy failed counts for none. The interval is of 2,000 draws of as many topics, with
# replacement; a row that is marked * has an interval without 0. The effect is the mean
# difference by the deviation of differences over topics. Won are topics with more of the
# measure, with -v less=1 those with less of it. Where the lab gives bounds for what is
# not recorded, the last column is the upper one, and all others are of the lower. A repeat in
# which the measure does not apply to some strategy counts for none.
BEGIN { FS = ","; OFS = "," }
FNR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
$col["measure"] == measure && $col["pages"] == pages && kind($col["web"]) ~ only && $col["topic"] ~ topics && $col["value"] != "" {
	run = $col["web"] SUBSEP $col["topic"] SUBSEP $col["repeat"]; s = $col["scorer"]
	if (!(s in met)) { met[s]; names[++m] = s }
	if (!(run in made)) runs[++nruns] = run
	made[run]++
	value[s, run] = $col["value"]; upper[s, run] = $col["upper"]
	if ($col["upper"] != "") bounded = 1
	webs[kind($col["web"])]
}
END {
	for (r = 1; r <= nruns; r++) {
		if (made[runs[r]] < m) continue
		split(runs[r], part, SUBSEP)
		sub(/@.*/, "", part[2])
		key = part[1] SUBSEP part[2]
		if (!(key in seen)) { seen[key]; keys[++n] = key; web[key] = kind(part[1]) }
		for (k = 1; k <= m; k++) { sum[names[k], key] += value[names[k], runs[r]]; above[names[k], key] += upper[names[k], runs[r]] }
		count[key]++
	}
	nw = 0
	for (w in webs) order[++nw] = w
	for (i = 1; i <= nw; i++) for (j = i + 1; j <= nw; j++) if (order[j] < order[i]) { x = order[i]; order[i] = order[j]; order[j] = x }
	head = "strategy"
	for (i = 1; i <= nw; i++) head = head OFS order[i]
	print head, "all", "minus " base, "low", "high", "effect", "won", "lost", "told apart" (bounded ? OFS "upper" : "")
	for (k = 1; k <= m; k++) {
		s = names[k]; line = s; total = topics = 0
		for (i = 1; i <= nw; i++) { a[i] = c[i] = 0 }
		for (i = 1; i <= n; i++) {
			v = sum[s, keys[i]] / count[keys[i]]
			d[i] = v - sum[base, keys[i]] / count[keys[i]]
			for (j = 1; j <= nw; j++) if (order[j] == web[keys[i]]) { a[j] += v; c[j]++ }
			total += v
		}
		for (j = 1; j <= nw; j++) line = line OFS sprintf("%.3f", a[j] / c[j])
		mean = won = lost = 0
		for (i = 1; i <= n; i++) { mean += d[i] / n; won += (less ? -d[i] : d[i]) > 1e-9; lost += (less ? -d[i] : d[i]) < -1e-9 }
		dev = 0
		for (i = 1; i <= n; i++) dev += (d[i] - mean) ^ 2 / (n - 1)
		effect = dev > 0 ? sprintf("%+.2f", mean / sqrt(dev)) : ""
		top = 0
		for (i = 1; i <= n; i++) top += above[s, keys[i]] / count[keys[i]] / n
		seed = 1
		for (b = 1; b <= 2000; b++) {
			draw[b] = 0
			for (i = 1; i <= n; i++) draw[b] += d[1 + int(draws() * n)] / n
		}
		sort(draw, 2000)
		low = draw[50]; high = draw[1951]
		print line, sprintf("%.3f", total / n), sprintf("%+.3f", mean), sprintf("%+.3f", low), sprintf("%+.3f", high), effect, won, lost, (low > 1e-9 || high < -1e-9 ? "*" : "") (bounded ? OFS sprintf("%.3f", top) : "")
	}
}

# kind is the name of a web without the number at its end.
function kind(w) {
	sub(/-[0-9]+$/, "", w)
	return w
}

# draws is a number in (0,1), the same ones in every awk (Park & Miller 1988).
function draws() {
	seed = (seed * 16807) % 2147483647
	return seed / 2147483647
}

# sort orders v[1…n], by Shell's method.
function sort(v, n, gap, i, j, y) {
	for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
		for (i = gap + 1; i <= n; i++) {
			y = v[i]
			for (j = i; j > gap && v[j - gap] > y; j -= gap) v[j] = v[j - gap]
			v[j] = y
		}
}
