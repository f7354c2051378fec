# How often the forecast of the next 100 pages (event/forecast.go) held, by the curves of
# a lab: every 50 pages from 100 on, the hits of the next 100 are held against the
# interval. It prints for each web and for all: moments, share within the interval,
# below and above it, mean width, mean of forecast minus hits, and mean distance.
#
#   awk -f forecast.awk LAB/curves.csv
BEGIN { FS = ","; fade = 2 ^ (-10 / 50); share = 0.2 }
FNR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
{
	run = $col["web"] FS $col["topic"] FS $col["seeds"] FS $col["scorer"] FS $col["judge"] FS $col["repeat"]
	if (run != last) { done(); last = run; web = $col["web"]; n = 0 }
	x[++n] = $col["pages"]; y[n] = $col["hits"]
}
END { done(); print "web,moments,held,below,above,width,bias,distance"; for (w in moments) if (w != "all") line(w); line("all") }

function line(w, m) {
	m = moments[w]
	printf "%s,%d,%.3f,%.3f,%.3f,%.1f,%.2f,%.2f\n", w, m, held[w] / m, below[w] / m, above[w] / m, width[w] / m, bias[w] / m, distance[w] / m
}

# done goes through the run that was read, in steps of ten pages.
function done(i, at, k, before, hits, weight, total, ended, t, low, high, mean, a, b, p, sum, j) {
	if (n == 0) return
	ended = int(x[n] / 10); at = 1; before = 0
	for (k = 1; k <= ended; k++) {
		while (at < n && x[at] < 10 * k) at++
		total = at == 1 ? y[1] * 10 * k / x[1] : y[at - 1] + (y[at] - y[at - 1]) * (10 * k - x[at - 1]) / (x[at] - x[at - 1])
		inc[k] = total - before; before = total
	}
	weight = hits = 0
	for (k = 1; k + 10 <= ended; k++) {
		weight = weight * fade + 10; hits = hits * fade + inc[k]
		if (k < 10 || k % 5) continue
		t = 0
		for (i = 1; i <= 10; i++) t += inc[k + i]
		a = share * (0.5 + hits); b = share * (2 + weight - hits)
		if (b < 0.05) b = 0.05
		mean = 100 * a / (a + b); low = -1; sum = 0
		p = exp(lgamma(b + 100) + lgamma(a + b) - lgamma(a + b + 100) - lgamma(b))
		for (j = 0; j <= 100; j++) {
			sum += p
			if (low < 0 && sum >= 0.05) low = j
			high = j
			if (sum >= 0.95) break
			p *= (100 - j) / (j + 1) * (a + j) / (b + 99 - j)
		}
		add(web, t, low, high, mean); add("all", t, low, high, mean)
	}
	n = 0
}

function add(w, t, low, high, mean) {
	moments[w]++; width[w] += high - low; bias[w] += mean - t; distance[w] += mean > t ? mean - t : t - mean
	if (t < low - 0.5) below[w]++; else if (t > high + 0.5) above[w]++; else held[w]++
}

# lgamma is by Stirling's series after seven steps of the recurrence.
function lgamma(z, s) {
	s = 0
	while (z < 8) { s -= log(z); z++ }
	return s + (z - 0.5) * log(z) - z + 0.5 * log(2 * 3.141592653589793) + 1 / (12 * z) - 1 / (360 * z ^ 3) + 1 / (1260 * z ^ 5)
}
