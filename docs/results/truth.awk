# Means over topics of a lab's values.csv, for docs/results/truth-*.csv:
#
#   awk -v lab=NAME -f truth.awk NAME/values.csv
#
# One line for each web ("all" = both), budget, judge and strategy. A measure that
# a lab does not have is left empty.
BEGIN {
	FS = ","
	count = split("hits harvest auc of-bound of-bound-read recall bpref inf-ap harvest-condensed harvest-2 unread", names, " ")
}
FNR == 1 {
	for (i = 1; i <= NF; i++) column[$i] = i
	next
}
$column["value"] != "" {
	w[1] = $column["web"]; w[2] = "all"
	for (i = 1; i <= 2; i++) {
		key = w[i] "," $column["pages"] "," $column["judge"] "," $column["scorer"]
		keys[key]; m = key "," $column["measure"]
		sum[m] += $column["value"]; n[m]++
		if ($column["measure"] == "hits") topics[key]++
	}
}
END {
	for (key in keys) {
		printf "%s,%s,%d", lab, key, topics[key]
		for (i = 1; i <= count; i++) {
			m = key "," names[i]
			printf (n[m] ? "," sprintf("%.4g", sum[m] / n[m]) : ",")
		}
		print ""
	}
}
