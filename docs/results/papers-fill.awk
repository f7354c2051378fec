# Puts the tables of CSV files that papers.awk made into a document, in the places that
# comments name:
#
#   <!-- table papers-lm10-300.csv 3: lm10-bfs lm10-crf -->
#
# is the table of these strategies, in this order, with three digits; what stood there as a
# table goes. Strategies that are all wanted are left out, with the colon.
#
#   awk -f papers-fill.awk DOCUMENT.md > NEW.md
/^<!-- table / {
	print
	inside = 1
	text = $0
	sub(/^<!-- table /, "", text); sub(/ *-->$/, "", text)
	names = ""
	if (i = index(text, ":")) { names = substr(text, i + 1); text = substr(text, 1, i - 1) }
	split(text, part, " ")
	table(part[1], part[2] + 0, names)
	next
}
inside && /^\|/ { next }
{ inside = 0; print }
END { exit failed }

function table(file, digits, names,    n, i, k, head, cell, line, row, order, count, webs, base, bounded) {
	delete row
	count = 0
	while ((getline line < file) > 0) {
		n = split(line, cell, ",")
		if (!webs) {
			for (i = 1; i <= n; i++) head[i] = cell[i]
			for (webs = 1; head[webs + 1] != "all"; webs++) ;
			base = head[webs + 2]
			bounded = head[n] == "upper"
			continue
		}
		row[cell[1]] = line
		order[++count] = cell[1]
	}
	close(file)
	if (!webs) { print "papers-fill.awk: there is no " file > "/dev/stderr"; failed = 1; return }
	if (names != "") count = split(names, order, " ")
	line = "| strategy |"; rule = "|---|"
	for (i = 2; i <= webs; i++) { line = line " " head[i] " |"; rule = rule "--:|" }
	line = line (webs > 2 ? " all |" : ""); rule = rule (webs > 2 ? "--:|" : "")
	if (bounded) { line = line " at most |"; rule = rule "--:|" }
	print line " " base " | interval | effect | won–lost |"
	print rule "--:|---|--:|---|"
	for (k = 1; k <= count; k++) {
		if (!(order[k] in row)) { print "papers-fill.awk: " file " has no " order[k] > "/dev/stderr"; failed = 1; continue }
		n = split(row[order[k]], cell, ",")
		line = "| " order[k] " |"
		for (i = 2; i <= webs; i++) line = line " " number(cell[i], digits) " |"
		if (webs > 2) line = line " " number(cell[webs + 1], digits) " |"
		if (bounded) line = line " " number(cell[n], digits) " |"
		if ("minus " order[k] == base) { print line " | | | |"; continue }
		i = webs + 2
		print line " " sign(cell[i], digits) " | " sign(cell[i + 1], digits) " … " sign(cell[i + 2], digits) (cell[i + 6] == "*" ? " *" : "") " | " sign(cell[i + 3], 2) " | " cell[i + 4] "–" cell[i + 5] " |"
	}
}

# number has no zero before the point, and a minus that is one.
function number(x, digits,    s, minus) {
	minus = x ~ /^-/ ? "−" : ""
	s = sprintf("%." digits "f", minus == "" ? x : substr(x, 2))
	if (digits > 1) sub(/^0\./, ".", s)
	return minus s
}
function sign(x, digits,    s) {
	if (x == "") return ""
	s = number(x, digits)
	return (s ~ /^−/ ? "" : "+") s
}
