package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// helpExamples shows commands at work, by name, in the help of those whose own text
// does not.
func helpExamples() map[string]string {
	return map[string]string{
		"demo": `  waggle demo                      the Go documentation of this machine
  waggle demo --web debian -n 500  manuals of Debian packages, from many hosts`,
		"explain": `  waggle explain https://example.org/hives/ -o bees`,
		"open": `  waggle open                      begin a crawl
  waggle open bees
  waggle open crawls/ --no-browser --listen 127.0.0.1:8123`,
		"verify": `  waggle verify bees`,
		"repair": `  waggle repair bees
  waggle crawl -o bees --resume`,
		"web build": `  waggle web build bees -o bees-web                          from a crawl
  waggle web build warcs/ -o old-web --name "Bees, 2019"     from WARC files
  waggle web build --synthetic pages=20000,seed=1 -o made-up`,
		"web info": `  waggle web info bees-web`,
		"web serve": `  waggle web serve bees-web
  waggle crawl --through http://127.0.0.1:8080 --delay 0 -f job.yaml -o again`,
		"web job": `  waggle web info bees-web
  waggle web job bees-web bees >job.yaml
  waggle web serve bees-web &
  waggle crawl -f job.yaml -o again`,
		"lab run": `  waggle lab run -f lab.yaml -o results

with, in lab.yaml,

  webs:
    - {path: bees-web, budgets: [300, 1000]}
  scorers: [breadth-first, best-first-both, apprentice]
  baseline: breadth-first

The truth of a lab is that of its webs, or what readers found: waggle lab pool draw
draws pages of the webs, waggle lab read shows them to readers and keeps their
grades, and a lab is measured by these with

  truth: read
  pool: truth

waggle lab list --yaml prints a lab file with all that one can say.`,
		"lab report": `  waggle lab report results`,
		"lab list": `  waggle lab list
  waggle lab list --yaml >lab.yaml`,
		"lab paths":       `  waggle lab paths --web departments --topics faculty --repeats 5`,
		"train sequences": `  waggle train sequences bees --seed 1`,
		"train model": `  waggle train model bees --kind crf -o bees.model
  waggle train model --kind paths --paths paths.tsv --contact you@example.org -o paths.model`,
		"train inspect": `  waggle train inspect bees.model`,
		"topic import": `  waggle topic import --structure structure.rdf.u8.gz content.rdf.u8.gz -o dmoz.tax.gz
  waggle topic import pages/ -o mine.tax        a folder of example pages for each topic
  waggle topic import table.tsv -o mine.tax     lines of topic and address`,
		"topic prune": `  waggle topic prune dmoz.tax.gz -k 300 -o classes.tax`,
		"topic train": `  waggle topic train classes.tax -o dmoz.critic --contact you@example.org
  waggle crawl -o caves --critic dmoz.critic --focus /Recreation/Outdoors/Speleology …`,
		"topic show": `  waggle topic show classes.tax /Recreation --depth 3
  waggle topic show dmoz.critic --focus /Recreation/Outdoors`,
		"teach import": `  waggle teach import ~/.mozilla/firefox/PROFILE --site cs.example.edu -o paths.tsv
  waggle teach -o paths.tsv --contact you@example.org --open`,
		"teach show": `  waggle teach https://www.cs.example.edu/ --contact you@example.org --open
  waggle teach --web departments -o paths.tsv`,
	}
}

// showExamples adds the examples to the help.
func showExamples(app *kong.Application) {
	shown := helpExamples()
	for _, leaf := range app.Leaves(false) {
		if text, ok := shown[commandName(leaf)]; ok {
			leaf.Detail = strings.TrimSuffix(text+"\n\n"+leaf.Detail, "\n\n")
		}
		if strings.HasPrefix(leaf.Detail, " ") { // kong cuts the space in front of a help
			leaf.Detail = "For example:\n\n" + leaf.Detail
		}
	}
}

// commandName is how a command is called: "web build".
func commandName(n *kong.Node) string {
	if n.Parent == nil {
		return ""
	}
	return strings.TrimPrefix(commandName(n.Parent)+" "+n.Name, " ")
}
