#!/bin/sh
# Makes the figures of lm10.md, cps02.md, vs05.md, htt14.md, bpm09.md, classics.md, apprentice.md,
# paths.md again, and the tables of paths-manuals.md as text: builds the recorded webs that the labs are of, runs the labs, makes of their
# values the files papers-*.csv, classics-*.csv, apprentice-*.csv, paths.csv and the charts,
# and puts their tables into the documents, with the revision and settings that made them. What
# is said of them there is left to whoever reads them; classics.md is the report of its lab. The
# figures of flagship.md are made by the commands at the head of its lab files, and flagship-all by LABS. How
# long each lab took is in papers-labs.csv.
#
#   WEBS=DIR sh docs/results/papers.sh [FOLDER]
#
# It may be started in any folder. What it makes goes into FOLDER, by default results in WORK: copies of
# the documents and files here, with what was made anew. Only FOLDER=docs/results changes the published ones.
#
# It can be stopped at any time: the next run goes on where the last one was, but what no lab
# file makes (paths-departments and the like, some minutes each) begins anew. Each lab says how far it is,
# and the script which lab of how many.
#
#   WEBS     folder of the folders departments, campus, manuals and trails, as waggle web
#            build takes them; trails needs zstdcat
#   WORK     folder of the built webs and of the labs (default: /tmp/waggle-papers); another
#            one is needed after a change of the code: what the old one has is kept
#   LABS     labs to run, in this order (default: all of them, which the script names for a name that it
#            does not know); LABS=none makes the tables alone
#   REPEATS  repeats of each lab (default: those of its file, five for most); a later run
#            with more adds to what is there
#   WORKERS  simulations at a time (default: one a core)
#   WAGGLE   the program (default: waggle)
#   REVISION revision of the program, where it cannot tell by itself
#   WORDNET  folder of the files of Debian's package wordnet-base (default:
#            /usr/share/wordnet)
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/waggle-papers}
waggle=${WAGGLE:-waggle}
[ $# -le 1 ] || { echo "papers.sh: give one folder for the results, or none" >&2; exit 2; }
every="lm10 lm10-data trail control control-hits htt14 bpm09 cps02 cps02-critic cps02-runs cps02-study vs05 headline headline-far cps02-headline cps02-headline-far vs05-headline vs05-headline-far variants chosen bpm09-long classics apprentice apprentice-repeats apprentice-topic paths paths-departments paths-many paths-manuals paths-manuals-adaptive paths-trails"
labs=${LABS:-$every}
for l in $labs; do
	case " none flagship-all $every " in
	*" $l "*) ;;
	*) echo "papers.sh: there is no lab $l: give some of $every flagship-all, or none" >&2; exit 2 ;;
	esac
done

# Places that the caller named are of the folder that the script was started in.
absolute() { case $1 in /*) echo "$1" ;; *) echo "$(pwd)/$1" ;; esac; }
case $waggle in */*) waggle=$(absolute "$waggle") ;; esac
[ -z "${WEBS:-}" ] || WEBS=$(absolute "$WEBS")
[ -z "${1:-}" ] || set -- "$(absolute "$1")"
mkdir -p "$work/webs"
cd "$work"
work=$(pwd)
out=${1:-$work/results}
mkdir -p "$out/plots"
out=$(cd "$out" && pwd)
# A lab that is not run leaves what is published of it.
[ "$out" = "$here" ] || for f in "$here"/*.md "$here"/*.csv "$here"/plots/*.svg; do
	to=$out${f#"$here"}
	[ -e "$to" ] || cp "$f" "$to"
done

# The positive control is on made-up webs, of three kinds: the pages of trail tell how far a
# target is in words of their own, those of plain in fewer and fewer words of the target's, and
# crowd is trail among pages of two more topics.
made=hops=3,growth=1.5,links=8,template=0,locality=0.3,near=0.5,anchors=0,signal=0.9,duplicates=0,boilerplate=0,redirects=0,dead=0,targets=0.01
web() { # NAME: builds it unless it is there
	[ ! -e "webs/$1/web.yaml" ] || return 0
	case $1 in
	trail-*) kind=pages=6000,hosts=10,topics=1,decay=1,trail=1 ;;
	plain-*) kind=pages=6000,hosts=10,topics=1,decay=0.6,trail=0 ;;
	crowd-*) kind=pages=18000,hosts=30,topics=3,decay=1,trail=1 ;;
	*)
		"$waggle" web build "${WEBS:?the folder of the recorded webs}/$1" -o "webs/$1" >&2
		return
		;;
	esac
	"$waggle" web build --name "$1" --synthetic "seed=${1#*-},$made,$kind" -o "webs/$1" >&2
}
webs() { # LAB.yaml: builds the webs that it is of
	for w in $(sed -n 's/^  - .*path: *webs\/\([a-z0-9-]*\).*/\1/p' "$1"); do web "$w"; done
}

# Lab files are changed copies of those that are kept here: the headline strategies with
# bounds, from near and from far seeds, without the hits among what teaches, by the critic as printed,
# and the apprentice and its baseline with the pages of each crawl.
lab() { # NAME
	base=papers-${1%-far} base=${base%-headline} base=${base%-hits} base=${base%-runs} base=${base%-critic} change=
	case $1 in
	headline | headline-far) base=papers-headline ;;
	*-headline | *-headline-far) change='s/^repeats: .*/&\nseeds: [near]\noutside: bounds/; /^ *# From here on near/,$d' ;;
	*-hits) change='s/folds: same,/folds: same-but-hits,/' ;;
	*-critic) change='s/^judges: .*/judges: [critic-printed]/' ;;
	*-runs) change='s/^judges: .*/judges: [critic-printed]/; s/^repeats: .*/repeats: 1\nkeep-runs: true/; /^ *# The recall crawler/,$d' ;;
	classics | flagship-all | apprentice* | paths) base=$1 ;;
	paths-* | lm10-data | cps02-study)
		[ ! -e "$1.txt" ] || return 0
		case $1 in
		lm10-data) webs "$here/papers-lm10.yaml" ;;
		cps02-study) for t in $studied; do web "${t%/*}"; done ;;
		paths-manuals*) web manuals ;;
		paths-trails) web trails ;;
		*) web departments ;;
		esac
		timed "$1.seconds" printing "$1" >"$1.new"
		echo "${REVISION:-$("$waggle" version | sed -n 's/.*(revision \([^)]*\)).*/\1/p')}" >"$1.revision"
		mv "$1.new" "$1.txt"
		return
		;;
	esac
	case $1 in *-far) far='s/^seeds: .*/seeds: [far]/' ;; *) far= ;; esac
	sed -e "${REPEATS:+s/^repeats: .*/repeats: $REPEATS/}" -e "$change" -e "s|/usr/share/wordnet|${WORDNET:-/usr/share/wordnet}|" "$here/$base.yaml" >"lab-$1.yaml"
	sed -i -e "$far" "lab-$1.yaml"
	webs "lab-$1.yaml"
	# What a run took that was killed, nobody kept.
	killed=
	[ ! -e "$1.running" ] || killed=yes
	: >"$1.running"
	ended=0
	timed "$1.seconds" "$waggle" lab run -f "lab-$1.yaml" -o "$1" ${WORKERS:+--workers "$WORKERS"} || ended=$?
	if [ -d "$1" ]; then
		cat "$1.seconds" >>"$1/seconds.txt"
		[ -z "${REVISION:-}" ] || echo "$REVISION" >"$1/revision"
	fi
	rm "$1.seconds" "$1.running"
	[ -z "$killed" ] || echo '?' >>"$1/seconds.txt"
	# 1 says that a strategy could not be taught somewhere, as the report tells.
	[ $ended -le 1 ] || exit $ended
}

# timed runs a command, and adds to a file the processor time that it took, in seconds.
timed() { # FILE COMMAND…
	seconds=$1 status=0
	shift
	times >"$seconds.times"
	"$@" || status=$?
	times >>"$seconds.times"
	# Lines 2 and 4 are what children took until then: 1m2.5s 0m3.1s.
	awk 'NR % 2 == 0 { s = 0; for (i = 1; i <= 2; i++) { split($i, t, "m"); s += 60 * t[1] + t[2] }; a[NR] = s }
		END { printf "%.1f\n", a[4] - a[2] }' "$seconds.times" >>"$seconds"
	rm "$seconds.times"
	return $status
}

# study crawls a topic best first by the page, and tells what stands around its links.
study() { # WEB TOPIC
	pages=3000 at=cps02-study/$1/$2
	[ "$1" != departments ] || pages=1500
	rm -rf "$at"
	mkdir -p "$at"
	"$waggle" web job "webs/$1" "$2" -n $pages >"$at/job.yaml"
	"$waggle" web serve "webs/$1" --listen 127.0.0.1:0 >"$at/serve.txt" 2>&1 &
	server=$!
	until through=$(sed -n 's/.* on \(http:[^ ]*\)$/\1/p' "$at/serve.txt") && [ -n "$through" ]; do
		kill -0 $server || exit 1
		sleep 0.2
	done
	crawled=0
	"$waggle" crawl -f "$at/job.yaml" -o "$at/crawl" --scorer best-first-page --workers 1 --through "$through" >&2 || crawled=$?
	kill $server
	wait $server || :
	[ $crawled = 0 ] || exit $crawled
	echo "$1, $2"
	"$waggle" train apprentice "$at/crawl" --scorer cps02-apprentice --study "$at/study"
}
studied="departments/course departments/faculty departments/student campus/databases campus/statistics campus/publication-pages manuals/encryption manuals/sql-queries"

# printing prints tables that are of no lab: of labelled paths, of links, and of what teaches (this needs Go).
printing() { # NAME
	case $1 in
	cps02-study) for t in $studied; do study "${t%/*}" "${t#*/}"; done ;;
	lm10-data)
		cp "$here/papers-lm10.yaml" lab-lm10-data.yaml
		(cd "$here/../.." && LAB="$work/lab-lm10-data.yaml" go test ./lab -run '^$' -bench TrainingData -benchtime 1x -timeout 0)
		;;
	paths-departments) "$waggle" lab paths --web webs/departments --topics course,faculty,project --repeats 3 ;;
	# As many paths as the paper has.
	paths-many) "$waggle" lab paths --web webs/departments --topics course,faculty,project --repeats 1 --goals 28 --wrong 16 ;;
	paths-manuals) "$waggle" lab paths --web webs/manuals --labels "$here/manuals-goals.tsv" --topics installation,index,tutorial ;;
	paths-manuals-adaptive)
		"$waggle" lab paths --web webs/manuals --labels "$here/manuals-goals.tsv" --topics installation,index,tutorial --strategies best-first-both,pathlearner-adaptive,pathlearner,pathlearner:endless=1
		;;
	paths-trails)
		zstdcat "${WEBS:?the folder of the recorded webs}/trails/paths.tsv.zst" >games.tsv
		"$waggle" lab paths --web webs/trails --games games.tsv
		;;
	*) return 2 ;;
	esac
}
n=0
[ "$labs" = none ] || for l in $labs; do
	n=$((n + 1))
	echo "papers.sh: lab $n of $(echo $labs | wc -w), $l" >&2
	lab "$l"
done

# made FOLDER CSV COMMAND…: what the command writes; a file that is there stays where the lab
# has no results.
made() {
	folder=$1 csv=$out/$2
	shift 2
	if [ -e "$folder/values.csv" ]; then
		"$@" >"$csv"
	else
		echo "papers.sh: $folder has no results: $csv stays" >&2
	fi
}
table() { # NAME FOLDER BASELINE MEASURE PAGES [WEB]
	case $4 in *loss*) less=1 ;; *) less= ;; esac
	made "$2" "$1.csv" awk -f "$here/papers.awk" -v base="$3" -v measure="$4" -v pages="$5" -v only="${6-}" -v less="$less" "$2/values.csv"
}
costs() { # NAME FOLDER
	made "$2" "$1.csv" awk -f "$here/papers-costs.awk" "$2/costs.tsv"
}
# The cells of a lab: files of earlier settings may lie beside them.
cells() { # FOLDER
	jq -r '.cells[]' "$1/facts.json" | while read -r c; do [ ! -e "$1/cells/$c" ] || echo "$1/cells/$c"; done
}
apr() { # FOLDER BASELINE PAGES
	jq -rn --arg base "$2" --argjson pages "$3" -f "$here/papers-apr.jq" $(cells "$1") >"$1/apr.csv"
	awk -f "$here/papers.awk" -v base="$2" -v measure=apr-baseline -v pages="$3" "$1/apr.csv"
}
# Several measures at several budgets, with both in front.
tables() { # FOLDER BASELINE MEASURES BUDGETS
	for m in $3; do
		for n in $4; do
			awk -f "$here/papers.awk" -v base="$2" -v measure="$m" -v pages="$n" "$1/values.csv" | sed -e "1s/^/measure,pages,/; 2,\$s/^/$m,$n,/"
		done
	done | awk 'NR == 1 || !/^measure,/'
}
# made_by is the line of a lab in papers-labs.csv. Seconds are processor time: of the program,
# where this script ran the lab, and else of crawls and training alone, in which each crawl
# has the training of its model; of a lab that was killed in between they are not known.
made_by() { # LAB
	revision=$(sed -n 's/^- Made with waggle of revision \([^,]*\), settings .*/\1/p' "$1/report.md")
	# A program that cannot tell leaves it to whoever ran it, and else it is what it was.
	[ -n "$revision" ] || revision=$(cat "$1/revision" 2>/dev/null || awk -F, -v lab="$1" '$1 == lab { print $3 }' "$out/papers-labs.csv")
	settings=$(sed -n 's/^- Made with.* settings \([0-9a-f]*\)\.$/\1/p' "$1/report.md")
	base=papers-${1%-far}.yaml
	[ -e "$here/$base" ] || base=papers-$(echo "${1%-far}" | sed 's/-\(headline\|hits\|runs\|critic\)$//').yaml
	[ -e "$here/$base" ] || base=$1.yaml
	crawls=$(cells "$1" | wc -l)
	repeats=$(sed -n 's/^repeats: //p' "$1/lab.yaml")
	if grep -qs '?' "$1/seconds.txt"; then
		seconds= of=
	elif [ -e "$1/seconds.txt" ]; then
		seconds=$(awk '{ s += $1 } END { printf "%.0f", s }' "$1/seconds.txt") of=program
	else
		seconds=$(awk -F'\t' '{ last[$1] = $0 } END { for (k in last) { n = split(last[k], f, FS); s += f[5]; for (i = 7; i <= n; i++) s += f[i] }; printf "%.0f", s }' "$1/costs.tsv") of=crawls
	fi
	# A changed copy of the file has settings of its own.
	changed=
	[ "$base" = "papers-$1.yaml" ] || [ "$base" = "$1.yaml" ] || changed=yes
	own=$(sed -n 's/^repeats: //p' "$here/$base")
	[ "$repeats" = "${own:-1}" ] || changed=yes
	echo "$1,$base,${revision:-–},$settings,$changed,$repeats,$crawls,$seconds,$of"
}

curve() { # NAME FOLDER COLUMN STEPS STRATEGIES
	made "$2" "$1.csv" awk -f "$here/papers-curves.awk" -v column="$3" -v steps="$4" -v only="$5" "$2/curves.csv"
}
chart() { # NAME FOLDER CHART
	[ ! -e "$2/plots/$3.svg" ] || cp "$2/plots/$3.svg" "$out/plots/$1.svg"
}
# drawn draws the lines of a CSV file of curves that is among the results.
drawn() { # CHART CSV COLUMNS STRATEGIES TITLE [FLAGS…]
	to=$out/plots/$1.svg csv=$out/$2.csv columns=$3 strategies=$4 title=$5
	shift 5
	[ ! -e "$csv" ] || "$waggle" lab chart "$csv" --columns "$columns" --strategies "$strategies" --title "$title" "$@" -o "$to"
}
table papers-lm10-300 lm10 lm10-bfs auc 300
# Marginal against Viterbi, and CRF against MEMM.
for s in lm10-memm lm10-crf memm crf; do table papers-lm10-pairs-$s lm10 $s auc 300; done
table papers-bpm09-300 bpm09 bpm09-best-first-both auc 300
table papers-bpm09-1000 bpm09 bpm09-best-first-both hits 1000
table papers-cps02-300 cps02 best-first-page judged-loss 300
for n in 300 1000; do
	table papers-cps02-departments-$n cps02 best-first-page judged-loss $n departments
	table papers-cps02-pairs-$n cps02 cps02-apprentice judged-loss $n departments
done
table papers-cps02-1000 cps02 best-first-page judged-loss 1000
table papers-htt14-300 htt14 htt14-hmm2 hits 300
table papers-htt14-1000 htt14 htt14-hmm2 hits 1000
table papers-vs05-100 vs05 vs05-afc hits 100
table papers-vs05-300 vs05 vs05-afc hits 300
table papers-vs05-auc vs05 vs05-afc auc 100
table papers-vs05-tokens vs05 vs05-pathlearner auc 100
for s in '' -far; do
	table papers-headline$s headline$s lm10-bfs hits 300
	table papers-cps02-headline$s cps02-headline$s best-first-page hits 300
	table papers-vs05-headline$s vs05-headline$s vs05-afc hits 100
done
for m in precision-mesh sigma; do table papers-lm10-$m lm10 lm10-bfs $m 300; done
# The paper's BFS goes by content, and the lab's measure apr divides by breadth-first.
made lm10 papers-lm10-apr.csv apr lm10 lm10-bfs 300
for l in lm10 htt14 bpm09; do costs papers-$l-costs $l; done
table papers-bpm09-similar bpm09 bpm09-best-first-both similar-pages 1000
table papers-htt14-similar htt14 htt14-hmm2 similar-pages 1000
table papers-cps02-critic-300 cps02-critic best-first-page judged-loss 300
table papers-cps02-critic-1000 cps02-critic best-first-page judged-loss 1000
table papers-cps02-hits cps02 best-first-page hits 1000
table papers-bpm09-alpha bpm09 hmm auc 300
# Topics that keywords define, by the rule of bpm09.md, and the others.
defined='bioinformatics|concurrency|course|databases|encryption|machine-learning|statistics|testing'
vague='faculty|graduate-admission|graphics-vision|installation|project|publication-pages|software-engineering|sql-queries|staff|student'
made bpm09 papers-bpm09-defined.csv awk -f "$here/papers.awk" -v base=bpm09-best-first-both -v measure=auc -v pages=300 -v topics="^($defined)(@|\$)" bpm09/values.csv
made bpm09 papers-bpm09-vague.csv awk -f "$here/papers.awk" -v base=bpm09-best-first-both -v measure=auc -v pages=300 -v topics="^($vague)(@|\$)" bpm09/values.csv
table papers-bpm09-alpha-1000 bpm09 hmm hits 1000
table papers-bpm09-pairs-300 bpm09 bpm09-hmm auc 300
table papers-bpm09-pairs-1000 bpm09 bpm09-hmm hits 1000
table papers-htt14-auc htt14 htt14-hmm2 auc 300
table papers-cps02-hits-300 cps02 best-first-page hits 300
table papers-control control lm10-bfs auc 300
table papers-control-hits control-hits lm10-bfs auc 300
for w in departments campus manuals; do
	for l in control control-hits; do table papers-$l-$w $l lm10-bfs auc 300 $w; done
done
for w in trail plain crowd; do
	made trail papers-$w.csv awk -f "$here/papers.awk" -v base=lm10-bfs -v measure=hits -v pages=300 -v only=$w trail/values.csv
done
for l in variants chosen; do
	table papers-$l $l crf auc 300
	for s in memm hmm; do table papers-$l-$s $l $s auc 300; done
done
for s in hmm2 lm10-crf; do table papers-variants-$s variants $s auc 300; done
for n in 300 1000 3000 10000; do table papers-bpm09-long-$n bpm09-long bpm09-best-first-both hits $n; done
table papers-bpm09-long-of-bound bpm09-long bpm09-best-first-both of-bound 10000
made lm10 papers-lm10-mesh.csv awk -F, -v OFS=, 'NR == 1 || $6 % 50 == 0 && $3 ~ /^(lm10-)?(bfs|hmm|crf|memm)(-viterbi|-words|-similarity)?$/ { print $1, $3, $6, $7, $8, $9, $10, $11 }' lm10/surface.csv
made lm10 papers-lm10-sigma-curve.csv awk -f "$here/papers-budgets.awk" -v measure=sigma lm10/values.csv
# What taught each model and what training chose, of the first repeat: K of X-means too. Cells of an
# older program do not say it.
models() { # FOLDER STRATEGIES NAMES
	jq -r --arg only "$2" --arg names "$3" '
		select(.repeat == 0 and .model and (.scorer | IN($only | split(",")[])))
		| [.web, .topic, .scorer, (.model as $m | $names | split(",")[] | $m[.] // "")] | join(",")' $(cells "$1") |
		sort | { echo "web,topic,strategy,$3"; cat; }
}
told() { # FOLDER: whether its cells say it
	[ -e "$1/models.csv" ] && [ "$(wc -l <"$1/models.csv")" -gt 1 ]
}
if told htt14; then models htt14 htt14-hmm2,htt14-hmm2-x-means sites,pages,targets,sequences,clusters-found >"$out/papers-htt14-clusters.csv"; fi
if told lm10; then models lm10 lm10-crf sites,pages,targets,sequences,words,anchor-words >"$out/papers-lm10-training.csv"; fi
if [ -e lm10-data.txt ]; then
	grep -E '^(web|departments|campus|manuals),' lm10-data.txt >"$out/papers-lm10-data.csv"
	awk -F, -v OFS=' | ' '
		function seen(name, x) { if (!((name, $1) in least) || x < least[name, $1]) least[name, $1] = x; if (x > most[name, $1]) most[name, $1] = x }
		function range(name, w) { return least[name, w] == most[name, w] ? most[name, w] : least[name, w] " to " most[name, w] }
		$3 !~ /^[0-9]+$/ { next }
		{ parts[$1]++; seen("targets", $3); seen("found", $4); seen("pages", $5); seen("sequences", $6); seen("seeds", $7) }
		END {
			print "| web | parts | targets | with pages as similar | pages that teach | sequences | seeds |"
			print "|---|--:|--:|--:|--:|--:|--:|"
			n = split("departments campus manuals", order, " ")
			for (i = 1; i <= n; i++) { w = order[i]; print "| " w, parts[w], range("targets", w), range("found", w), range("pages", w), range("sequences", w), range("seeds", w) " |" }
		}' lm10-data.txt >lm10-data.md
fi
# listed makes a CSV file of a table of a file of Markdown.
listed() { # CSV FILE N
	[ ! -e "$2" ] || awk -v n="$3" '
		/^\|/ && !inside { t++ }
		{ inside = /^\|/ }
		inside && t == n && !/^\|[-:|]*$/ {
			sub(/^\| */, ""); sub(/ *\|$/, "")
			k = split($0, cell, / *\| */)
			for (i = 1; i <= k; i++) printf "%s%s", cell[i] ~ /,/ ? "\"" cell[i] "\"" : cell[i], i < k ? "," : "\n"
		}' "$2" >"$out/$1.csv"
}
listed papers-vs05-teach paths-departments.txt 1
listed papers-vs05-names paths-departments.txt 2
listed papers-vs05-names-many paths-many.txt 2
listed papers-vs05-first-goal paths-departments.txt 3
listed papers-vs05-claims paths-departments.txt 4
if [ -e cps02-study.txt ]; then
	for f in accuracy offsets frontier; do
		for t in $studied; do
			[ "$t" != "${studied%% *}" ] || sed -n '1s/^/web,topic,/p' "cps02-study/$t/study/$f.csv"
			sed "1d; s|^|${t%/*},${t#*/},|" "cps02-study/$t/study/$f.csv"
		done >"$out/papers-cps02-study-$f.csv"
	done
	for f in accuracy frontier tags; do cp cps02-study/campus/databases/study/$f.svg "$out/plots/apprentice-databases-$f.svg"; done
	for f in gain rate; do cp cps02-study/departments/student/study/$f.svg "$out/plots/apprentice-student-$f.svg"; done
fi
if told vs05; then models vs05 vs05-pathlearner sites,pages,targets,sequences,words >"$out/papers-vs05-training.csv"; fi
bpm09=bpm09-best-first-both,bpm09-best-first-page,bpm09-best-first-anchor,bpm09-hmm,bpm09-hmm-centroid-page,bpm09-hmm-centroid-both
curve papers-htt14-curves htt14 hits 10 htt14-hmm2,htt14-hmm,hmm2,bayes-cluster-like,bayes-page-like,knn-page-like
curve papers-bpm09-curves bpm09 hits 10 ''
for t in defined vague; do
	eval "topics=\$$t"
	made bpm09 papers-bpm09-$t-curves.csv awk -f "$here/papers-curves.awk" -v column=hits -v steps=10 -v only=$bpm09 -v topics="^($topics)(@|\$)" bpm09/curves.csv
done
curve papers-bpm09-similar-curves bpm09 similar 10 ''
curve papers-bpm09-long-curves bpm09-long hits 20 ''
curve papers-cps02-loss cps02 loss 10 ''
curve papers-vs05-curves vs05 hits 12 ''
if [ -e cps02-runs/values.csv ]; then jq -rs -f "$here/papers-runs.jq" cps02-runs/runs/*.best-first-page.* cps02-runs/runs/*.cps02-apprentice.* >"$out/papers-cps02-topics.csv"; fi
curve papers-control-curves control hits 10 lm10-bfs,lm10-crf,lm10-memm,lm10-hmm,crf,memm,best-first-both,breadth-first
# Each figure of a paper that has lines, with the systems that it shows.
lm10=lm10-bfs,lm10-crf,lm10-memm,lm10-hmm,crf,memm
drawn papers-lm10-mesh papers-lm10-mesh precision_0.5,precision_0.65,precision_0.8 $lm10 "Precision by similarity" --percent
drawn papers-lm10-viterbi papers-lm10-mesh precision_0.5 lm10-bfs,lm10-crf,lm10-crf-viterbi,crf,crf-viterbi,memm,memm-viterbi "Marginal probability and Viterbi" --percent
for m in crf memm; do
	drawn papers-lm10-$m-features papers-lm10-mesh precision_0.5 lm10-$m,lm10-$m-words,lm10-$m-similarity,$m,$m-words,$m-similarity "Which features" --percent
done
drawn papers-lm10-sigma papers-lm10-sigma-curve sigma $lm10,best-first-both,breadth-first "Maximum average similarity"
drawn papers-control papers-control-curves hits $lm10,best-first-both,breadth-first "Relevant pages, taught in the region that is crawled"
drawn papers-bpm09-classics papers-bpm09-curves hits bpm09-best-first-both,bpm09-best-first-page,bpm09-best-first-anchor,breadth-first,depth-first "Figure 4: classic crawlers"
drawn papers-bpm09-semantic papers-bpm09-curves hits bpm09-best-first-both,bpm09-semantic-synonym,bpm09-semantic-hypernym "Figure 5: semantic crawlers"
drawn papers-bpm09-learners papers-bpm09-curves hits bpm09-best-first-both,bpm09-hmm,bpm09-hmm-centroid-page,bpm09-hmm-centroid-both,breadth-first "Figure 6: crawlers that learn"
drawn papers-bpm09-defined papers-bpm09-defined-curves hits $bpm09 "Figure 7: topics that keywords define"
drawn papers-bpm09-vague papers-bpm09-vague-curves hits $bpm09 "Figure 8: the other topics"
drawn papers-htt14 papers-htt14-curves hits htt14-hmm2,htt14-hmm,bayes-cluster-like,bayes-page-like,knn-page-like "Relevant pages"
drawn papers-vs05 papers-vs05-curves hits vs05-afc,vs05-pathlearner,vs05-pathlearner-10,vs05-pathlearner-0,pathlearner,afc-approx,breadth-first "Goals"
drawn papers-cps02-loss papers-cps02-loss loss best-first-page,cps02-apprentice,cps02-recall,cps02-apprentice-online,cps02-online-100,apprentice-tempered,tempered-offline "Expected loss"

# The documents of the apprentice and of labelled paths.
apprentice() { # FOLDER FORM STRATEGIES [AWK ARGUMENTS…]
	lab=$1 form=$2 names=$3
	shift 3
	if [ -e "$lab/values.csv" ]; then
		awk -f "$here/apprentice.awk" -v form="$form" -v base=best-first-page -v names="$names" -v csv="$out/$lab.csv" \
			-v at="departments:300 departments:1000 campus:1000 campus:3000 manuals:1000 manuals:3000" "$@" "$lab/values.csv" >"$lab.md"
		for w in departments campus manuals; do
			for c in harvest loss; do
				[ "$lab" != apprentice-repeats ] || chart apprentice-$w-$c "$lab" $w-$c
			done
		done
	else
		echo "papers.sh: $lab has no results: $lab.csv stays" >&2
	fi
}
apprentice apprentice parts "best-first-page printed printed-median tempered tempered-fixed tempered-nameless tempered-offline recall"
apprentice apprentice-repeats topics "best-first-page printed tempered tempered-offline" -v topics="$out/apprentice-topics.csv"
apprentice apprentice-topic long "best-first-page printed printed-median printed-offline tempered-fixed tempered-offline recall fixed-plain fixed-anchor fixed-cocitation"
if [ -e paths/values.csv ]; then
	awk -f "$here/paths.awk" -v csv="$out/paths.csv" -v names="pathlearner breadth-first apprentice-tempered opic aggarwal backlink crf memm afc-approx best-first-both vs05-pathlearner vs05-afc" paths/values.csv paths/tests.csv >paths.md
fi

made flagship-all flagship-all.csv tables flagship-all waggle "hits auc" "300 1000"

# A lab without results here keeps its line.
for l in $every flagship-all; do
	if [ -e "$l/values.csv" ]; then
		made_by "$l"
	elif [ -e "$l.txt" ]; then
		case $l in
		lm10-data) what="BenchmarkTrainingData of lab" ;;
		cps02-study) what="waggle train apprentice" ;;
		*) what="waggle lab paths" ;;
		esac
		echo "$l,$what,$(cat "$l.revision"),,,,,$(awk '{ s += $1 } END { printf "%.0f", s }' "$l.seconds"),program"
	else
		grep "^$l," "$out/papers-labs.csv" 2>/dev/null || :
	fi
done >labs.new
awk -F, -v OFS=, 'BEGIN { print "lab", "file", "revision", "settings", "changed", "repeats", "crawls", "seconds", "of" }
	{ print; crawls += $7; seconds += $8 }
	END { print "all", "", "", "", "", "", crawls + 0, seconds + 0, "" }' labs.new >"$out/papers-labs.csv"

cd "$out"
if [ -e "$work/classics/report.md" ]; then
	awk -f "$here/classics.awk" -v dir=. "$work/classics/report.md" >classics.md
	cp "$work"/classics/plots/*.svg plots/
fi
for d in lm10 cps02 vs05 htt14 bpm09 apprentice paths paths-manuals; do
	awk -v work="$work" -f "$here/papers-fill.awk" $d.md >"$work/filled.md" && cp "$work/filled.md" $d.md
done
echo "papers.sh: the documents and files are in $out" >&2
