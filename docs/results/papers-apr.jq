# Average precision relative to that of a baseline of the lab, as figure 15 of Liu & Milios
# 2010, from the cells of a lab:
#
#   jq -rn --arg base lm10-bfs --argjson pages 300 -f papers-apr.jq LAB/cells/*.json
#
# Precision by the cosine to a target, at each of the five thresholds, is averaged over the
# points of the curve up to so many pages and divided by that of the baseline on the same topic in the
# same repeat; then the mean is taken over the thresholds at which the baseline found any
# page. The lab's own measure apr divides by breadth-first. Columns are those of values.csv
# that papers.awk reads; where the baseline found nothing at any threshold there is no value.
def mean: if length == 0 then null else add / length end;
[inputs | select(.sweep) | .points as $at
	| {run: [.web, .topic, .seeds, .judge, .repeat], web, topic, scorer, repeat,
		precision: [.sweep[] | [range(0; $at | length) as $i | select($at[$i] >= 1 and $at[$i] <= $pages) | .[$i] / $at[$i]] | mean]}]
| ["web", "topic", "scorer", "repeat", "pages", "measure", "value", "upper"],
	(group_by(.run)[]
		| (map(select(.scorer == $base))[0].precision) as $theirs
		| select($theirs)
		| .[]
		| .precision as $ours
		| [.web, .topic, .scorer, .repeat, $pages, "apr-baseline",
			([range(0; $theirs | length) | select($theirs[.] > 0) | $ours[.] / $theirs[.]] | mean), ""])
| join(",")
