# What the strategies of a lab cost, in processor time: training as the mean and deviation over
# crawls, in seconds, crawling in milliseconds a page and in seconds a crawl. Parsing is done
# once for all crawls, and not in it.
#
#   awk -f papers-costs.awk LAB/costs.tsv
#
# Crawls that share a model have each its training here. Of a crawl that was made twice the last counts.
BEGIN { FS = "\t"; OFS = "," }
NF > 6 { if (!($1 in last)) order[++n] = $1; last[$1] = $0 }
END {
	print "strategy", "crawls", "training s", "deviation", "ms a page", "s a crawl"
	for (i = 1; i <= n; i++) {
		count = split(last[order[i]], f, FS)
		s = f[2]
		if (!(s in crawls)) names[++m] = s
		crawls[s]++; pages[s] += f[4]; training[s] += f[5]; squares[s] += f[5] ^ 2
		for (j = 7; j <= count; j++) time[s] += f[j]
	}
	for (k = 1; k <= m; k++) {
		s = names[k]; mean = training[s] / crawls[s]
		spread = crawls[s] > 1 ? (squares[s] - crawls[s] * mean ^ 2) / (crawls[s] - 1) : 0
		print s, crawls[s], sprintf("%.3f", mean), sprintf("%.3f", sqrt(spread > 0 ? spread : 0)), sprintf("%.3f", 1000 * time[s] / pages[s]), sprintf("%.3f", time[s] / crawls[s])
	}
}
