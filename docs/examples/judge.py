#!/usr/bin/env python3
"""A judge for waggle: pages are relevant that say "bee" or "hive" often.

waggle writes a line of JSON for each page to the standard input, and reads a
line of JSON with its relevance, from 0 to 1, from the standard output.
"""
import json
import sys

for line in sys.stdin:
    page = json.loads(line)  # url, title, text
    words = (page["title"] + " " + page["text"]).lower().split()
    if not words:
        answer = {"error": "the page has no text"}  # its relevance is 0
    else:
        hits = sum(word.startswith(("bee", "hive")) for word in words)
        answer = {"relevance": min(1.0, 10 * hits / len(words))}
    print(json.dumps(answer), flush=True)  # without flush waggle would wait in vain
