package parse

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// walk goes through a tree. The depth of the tree costs no stack.
func (w *walker) walk(doc *html.Node) {
	w.begin()
	for n := doc.FirstChild; n != nil; {
		inside := false
		switch n.Type {
		case html.TextNode:
			w.addText([]byte(n.Data))
		case html.ElementNode:
			inside = !w.enter(&start{atom: n.DataAtom, name: []byte(n.Data), foreign: n.Namespace != "", attrs: node{n}})
			if n.DataAtom == atom.Title && n.Namespace == "" {
				w.title(content(n))
			}
		}
		if inside && n.FirstChild != nil {
			n = n.FirstChild
			continue
		}
		for {
			if n.Type == html.ElementNode {
				w.leave()
			}
			if n.NextSibling != nil {
				n = n.NextSibling
				break
			}
			n = n.Parent
			if n == nil || n == doc {
				n = nil
				break
			}
		}
	}
	w.end()
}

// node gives the attributes of an element of a tree.
type node struct{ *html.Node }

func (n node) attr(key string) string {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			return n.Attr[i].Val
		}
	}
	return ""
}

func (n node) marks() (m marks) {
	for i := range n.Attr {
		if name, mark := markOf(len(n.Attr[i].Key)); mark != 0 && n.Attr[i].Key == name {
			m |= mark
		}
	}
	return m
}

func (n node) class() []byte { return firstWord([]byte(n.attr("class"))) }

// content is the text in a node that holds text only.
func content(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}
