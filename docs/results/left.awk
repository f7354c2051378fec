# How well the harvest so far tells how many relevant pages a crawl can still reach. By a
# lab's values and curves, every 100 pages from 200 on:
#
#   left = all relevant pages that can be reached − hits
#   x    = √((hits of the last 100 pages + 1) · (hits + 1))
#
# An interval from a·x to b·x is made of two webs, so that it holds nine in ten of their
# moments, and tried on the third. It prints for each web: moments, share within, below
# and above the interval, b/a, and the median of what is left.
#
#   awk -f left.awk LAB/values.csv LAB/curves.csv
BEGIN { FS = "," }
FNR == 1 { file++; for (i = 1; i <= NF; i++) col[$i] = i; next }
{ key = $col["web"] FS $col["topic"] FS $col["seeds"] FS $col["scorer"] FS $col["judge"] FS $col["repeat"] }
file == 1 {
	if ($col["pages"] == 1000 && $col["measure"] == "hits") hits[key] = $col["value"]
	if ($col["pages"] == 1000 && $col["measure"] == "recall") recall[key] = $col["value"]
	next
}
key != last { last = key; at = 100; h = 0; before = 0; n = 0 }
recall[key] > 0 {
	while ($col["pages"] >= at) {
		now = n == $col["pages"] ? $col["hits"] : h + ($col["hits"] - h) * (at - n) / ($col["pages"] - n)
		if (at >= 200) {
			web[++m] = $col["web"]; webs[$col["web"]]
			left[m] = hits[key] / recall[key] - now
			if (left[m] < 0) left[m] = 0
			x[m] = sqrt((now - before + 1) * (now + 1))
		}
		before = now; at += 100
	}
	n = $col["pages"]; h = $col["hits"]
}
END {
	print "web,moments,held,fewer,more,ratio,median"
	for (w in webs) {
		k = t = held = fewer = more = 0
		for (i = 1; i <= m; i++) if (web[i] != w) r[++k] = (left[i] + 1) / x[i]; else s[++t] = left[i]
		sort(r, k); sort(s, t)
		a = r[int(0.05 * k) + 1]; b = r[int(0.95 * k) + 1]
		for (i = 1; i <= m; i++) {
			if (web[i] != w) continue
			if (left[i] + 1 < a * x[i]) fewer++; else if (left[i] + 1 > b * x[i]) more++; else held++
		}
		printf "%s,%d,%.2f,%.2f,%.2f,%.0f,%.0f\n", w, t, held / t, fewer / t, more / t, b / a, s[int(t / 2) + 1]
	}
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
