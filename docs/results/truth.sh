#!/bin/sh
# Makes the tables of truth.md again: builds the recorded webs, runs the labs, writes
# the CSV files beside this script and puts their tables into truth.md, and the accuracy
# of silver grades into docs/truth/README.md.
#
#   WEBS=DIR docs/results/truth.sh
#
# It can be stopped at any time: the next run goes on where the last one was. Of a lab
# that has no results the lines of the CSV files stay as they are.
#
#   WEBS     folder of the folders campus and manuals, as waggle web build takes them
#   WORK     folder of the built webs and of the labs (default: /tmp/waggle-truth)
#   LABS     labs to run, in this order (default: all of them, as below); LABS=none
#            makes the tables alone
#   WAGGLE   the program (default: waggle)
#   WORDNET  folder of the files of Debian's package wordnet-base (default:
#            /usr/share/wordnet)
#
# Another WORK is needed after a change of the labels or of the code: what the old one
# has is not made again. Webs and labs take 800 MB of disk.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
work=${WORK:-/tmp/waggle-truth}
waggle=${WAGGLE:-waggle}
labs=${LABS:-read rules old-examples judges-0 silver judges-1 judges-2}

mkdir -p "$work/results/webs"
ln -sfn "$here/../truth" "$work/truth"
cd "$work/results"
for w in campus manuals; do
	[ -e "webs/$w/web.yaml" ] || "$waggle" web build "${WEBS:?the folder of the recorded webs}/$w" -o "webs/$w"
done

# Lab files. Those that are not kept here are changed copies of those that are.
sed "s|/usr/share/wordnet|${WORDNET:-/usr/share/wordnet}|" "$here/truth.yaml" > truth-read.yaml
sed 's/^examples: read/examples: web/' truth-read.yaml > truth-old-examples.yaml
grep -v '^pool:' truth-read.yaml | sed 's/: read$/: web/' > truth-rules.yaml
for n in 0 1 2; do
	sed "s/^bad-examples: 0/bad-examples: $n/" "$here/truth-judges.yaml" > "truth-judges-$n.yaml"
done
cp "$here/truth-silver.yaml" truth-silver.yaml

[ "$labs" = none ] || for lab in $labs; do
	if [ "$lab" = silver ] && [ ! -e silver.tsv ]; then
		"$waggle" lab pool extend ../truth --web webs/campus --web webs/manuals -o silver.tsv > silver.txt
	fi
	"$waggle" lab run -f "truth-$lab.yaml" -o "truth-$lab"
done

# results prints the lines of a lab for a CSV file beside this script, sorted: by the
# awk script, or where the lab has no results those that the file has.
#
#   results CSV AWK NAME FOLDER
results() {
	if [ -e "$4/values.csv" ]; then
		awk -v lab="$3" -f "$here/$2" "$4/values.csv" | sort
	else
		echo "truth.sh: $4 has no results: $1 keeps its lines" >&2
		grep "^$3," "$here/$1"
	fi
}
judges() {
	if [ -e "$2/facts.json" ]; then
		jq -r --arg lab "$1" -f "$here/truth.jq" "$2/facts.json"
	else
		grep "^$1," "$here/truth-judges.csv"
	fi
}
orders() {
	if [ -e "$3/values.csv" ] && [ -e "$4/values.csv" ]; then
		awk -f "$here/truth-tau.awk" "$3/values.csv" "$4/values.csv" | sort | sed "s/^/$1,$2,/"
	else
		grep "^$1,$2," "$here/truth-tau.csv"
	fi
}
# bad is the folder of a lab with bad examples. The three are compared with one another, so
# they have results together or not at all.
bad() {
	if [ -e truth-judges-0/values.csv ] && [ -e truth-judges-1/values.csv ] && [ -e truth-judges-2/values.csv ]; then
		echo truth-judges-$1
	else
		echo none
	fi
}
means=lab,web,pages,judge,strategy,topics,hits,harvest,auc,of-bound,of-bound-read,recall,bpref,inf-ap,harvest-condensed,harvest-2,unread
mkdir -p csv
{
	echo $means
	for lab in rules old-examples read; do results truth-classics.csv truth.awk $lab truth-$lab; done
} > csv/truth-classics.csv
{
	echo $means
	results truth-guides.csv truth.awk judges truth-judges-0
	for n in 0 1 2; do results truth-guides.csv truth.awk bad-$n $(bad $n); done
} > csv/truth-guides.csv
{
	echo $means
	if [ -e truth-silver/values.csv ]; then
		results truth-silver.csv truth.awk silver truth-silver > csv/silver
		awk -F, 'NR == FNR { has[$5]; next } $1 == "read" && $5 in has' csv/silver csv/truth-classics.csv
		cat csv/silver
	else
		results truth-silver.csv truth.awk read truth-silver
		results truth-silver.csv truth.awk silver truth-silver
	fi
} > csv/truth-silver.csv
{
	echo lab,first,second,web,pages,measure,difference,won,lost,p
	for lab in rules old-examples read; do results truth-pairs.csv truth-pairs.awk $lab truth-$lab; done
} > csv/truth-pairs.csv
{
	echo lab,web,judge,bad,topics,precision,recall,auroc,ece
	for lab in rules old-examples read; do judges $lab truth-$lab; done
	for n in 0 1 2; do judges bad-$n $(bad $n); done
} > csv/truth-judges.csv
{
	echo first,second,web,pages,tau,mean-tau,topics
	orders read silver truth-read truth-silver
	orders rules read truth-rules truth-read
} > csv/truth-tau.csv
{
	echo topic,rules,old-examples,read,low,high
	if [ -e truth-rules/facts.json ] && [ -e truth-old-examples/facts.json ] && [ -e truth-read/facts.json ]; then
		jq -rn -f "$here/truth-reachable.jq" truth-rules/facts.json truth-old-examples/facts.json truth-read/facts.json
	else
		tail -n +2 "$here/truth-reachable.csv"
	fi
} > csv/truth-reachable.csv
"$waggle" lab pool export ../truth qrels --force -o qrels.txt
awk -f "$here/truth-rules.awk" webs/campus/truth/*.txt webs/manuals/truth/*.txt qrels.txt > csv/truth-rules.csv
awk -f "$here/truth-reader.awk" ../truth/pool.yaml webs/campus/truth/*.txt webs/manuals/truth/*.txt ../truth/pool.tsv qrels.txt > csv/truth-reader.csv
mv csv/*.csv "$here"

# A finding's last column is not made: it stands in truth-findings.tsv.
cd "$here"
awk -f truth-tables.awk truth-rules.csv truth-findings.tsv truth-pairs.csv truth-reachable.csv truth-classics.csv truth-silver.csv truth-tau.csv truth-judges.csv truth-guides.csv > "$work/tables.md"
awk -f truth-fill.awk "$work/tables.md" truth.md > "$work/truth.md"
mv "$work/truth.md" truth.md

if [ -s "$work/results/silver.txt" ]; then
	awk -f truth-accuracy.awk "$work/results/silver.txt" > "$work/accuracy.md"
	awk -f truth-fill.awk "$work/accuracy.md" ../truth/README.md > "$work/readme.md"
	mv "$work/readme.md" ../truth/README.md
fi
