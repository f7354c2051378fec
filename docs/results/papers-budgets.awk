# A measure at every budget of a lab: the mean over the topics of each web, parts of a topic
# and repeats averaged first.
#
#   awk -f papers-budgets.awk -v measure=sigma LAB/values.csv
BEGIN { FS = OFS = "," }
FNR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
$col["measure"] == measure {
	topic = $col["topic"]; sub(/@.*/, "", topic)
	row = $col["web"] OFS $col["scorer"] OFS $col["pages"]
	if (!(row in topics)) rows[++n] = row
	if (!((row, topic) in count)) topics[row] = topics[row] topic "\n"
	sum[row, topic] += $col["value"]; count[row, topic]++
}
END {
	print "web", "strategy", "pages", measure
	for (i = 1; i <= n; i++) {
		c = split(topics[rows[i]], name, "\n") - 1
		mean = 0
		for (j = 1; j <= c; j++) mean += sum[rows[i], name[j]] / count[rows[i], name[j]] / c
		print rows[i], sprintf("%.4f", mean)
	}
}
