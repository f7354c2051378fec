# The table of docs/truth/README.md on the accuracy of silver grades, from what waggle
# lab pool extend prints:
#
#   waggle lab pool extend ../truth --web webs/campus --web webs/manuals -o silver.tsv > silver.txt
#   awk -f truth-accuracy.awk silver.txt
/^from grade / {
	section = $3 + 0 $4
	next
}
NF == 9 && $1 != "topic" {
	if (section == "1read") topic[++topics] = $1
	for (i = 4; i <= 9; i++) cell[$1, section, i] = $i ~ /^[0-9]/ ? sprintf("%.2f", $i) : $i ~ /^-[0-9]/ ? sprintf("−%.2f", -$i) : $i
}
END {
	print "| topic | accuracy | precision | recall | κ | AUROC | ECE | web: accuracy | precision | recall | κ | AUROC | ECE | grade 2: κ | web: κ |"
	print "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
	for (t = 1; t <= topics; t++) {
		printf "| %s |", topic[t]
		for (i = 4; i <= 9; i++) printf " %s |", cell[topic[t], "1read", i]
		for (i = 4; i <= 9; i++) printf " %s |", cell[topic[t], "1web", i]
		printf " %s | %s |\n", cell[topic[t], "2read", 7], cell[topic[t], "2web", 7]
	}
}
