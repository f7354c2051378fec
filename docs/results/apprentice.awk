# The tables of apprentice.md, as Markdown on standard output and as CSV, from the values of
# a lab of which one strategy is the baseline:
#
#   awk -f apprentice.awk -v form=FORM -v base=best-first-page -v names="best-first-page printed" \
#       -v at="departments:300 campus:1000" -v csv=FILE [-v topics=FILE] LAB/values.csv
#
# FORM says how tables are laid out: long has a line for each web, budget and strategy, parts a
# line for each strategy with a column for each web and budget (expected loss, then hits), and
# topics a table for each web and budget with a line for each topic. Strategies and budgets come
# in the order in which they are named.
#
# Of each topic the repeats are averaged, and a repeat in which the baseline or the strategy
# failed counts for neither. Differences are the strategy minus the baseline; intervals are of 95 in 100, by 2,000
# draws of as many topics with replacement. A topic is lower where its expected loss is lower by
# .0005 at least, even where it differs by less.
BEGIN { FS = OFS = ","; measures["hits"]; measures["of-bound"]; measures["judged-loss"] }
FNR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
$col["value"] != "" && $col["measure"] ~ /^(hits|of-bound|judged-loss)$/ {
	place = $col["web"] ":" $col["pages"]
	value[$col["measure"], place, $col["topic"], $col["repeat"], $col["scorer"]] = $col["value"]
	if (!((place, $col["topic"]) in known)) { known[place, $col["topic"]]; topic[place, ++count[place]] = $col["topic"] }
	if ($col["repeat"] + 1 > repeats) repeats = $col["repeat"] + 1
}
END {
	strategies = split(names, name, " "); places = split(at, site, " ")
	if (csv) print "web", "pages", "strategy", "topics", "hits", "minus hits", "of bound", "minus of bound", "of bound low", "of bound high", "loss", "minus loss", "loss low", "loss high", "lower", "even", "in every repeat" > csv
	if (topics) print "web", "pages", "topic", "strategy", "loss", "hits", "minus loss", "least", "greatest", "minus hits", "in every repeat" > topics
	for (p = 1; p <= places; p++) for (k = 1; k <= strategies; k++) compare(site[p], name[k])
	if (form == "long") long()
	else if (form == "parts") { parts("judged-loss"); print ""; parts("hits") }
	else for (p = 1; p <= places; p++) { bytopic(site[p]); print "" }
}

# compare fills the tables of a strategy at one web and budget, and writes their lines.
function compare(where, s,    i, r, t, m, part, n, c, x, y, d, least, greatest, always, sums, told) {
	split(where, part, ":")
	n = 0
	for (i = 1; i <= count[where]; i++) {
		t = topic[where, i]; c = 0; always = 1
		sums["hits"] = sums["of-bound"] = sums["judged-loss"] = 0
		sums["base hits"] = sums["base of-bound"] = sums["base judged-loss"] = 0
		for (r = 0; r < repeats; r++) {
			if (!(("judged-loss", where, t, r, s) in value) || !(("judged-loss", where, t, r, base) in value)) continue
			c++
			for (m in measures) { sums[m] += value[m, where, t, r, s]; sums["base " m] += value[m, where, t, r, base] }
			d = value["judged-loss", where, t, r, s] - value["judged-loss", where, t, r, base]
			if (c == 1 || d < least) least = d
			if (c == 1 || d > greatest) greatest = d
			if (d > -1e-9) always = 0
		}
		if (!c) continue
		n++
		for (m in measures) { mean[m, n] = sums[m] / c; minus[m, n] = (sums[m] - sums["base " m]) / c }
		of[where, s, t] = number(mean["judged-loss", n], 3) " · " number(mean["hits", n], 1)
		if (s != base) of[where, s, t] = (always ? "**" : "") sign(minus["judged-loss", n], 3) (always ? "**" : "") " (" sign(least, 3) " … " sign(greatest, 3) ") · " sign(minus["hits", n], 1)
		lower[where, s] += minus["judged-loss", n] <= -.0005
		even[where, s] += minus["judged-loss", n] > -.0005 && minus["judged-loss", n] < .0005
		every[where, s] += s != base && always
		if (topics) print part[1], part[2], t, s, sprintf("%.4f", mean["judged-loss", n]), sprintf("%.1f", mean["hits", n]), sprintf("%+.4f", minus["judged-loss", n]), sprintf("%+.4f", least), sprintf("%+.4f", greatest), sprintf("%+.1f", minus["hits", n]), (s != base && always ? "yes" : "") > topics
	}
	tried[where, s] = n
	if (!n) return
	for (m in measures) {
		average[m, where, s] = gain[m, where, s] = 0
		for (i = 1; i <= n; i++) { average[m, where, s] += mean[m, i] / n; gain[m, where, s] += minus[m, i] / n }
		interval(m, n); low[m, where, s] = bottom; high[m, where, s] = top
	}
	if (csv) print part[1], part[2], s, n, sprintf("%.2f", average["hits", where, s]), sprintf("%+.2f", gain["hits", where, s]), sprintf("%.4f", average["of-bound", where, s]), sprintf("%+.4f", gain["of-bound", where, s]), sprintf("%+.4f", low["of-bound", where, s]), sprintf("%+.4f", high["of-bound", where, s]), sprintf("%.4f", average["judged-loss", where, s]), sprintf("%+.4f", gain["judged-loss", where, s]), sprintf("%+.4f", low["judged-loss", where, s]), sprintf("%+.4f", high["judged-loss", where, s]), lower[where, s], even[where, s], every[where, s] > csv
}

function long(    p, k, s, where, part) {
	print "| web, pages | strategy | hits | H/U against the baseline | expected loss against the baseline | lower on |"
	print "|---|---|--:|--:|--:|--:|"
	for (p = 1; p <= places; p++) {
		where = site[p]; split(where, part, ":")
		for (k = 1; k <= strategies; k++) {
			s = name[k]
			if (!tried[where, s]) continue
			print (k == 1 ? "| " part[1] ", " thousands(part[2]) " | " : "| | ") s " | " number(average["hits", where, s], 1) " | " (s == base ? "| | |" : between("of-bound", where, s) " | " between("judged-loss", where, s) " | " lower[where, s] " of " tried[where, s] " |")
		}
	}
}

# parts is a table of expected loss or of hits.
function parts(m,    p, k, s, where, part, line, rule) {
	line = "| strategy |"; rule = "|---|"
	for (p = 1; p <= places; p++) { split(site[p], part, ":"); line = line " " part[1] ", " thousands(part[2]) " |"; rule = rule "--:|" }
	print line; print rule
	for (k = 1; k <= strategies; k++) {
		s = name[k]; line = "| " s " |"
		for (p = 1; p <= places; p++) {
			where = site[p]
			if (!tried[where, s]) line = line " |"
			else if (m == "hits") line = line " " number(average["hits", where, s], 1) " · " number(average["of-bound", where, s], 3) " |"
			else if (s == base) line = line " " number(average[m, where, s], 3) " |"
			else {
				b = low[m, where, s] > 1e-9 || high[m, where, s] < -1e-9 ? "**" : ""
				line = line " " b sign(gain[m, where, s], 3) b " · " lower[where, s] " of " tried[where, s] " |"
			}
		}
		print line
	}
}

function bytopic(where,    i, j, k, t, sorted, line, rule, n) {
	n = count[where]
	for (i = 1; i <= n; i++) sorted[i] = topic[where, i]
	for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (sorted[j] < sorted[i]) { t = sorted[i]; sorted[i] = sorted[j]; sorted[j] = t }
	line = "| topic |"; rule = "|---|"
	for (k = 1; k <= strategies; k++) if (tried[where, name[k]]) { line = line " " name[k] " |"; rule = rule "--:|" }
	print line; print rule
	for (i = 1; i <= n; i++) {
		line = "| " sorted[i] " |"
		for (k = 1; k <= strategies; k++) if (tried[where, name[k]]) line = line " " of[where, name[k], sorted[i]] " |"
		print line
	}
	if (n) { row(where, "mean"); row(where, "lower on"); row(where, "H/U") }
}

function row(where, what,    k, s, line) {
	line = "| " what " |"
	for (k = 1; k <= strategies; k++) {
		s = name[k]
		if (!tried[where, s]) continue
		if (what == "mean") line = line " " (s == base ? number(average["judged-loss", where, s], 3) " · " number(average["hits", where, s], 1) : between("judged-loss", where, s) " · " sign(gain["hits", where, s], 1)) " |"
		else if (what == "H/U") line = line " " (s == base ? number(average["of-bound", where, s], 3) : sign(gain["of-bound", where, s], 3)) " |"
		else line = line " " (s == base ? "" : lower[where, s] " of " tried[where, s] ", even on " even[where, s] "; in every repeat on " every[where, s]) " |"
	}
	gsub(/\|  \|/, "| |", line)
	print line
}

function between(m, where, s) {
	return sign(gain[m, where, s], 3) " (" sign(low[m, where, s], 3) " … " sign(high[m, where, s], 3) ")"
}

# interval sets bottom and top of the mean of minus[m, 1…n].
function interval(m, n,    i, b, draw) {
	seed = 1
	for (b = 1; b <= 2000; b++) {
		draw[b] = 0
		for (i = 1; i <= n; i++) draw[b] += minus[m, 1 + int(draws() * n)] / n
	}
	sort(draw, 2000)
	bottom = draw[50]; top = draw[1951]
}

# draws is a number in (0,1), the same ones in every awk (Park & Miller 1988).
function draws() {
	seed = (seed * 16807) % 2147483647
	return seed / 2147483647
}

# sort orders v[1…n], by Shell's method.
function sort(v, n,    gap, i, j, y) {
	for (gap = int(n / 2); gap > 0; gap = int(gap / 2))
		for (i = gap + 1; i <= n; i++) {
			y = v[i]
			for (j = i; j > gap && v[j - gap] > y; j -= gap) v[j] = v[j - gap]
			v[j] = y
		}
}

function thousands(n) { return n >= 1000 ? int(n / 1000) "," sprintf("%03d", n % 1000) : n }

# number has no zero before the point, and a minus that is one.
function number(x, digits,    s, minus) {
	if (x == 0) x = 0 # which -0 is not
	minus = x < 0 ? "−" : ""
	s = sprintf("%." digits "f", x < 0 ? -x : x)
	if (s + 0 == 0) minus = ""
	if (digits > 1) sub(/^0\./, ".", s)
	return minus s
}

function sign(x, digits,    s) {
	s = number(x, digits)
	if (s !~ /[1-9]/) return "±" s
	return (s ~ /^−/ ? "" : "+") s
}
