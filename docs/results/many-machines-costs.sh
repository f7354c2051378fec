#!/usr/bin/env bash
# Processor time of a crawl of 1,500 pages alone, as one worker that joins an engine, and as
# two: user and system seconds. Takes the program waggle and a folder for what it writes.
set -euo pipefail
waggle=$1 web=$(dirname "$(realpath "$0")")/many-machines-costs.py
cd "$2"
python3 "$web" 18932 /waggle-ca.pem Waggle-Record served & site=$!
trap 'kill $site' EXIT
TIMEFORMAT='%U %S'
crawl() {
	echo "$1 $({ time "$waggle" crawl http://s0.example/0 -o "$1" --keywords bees --through http://127.0.0.1:18932 \
		--delay 0 --workers 4 --pages 1500 --render never "${@:2}" >"$1.log" 2>&1; } 2>&1) $(grep -h '^pages' "$1.log")"
}
engine() {
	"$waggle" cluster engine "engine$1" --listen 127.0.0.1:18933 >engine.log 2>&1 & engine=$!
	until grep -q join engine.log; do sleep 1; done
	join=$(sed 's/.*--join //' engine.log | head -1)
}
for i in 1 2 3 4 5; do
	crawl "alone$i"
	engine "$i"
	crawl "joined$i" --join "$join"
	kill $engine; wait $engine || true
done
for i in 6 7; do
	engine "$i"
	crawl "first$i" --join "$join" --workers-min 2 & other=$!
	crawl "second$i" --join "$join" --workers-min 2
	wait $other
	kill $engine; wait $engine || true
done
