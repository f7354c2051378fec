#!/usr/bin/env bash
# Processor time, user and system seconds, of crawls of a made-up web of 60 sites: alone, as one
# worker that joins an engine, as two workers (two), and as two crawls that know nothing of each other,
# of half the pages each (pair): what two processes beside each other take without joining. Both are two and
# pair at the same time, so that both have the same load beside them.
#
#   many-machines-costs.sh WAGGLE FOLDER [PAGES [ROUNDS [CRAWLS]]]
#
# takes the program, a folder for what it writes, and 1500, 5 and "alone joined two pair" unless told
# otherwise. A line of a crawl has its name, user and system seconds and its pages; one of an engine,
# user and system seconds.
set -euo pipefail
waggle=$1 web=$(dirname "$(realpath "$0")")/many-machines-costs.py pages=${3:-1500}
cd "$2"
python3 "$web" 18932 /waggle-ca.pem Waggle-Record served $((pages / 20)) & site=$! engine=
trap 'kill $site $engine' EXIT
until curl -s -o /dev/null http://127.0.0.1:18932/; do sleep 1; done
TIMEFORMAT='%U %S'
crawl() {
	echo "$1 $({ time "$waggle" crawl http://s0.example/0 -o "$1" --keywords bees --through http://127.0.0.1:18932 \
		--delay 0 --workers 4 --render never "${@:2}" >"$1.log" 2>&1; } 2>&1) $(grep -h '^pages' "$1.log")"
	rm -r "$1"
}
engine() {
	rm -f engine.log
	touch engine.log
	"$waggle" cluster engine engine --listen 127.0.0.1:18933 >engine.log 2>&1 & engine=$!
	until grep -q join engine.log; do sleep 1; done
	join=$(sed 's/.*--join //' engine.log | head -1)
}
stop() {
	awk -v tick="$(getconf CLK_TCK)" '{ printf "engine %.2f %.2f\n", $14 / tick, $15 / tick }' "/proc/$engine/stat"
	kill $engine; wait $engine || true
	rm -r engine
	engine=
}
two() {
	crawl "first$i" --pages "$pages" --join "$join" --workers-min 2 & local other=$!
	crawl "second$i" --pages "$pages" --join "$join" --workers-min 2
	wait $other
}
pair() {
	crawl "one$i" --pages $((pages / 2)) & local other=$!
	crawl "other$i" --pages $((pages / 2)) --seed http://s30.example/0
	wait $other
}
for i in $(seq "${4:-5}"); do
	for how in ${5:-alone joined two pair}; do
		case $how in
		alone) crawl "alone$i" --pages "$pages" ;;
		joined) engine; crawl "joined$i" --pages "$pages" --join "$join"; stop ;;
		two) engine; two; stop ;;
		pair) pair ;;
		both) engine; pair & beside=$!; two; wait $beside; stop ;;
		esac
	done
done
