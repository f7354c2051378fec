# How well the readers of docs/truth would do as judges, by the truth files:
#
#   waggle lab pool export ../truth qrels > qrels.txt
#   awk -f truth-reader.awk ../truth/pool.yaml webs/*/truth/*.txt ../truth/pool.tsv qrels.txt > truth-reader.csv
#
# A page is listed when its grade is at least 1, or at least 2. precision and recall are
# those of the pages that were read, each counted once; web-precision and web-recall are
# estimates for the whole web, where a page of stratum h stands for N_h/n_h documents:
#
#   precision = Σ_h N_h/n_h |listed ∩ relevant|_h / Σ_h N_h/n_h |listed|_h
#
# and recall likewise, of those relevant by the rules. se is the standard error of such a
# ratio r = a/b, linearised (Cochran 1977, section 6.3), z = a_i − r·b_i:
#
#   se² = Σ_h N_h² (1 − n_h/N_h) s²(z)_h / n_h / b²
#
# of the last line that of the mean of the topics, √Σ se² / topics.
BEGIN { OFS = "," }
FILENAME ~ /pool\.yaml$/ {
	if ($1 == "topics:") intopics = 1
	if (intopics && $1 == "-" && $2 == "web:") web = $3
	if (intopics && $1 == "name:") topic = web "/" $2
	if ($1 == "-" && $2 == "name:") stratum = $3
	if ($1 == "size:") size[topic, stratum] = $2
	next
}
FILENAME ~ /truth\/[^\/]*\.txt$/ {
	n = split(FILENAME, part, "/")
	sub(/\.txt$/, "", part[n])
	rule[part[n - 2] "/" part[n] " " $1]
	next
}
FILENAME ~ /pool\.tsv$/ {
	split($0, f, "\t")
	in_[f[1] "/" f[2] " " f[3]] = f[4]
	next
}
{ grade[$1 " " $3] = $4 }
function ratio(t, kind, least, weighted,    key, part, h, a, b, w, z, n, r) {
	A = B = 0
	delete sum; delete squares
	for (key in grade) {
		split(key, part, " ")
		if (part[1] != t) continue
		h = in_[key]
		w = weighted ? size[t, h] / read[t, h] : 1
		b = kind == "precision" ? grade[key] >= least : key in rule
		a = b && grade[key] >= least && key in rule
		A += w * a
		B += w * b
	}
	r = A / B
	for (key in grade) {
		split(key, part, " ")
		if (part[1] != t) continue
		b = kind == "precision" ? grade[key] >= least : key in rule
		z = (b && grade[key] >= least && key in rule) - r * b
		sum[in_[key]] += z
		squares[in_[key]] += z * z
	}
	SE = 0
	for (h in sum) {
		n = read[t, h]
		if (n > 1) SE += size[t, h] ^ 2 * (1 - n / size[t, h]) * (squares[h] - sum[h] ^ 2 / n) / (n - 1) / n
	}
	SE = sqrt(SE) / B
	return r
}
END {
	for (key in grade) {
		split(key, part, " ")
		read[part[1], in_[key]]++
		topics[part[1]]
	}
	print "topic,grade,precision,recall,web-precision,se,web-recall,se"
	fflush()
	for (least = 1; least <= 2; least++) {
		delete mean
		n = 0
		for (t in topics) {
			n++
			p = ratio(t, "precision", least, 0)
			q = ratio(t, "recall", least, 0)
			wp = ratio(t, "precision", least, 1); sp = SE
			wq = ratio(t, "recall", least, 1); sq = SE
			mean[1] += p; mean[2] += q; mean[3] += wp; mean[4] += sp ^ 2; mean[5] += wq; mean[6] += sq ^ 2
			printf "%s,%d,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f\n", t, least, p, q, wp, sp, wq, sq | "sort -t, -k2,2n -k1,1"
		}
		last[least] = sprintf("mean,%d,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f", least, mean[1] / n, mean[2] / n, mean[3] / n, sqrt(mean[4]) / n, mean[5] / n, sqrt(mean[6]) / n)
	}
	close("sort -t, -k2,2n -k1,1")
	print last[1]
	print last[2]
}
