# How often as many relevant pages could still be reached as a crawl says at the least
# (Forecast.Least in event/forecast.go), by a lab's values and curves, every 100 pages
# from 200 on:
#
#   left = all relevant pages that can be reached − hits
#
# The bound is ⌊f·m − 1⌋, at least 0, where m is the mean of the next 100 pages. It prints
# for each web and for all, and for each f: moments, share with as many left, median of
# the bound, median of what is left.
#
#   awk -f least.awk LAB/values.csv LAB/curves.csv
BEGIN { FS = ","; fade = 2 ^ (-10 / 50); count = split("1 1.3 1.5 2 2.5", factor, " ") }
FNR == 1 { file++; for (i = 1; i <= NF; i++) col[$i] = i; next }
{ key = $col["web"] FS $col["topic"] FS $col["seeds"] FS $col["scorer"] FS $col["judge"] FS $col["repeat"] }
file == 1 {
	p = $col["pages"]
	if ($col["measure"] == "hits" && $col["value"] != "") hits[key, p] = $col["value"]
	if ($col["measure"] == "recall" && $col["value"] > 0 && p > most[key]) { most[key] = p; recall[key] = $col["value"] }
	next
}
!(key in recall) { next }
key != last {
	last = key; web = $col["web"]; webs[web]; all = hits[key, most[key]] / recall[key]
	x = y = before = pages = relevant = 0; next10 = 10
}
{
	while (next10 <= $col["pages"]) {
		now = y + ($col["hits"] - y) * (next10 - x) / ($col["pages"] - x)
		pages = pages * fade + 10; relevant = relevant * fade + now - before; before = now
		if (next10 >= 200 && next10 % 100 == 0) add(web, 100 * (0.5 + relevant) / (2.5 + pages), all > now ? all - now : 0)
		next10 += 10
	}
	x = $col["pages"]; y = $col["hits"]
}
END {
	print "web,factor,moments,held,bound,left"
	for (i = 1; i <= count; i++) { for (w in webs) line(w, i); line("all", i) }
}

function add(w, mean, left, m) {
	m = ++n[w]; means[w, m] = mean; lefts[w, m] = left
	m = ++n["all"]; means["all", m] = mean; lefts["all", m] = left
}

function line(w, i, m, b, held) {
	for (m = 1; m <= n[w]; m++) {
		b = int(factor[i] * means[w, m] - 1)
		bound[m] = b > 0 ? b : 0; rest[m] = lefts[w, m]
		if (rest[m] >= bound[m]) held++
	}
	sort(bound, n[w]); sort(rest, n[w])
	printf "%s,%s,%d,%.3f,%.0f,%.0f\n", w, factor[i], n[w], held / n[w], bound[int(n[w] / 2) + 1], rest[int(n[w] / 2) + 1]
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
