# Parts the report of the classics: classics.md keeps what is read, and the tables that are
# looked things up in go to files classics-*.csv, all of one kind in one, with the web and
# the pages in front.
#
#   awk -f classics.awk -v dir=. LAB/report.md > classics.md
#
# strategies, measures, papers: a line a web, budget and strategy. comparisons: besides a
# line a measure, the difference to the baseline with its interval. topics: a line a topic.
# judges, constants: those of the lab.
/^## / { flush_section(); section = heading = substr($0, 4); pages = ""; kind = section == "Constants" ? "constants" : "" }
/^### / {
	heading = substr($0, 5); kind = ""
	if (heading ~ /^At [0-9,]+ pages$/) kind = "strategies"
	else if (heading ~ / against .* at [0-9,]+ pages$/) kind = "comparisons"
	else if (heading ~ /^Hits of each topic at/) kind = "topics"
	else if (heading ~ /^All other measures at/) kind = "measures"
	else if (heading ~ /, as the papers measured$/) kind = "papers"
	else if (heading == "Each topic") kind = "judges"
	if (match(heading, /[0-9,]+ pages/)) { pages = substr(heading, RSTART, RLENGTH - 6); gsub(/,/, "", pages) }
	# A heading whose table goes has no text of its own.
	keep = kind == "" || kind == "strategies" && section == "All webs"
	inside = 0
	if (!keep) { noted[kind]; blank = 0; next }
}
/^## / { keep = kind == ""; inside = 0; if (kind != "") { print; print ""; noted[kind]; next } }
kind != "" && /^\|/ {
	n = cells($0, cell)
	if (!inside) { inside = 1; columns = n; for (i = 1; i <= n; i++) head[i] = cell[i] }
	else if ($0 ~ /^\|[-:|]+\|$/) ;
	else row()
	if (!keep) next
}
keep || !kind || !/^$/ && kind == "constants" && !/^\|/ { if (!($0 == "" && last == "")) print; last = $0; next }
# What stands between tables that went: charts.
/^!\[/ { print; print ""; last = "" }
END { flush_section(); files() }

function flush_section(    k, list) {
	for (k in noted) list[++count_kinds] = k
	if (count_kinds) {
		line = ""
		for (i = 1; i <= split("strategies comparisons topics measures papers judges constants", order, " "); i++)
			if (order[i] in noted) line = line (line ? ", " : "") "[classics-" order[i] ".csv](classics-" order[i] ".csv)"
		print "Tables: " line "."
		print ""
		last = ""
	}
	delete noted; count_kinds = 0
}

# cells splits a line of a table, without bold and escapes, figures as CSV has them.
function cells(line, out,    n, i, raw) {
	sub(/^\| */, "", line); sub(/ *\|$/, "", line)
	gsub(/\\\|/, "\001", line)
	n = split(line, raw, / *\| */)
	for (i = 1; i <= n; i++) {
		gsub(/\001/, "|", raw[i]); gsub(/\*\*/, "", raw[i]); gsub(/\\/, "", raw[i])
		gsub(/−/, "-", raw[i]); gsub(/‡ ?/, "", raw[i])
		if (raw[i] == "–") raw[i] = ""
		while (raw[i] ~ /^-?[0-9]+(,[0-9][0-9][0-9])+/) sub(/,/, "", raw[i])
		out[i] = raw[i]
	}
	return n
}

function quoted(s) {
	if (s ~ /[",]/) { gsub(/"/, "\"\"", s); s = "\"" s "\"" }
	return s
}

function row(    i, p) {
	if (kind == "topics") {
		for (i = 2; i <= n; i++) {
			p = cell[i]
			gsub(/[()]/, "", p); gsub(/ · /, " ", p)
			split(p, part, " ")
			rows[kind]++
			put("web", section); put("pages", pages); put("strategy", cell[1]); put("topic", head[i])
			put("hits", part[1]); put("H/U", part[2]); put("H/G", part[3])
		}
		return
	}
	rows[kind]++
	if (kind != "judges" && kind != "constants") {
		p = kind == "papers" ? heading : section
		sub(kind == "papers" ? " at .*" : ": against.*", "", p)
		put("web", p); put("pages", pages)
	}
	if (kind == "comparisons") { p = heading; sub(/ against.*/, "", p); put("measure", p) }
	for (i = 1; i <= n; i++) {
		p = cell[i]
		if (head[i] == "difference") {
			gsub(/[(…)]/, "", p); split(p, part, / +/)
			put("difference", part[1]); put("low", part[2]); put("high", part[3])
		} else if (head[i] == "won, tied, lost") {
			split(p, part, /, */)
			put("won", part[1]); put("tied", part[2]); put("lost", part[3])
		} else put(head[i], p)
	}
}

# put sets a column of the last row of a kind. Columns stand as they were first met.
function put(column, v) {
	if (!((kind, column) in known)) { known[kind, column]; columnsOf[kind, ++width[kind]] = column }
	value[kind, rows[kind], column] = v
}

function files(    k, name, r, i, line) {
	for (k in rows) {
		name = dir "/classics-" k ".csv"
		for (r = 0; r <= rows[k]; r++) {
			line = ""
			for (i = 1; i <= width[k]; i++) line = line (i > 1 ? "," : "") quoted(r ? value[k, r, columnsOf[k, i]] : columnsOf[k, i])
			print line > name
		}
		close(name)
	}
}
