#!/usr/bin/env bash
# Crawls a whole recorded web breadth-first by 1 worker and by 2, 4 and 8 (CREWS), each a process, and tells
# whether the pages are the same.
#
#   many-machines-same.sh WAGGLE WEB FOLDER [DELAY RATE [CREWS]]
#
# takes the program, a recorded web that waggle web build made, and a folder for what it writes. Crawls begin
# at the seeds of all topics, pause for DELAY between two requests to a host (100ms), and the server refuses
# what a host is asked above RATE requests a second (10, with bursts of as many). A line of a crawl has the number of workers,
# the pages of each, all of them, those that were fetched more than once, those that the crawl by one worker
# has and this one has not, and the other way round; at the end comes the server's own count of requests,
# with those that were limited. The exit code is 1 where pages differ or one was fetched twice. The first
# number of CREWS must be 1.
set -euo pipefail
waggle=$(realpath "$1") web=$(realpath "$2") delay=${4:-100ms} rate=${5:-10} crews=${6:-1 2 4 8}
cd "$3"
"$waggle" web serve "$web" --listen 127.0.0.1:18934 --host-rate "$rate" >served.log 2>&1 & site=$!
trap 'kill $site; wait $site || true; tail -1 served.log' EXIT
until curl -s -o /dev/null http://127.0.0.1:18934/; do sleep 1; done
{
	echo 'name: same'
	echo 'seeds:'
	awk '$1 == "seeds:" { on = 1; next } on && $1 == "-" { print "  - " $2; next } { on = 0 }' "$web/web.yaml" | sort -u
	echo 'topic: {keywords: [page]}'
	echo 'scorer: {name: breadth-first}'
	echo 'budget: {pages: 0}'
	echo 'scope: {max-depth: 1000000, max-host-queue: 1000000}'
	echo "politeness: {delay: $delay}"
	echo 'fetch: {workers: 8, through: "http://127.0.0.1:18934"}'
} >same.yaml
failed=0
for n in $crews; do
	pids=
	for i in $(seq "$n"); do
		"$waggle" crawl -f same.yaml -o "same-$n-$i" --join "engine-$n" --workers-min "$n" --render never >"same-$n-$i.log" 2>&1 & pids="$pids $!"
	done
	for p in $pids; do wait "$p" || [ $? = 4 ]; done # 4: it had no site
	pages=
	: >"fetched-$n"
	for i in $(seq "$n"); do
		sed -n 's/^{"kind":"fetched","at":"[^"]*","url":"\([^"]*\)".*/\1/p' "same-$n-$i/events.jsonl" >fetched
		pages="$pages $(wc -l <fetched)"
		cat fetched >>"fetched-$n"
	done
	LC_ALL=C sort "fetched-$n" | uniq -d >twice
	LC_ALL=C sort -u "fetched-$n" >"pages-$n"
	LC_ALL=C comm -23 pages-1 "pages-$n" >missing
	LC_ALL=C comm -13 pages-1 "pages-$n" >others
	echo "$n workers:$pages pages, $(wc -l <"pages-$n") in all, $(wc -l <twice) twice, $(wc -l <missing) missing, $(wc -l <others) others"
	if [ -s twice ] || [ -s missing ] || [ -s others ]; then failed=1; fi
	rm -r engine-"$n" "same-$n"-*
done
exit $failed
