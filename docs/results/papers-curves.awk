# Curves of the strategies of a lab: the mean over the topics of each web at every so many
# pages, as a line a web and strategy.
#
#   awk -f papers-curves.awk -v column=hits -v steps=12 -v only=a,b [-v topics=PATTERN] LAB/curves.csv
#
# The column is one of curves.csv (hits, similar, loss, loss_sum), steps the number of points
# of a web, and only the strategies that are wanted, all if it is left out; topics is a regular
# expression of the topics that are taken. Parts of a topic, which are named TOPIC@SITE, and
# repeats are averaged first.
BEGIN { FS = OFS = ","; some = split(only, list, ","); for (i = 1; i <= some; i++) wanted[list[i]] }
FNR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
(!some || $col["scorer"] in wanted) && (topics == "" || $col["topic"] ~ topics) {
	w = $col["web"]; n = $col["pages"] + 0
	if (n > last[w]) last[w] = n
	topic = $col["topic"]; sub(/@.*/, "", topic)
	row = w SUBSEP $col["scorer"]
	if (!(row in seen)) { seen[row]; rows[++m] = row }
	if (!((row, n, topic) in count)) names[row, n] = names[row, n] topic "\n"
	sum[row, n, topic] += $col[column]; count[row, n, topic]++
}
END {
	print "web", "strategy", "pages", column
	for (k = 1; k <= m; k++) {
		split(rows[k], part, SUBSEP)
		for (i = 1; i <= steps; i++) {
			n = int(last[part[1]] * i / steps + .5)
			if (!((rows[k], n) in names)) continue
			c = split(names[rows[k], n], name, "\n") - 1
			mean = 0
			for (j = 1; j <= c; j++) mean += sum[rows[k], n, name[j]] / count[rows[k], n, name[j]] / c
			print part[1], part[2], n, sprintf("%.3f", mean)
		}
	}
}
