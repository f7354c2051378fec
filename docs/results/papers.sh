#!/bin/sh
# Makes the figures of lm10.md, cps02.md, htt14.md and bpm09.md again: the labs, and from
# their values the tables papers-*.csv. It needs the recorded webs, built in webs/ beside
# this file (see hops.yaml), and Debian's package wordnet-base; it takes some 15 minutes on
# two cores. What was made is kept, so that a run that was stopped goes on.
#
#	sh papers.sh [WAGGLE]      the program; default waggle
set -eu
cd "$(dirname "$0")"
waggle=${1:-waggle}
for lab in papers-variants papers-chosen papers-apprentice papers-hops; do
	"$waggle" lab run -f $lab.yaml -o $lab
done
table() { # LAB BASELINE MEASURE PAGES
	awk -f papers.awk -v base="$2" -v measure="$3" -v pages="$4" "$1/values.csv"
}
table papers-variants crf auc 300 >papers-variants.csv
table papers-chosen crf auc 300 >papers-chosen.csv
table papers-hops lm10-bfs auc 300 >papers-hops.csv
table papers-hops htt14-hmm2 hits 300 >papers-hops-second-order.csv
table papers-hops bpm09-best-first-both hits 1000 >papers-hops-1000.csv
table papers-apprentice best-first-page judged-loss 300 >papers-apprentice-300.csv
table papers-apprentice best-first-page judged-loss 1000 >papers-apprentice-1000.csv
