#!/bin/sh
# Makes the figures of lm10.md, cps02.md, vs05.md, htt14.md and bpm09.md again: builds the
# recorded webs, runs the labs, and makes of their values the tables papers-*.csv and the
# charts plots/papers-*.svg beside this script.
#
#   WEBS=DIR docs/results/papers.sh
#
# It can be stopped at any time: the next run goes on where the last one was. Each lab
# says how far it is, and the script which lab of how many. It takes some two hours of two
# cores that do nothing else.
#
#   WEBS     folder of the folders departments, campus and manuals, as waggle web build
#            takes them
#   WORK     folder of the built webs and of the labs (default: /tmp/waggle-papers); another
#            one is needed after a change of the code: what the old one has is kept
#   LABS     labs to run, in this order (default: all of them); LABS=none makes the tables
#            alone
#   WAGGLE   the program (default: waggle)
#   WORDNET  folder of the files of Debian's package wordnet-base (default:
#            /usr/share/wordnet)
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/waggle-papers}
waggle=${WAGGLE:-waggle}
labs=${LABS:-lm10 control control-hits htt14 bpm09 cps02 vs05 lm10-far bpm09-far htt14-far cps02-far lm10-bounds bpm09-bounds cps02-bounds variants chosen bpm09-long}

mkdir -p "$work/webs"
cd "$work"
for w in departments campus manuals; do
	[ -e "webs/$w/web.yaml" ] || "$waggle" web build "${WEBS:?the folder of the recorded webs}/$w" -o "webs/$w"
done

# Lab files are changed copies of those that are kept here: from far seeds, once with every
# place outside the record counted, and, of the control, without the hits among what teaches.
far='s/^repeats: .*/&\nseeds: [far]/'
bounds='s/^repeats: .*/repeats: 1\noutside: bounds/'
lab() { # NAME
	base=${1%-far} base=${base%-bounds} base=${base%-hits} change=
	case $1 in
	*-far) change=$far ;;
	*-bounds) change=$bounds ;;
	*-hits) change='s/folds: same,/folds: same-but-hits,/' ;;
	esac
	sed -e "$change" -e "s|/usr/share/wordnet|${WORDNET:-/usr/share/wordnet}|" "$here/papers-$base.yaml" >"papers-$1.yaml"
	"$waggle" lab run -f "papers-$1.yaml" -o "$1"
}
n=0
[ "$labs" = none ] || for l in $labs; do
	n=$((n + 1))
	echo "papers.sh: lab $n of $(echo $labs | wc -w), $l" >&2
	lab "$l"
done

# table NAME FOLDER BASELINE MEASURE PAGES: a table of a lab; that which is there stays where
# the lab has no results.
table() {
	if [ -e "$2/values.csv" ]; then
		awk -f "$here/papers.awk" -v base="$3" -v measure="$4" -v pages="$5" "$2/values.csv" >"$here/papers-$1.csv"
	else
		echo "papers.sh: $2 has no results: papers-$1.csv stays" >&2
	fi
}
for s in '' -far -bounds; do
	table lm10-300$s lm10$s lm10-bfs auc 300
	table bpm09-300$s bpm09$s bpm09-best-first-both auc 300
	table bpm09-1000$s bpm09$s bpm09-best-first-both hits 1000
	table cps02-300$s cps02$s best-first-page judged-loss 300
	table cps02-1000$s cps02$s best-first-page judged-loss 1000
done
for s in '' -far; do
	table htt14-300$s htt14$s htt14-hmm2 hits 300
	table htt14-1000$s htt14$s htt14-hmm2 hits 1000
done
table lm10-mesh lm10 lm10-bfs precision-mesh 300
table lm10-sigma lm10 lm10-bfs sigma 300
table lm10-apr lm10 lm10-bfs apr 300
table bpm09-similar bpm09 bpm09-best-first-both similar-pages 1000
table htt14-similar htt14 htt14-hmm2 similar-pages 1000
table cps02-hits cps02 best-first-page hits 1000
table vs05-100 vs05 vs05-afc hits 100
table vs05-auc vs05 vs05-afc auc 100
table control control lm10-bfs auc 300
table control-hits control-hits lm10-bfs auc 300
table variants variants crf auc 300
table chosen chosen crf auc 300
for n in 300 1000 3000 10000; do table bpm09-long-$n bpm09-long bpm09-best-first-both hits $n; done
