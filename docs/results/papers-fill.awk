# Puts the tables of CSV files that papers.sh made into a document, in the places that
# comments name; what stood there as a table goes. Where there is no such file, it stays.
#
#   <!-- table papers-lm10-300.csv 3: lm10-bfs lm10-crf -->
#
# is the table of these strategies of a file of papers.awk, in this order, with three digits.
# Strategies that are all wanted are left out, with the colon. A file that holds several
# measures, as flagship-all.csv does, is asked for one: flagship-all.csv 1 hits 1000.
#
#   <!-- csv papers-lm10-costs.csv 2: strategy training deviation -->
#
# is any other file, with the columns of these names, or all of them. Blanks in names are
# written as _.
#
#   <!-- made lm10 control -->
#
# says of these labs, by papers-labs.csv, with which revision and settings they were run,
# how often, and how long it took: as a list, in the place of the list that stood there.
#
#   <!-- printed paths-departments.txt 2 -->
#
# is the second table of a file of Markdown that papers.sh made in its folder, WORK. A table without
# lines, or none, leaves what stands there.
#
#   awk -v work=WORK -f papers-fill.awk DOCUMENT.md > NEW.md
/^<!-- (table|csv|made|printed) .*-->$/ {
	print
	inside = ""
	text = $0
	sub(/^<!-- /, "", text); sub(/ *-->$/, "", text)
	names = ""
	if (i = index(text, ":")) { names = substr(text, i + 1); text = substr(text, 1, i - 1) }
	delete part
	split(text, part, " ")
	if (part[1] == "made") { if (made(text)) inside = "- " }
	else if (part[1] == "printed") { if (printed(work "/" part[2], part[3])) inside = "|" }
	else if (part[1] == "csv") { if (plain(part[2], part[3] + 0, names)) inside = "|" }
	else if (table(part[2], part[3] + 0, part[4], part[5], names)) inside = "|"
	next
}
inside != "" && index($0, inside) == 1 { next }
{ inside = ""; print }
END { exit failed }

# rows reads a CSV file into line[1…n], with head[NAME] the place of a column and first the
# number of columns in front that are no part of papers.awk's; 0 without the file.
function rows(file,    n, i, count, cell, text) {
	delete head; delete line
	count = -1
	while ((getline text < file) > 0) {
		if (++count == 0) { n = split(text, title, ","); for (i = 1; i <= n; i++) head[title[i]] = i }
		else line[count] = text
	}
	close(file)
	if (count < 0) print "papers-fill.awk: there is no " file ": what stands in its place stays" > "/dev/stderr"
	return count < 0 ? 0 : count
}

function table(file, digits, measure, pages, names,    n, i, k, cell, text, rule, row, order, count, first, all, from) {
	if (!(n = rows(file))) return 0
	first = head["strategy"]; all = head["all"]
	for (i = 1; i <= n; i++) {
		split(line[i], cell, ",")
		if (("measure" in head) && (cell[head["measure"]] != measure || cell[head["pages"]] != pages)) continue
		row[cell[first]] = line[i]
		order[++count] = cell[first]
	}
	if (names != "") count = split(names, order, " ")
	text = "| strategy |"; rule = "|---|"
	from = all - first > 2 ? all : all - 1 # of one web the mean of all is that of the web
	for (i = first + 1; i <= from; i++) { text = text " " title[i] " |"; rule = rule "--:|" }
	if ("upper" in head) { text = text " at most |"; rule = rule "--:|" }
	print text " " title[all + 1] " | interval | effect | won–lost |"
	print rule "--:|---|--:|---|"
	for (k = 1; k <= count; k++) {
		if (!(order[k] in row)) { print "papers-fill.awk: " file " has no " order[k] > "/dev/stderr"; failed = 1; continue }
		split(row[order[k]], cell, ",")
		text = "| " order[k] " |"
		for (i = first + 1; i <= from; i++) text = text " " number(cell[i], digits) " |"
		if ("upper" in head) text = text " " number(cell[head["upper"]], digits) " |"
		if ("minus " order[k] == title[all + 1]) { print text " | | | |"; continue }
		print text " " sign(cell[all + 1], digits) " | " sign(cell[head["low"]], digits) " … " sign(cell[head["high"]], digits) (cell[head["told apart"]] == "*" ? " *" : "") " | " ("effect" in head ? sign(cell[head["effect"]], 2) : "") " | " cell[head["won"]] "–" cell[head["lost"]] " |"
	}
	return 1
}

function plain(file, digits, names,    n, i, k, cell, text, rule, order, count) {
	if (!(n = rows(file))) return 0
	if (names != "") count = split(names, order, " ")
	else for (i in head) { order[head[i]] = i; count++ }
	text = rule = "|"
	for (k = 1; k <= count; k++) {
		gsub(/_/, " ", order[k])
		if (!(order[k] in head)) { print "papers-fill.awk: " file " has no column " order[k] > "/dev/stderr"; failed = 1; return 0 }
		text = text " " order[k] " |"
		split(line[1], cell, ",")
		rule = rule (cell[head[order[k]]] ~ /^[-+]?[0-9.]+$/ ? "--:|" : "---|")
	}
	print text; print rule
	for (i = 1; i <= n; i++) {
		split(line[i], cell, ",")
		text = "|"
		for (k = 1; k <= count; k++) { x = cell[head[order[k]]]; text = text " " (x ~ /^[-+]?[0-9]*\.[0-9]+$/ ? number(x, digits) : x) " |" }
		print text
	}
	return 1
}

function printed(file, nth,    text, n, count, i, kept, before) {
	while ((getline text < file) > 0) {
		if (text ~ /^\|/ && before !~ /^\|/) n++
		before = text
		if (n == nth && text ~ /^\|/) kept[++count] = text
	}
	close(file)
	if (count < 3) { print "papers-fill.awk: " file " has no table " nth ": what stands in its place stays" > "/dev/stderr"; return 0 }
	for (i = 1; i <= count; i++) print kept[i]
	return 1
}

function made(text,    n, i, k, cell, want, count, told) {
	if (!(n = rows("papers-labs.csv"))) return 0
	count = split(text, want, " ")
	for (k = 2; k <= count; k++)
		for (i = 1; i <= n; i++) {
			split(line[i], cell, ",")
			if (cell[head["lab"]] != want[k]) continue
			told = 1
			print "- `" cell[head["file"]] "`" (cell[head["file"]] == "papers-" want[k] ".yaml" || cell[head["file"]] == want[k] ".yaml" ? "" : ", as " want[k]) ": revision " cell[head["revision"]] (cell[head["settings"]] == "" ? "" : cell[head["changed"]] == "" ? ", settings " cell[head["settings"]] : ", settings changed by papers.sh to " cell[head["settings"]]) (cell[head["repeats"]] == "" ? "" : ", " cell[head["repeats"]] " repeat" (cell[head["repeats"]] == 1 ? "" : "s")) (cell[head["crawls"]] == "" ? "" : ", " cell[head["crawls"]] " crawls") (cell[head["seconds"]] == "" ? "" : ", " cell[head["seconds"]] " s of processor time")
		}
	return told
}

# number has no zero before the point, and a minus that is one.
function number(x, digits,    s, minus) {
	if (x == "") return ""
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
