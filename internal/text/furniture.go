package text

import "strings"

// FurnitureShare is the share of the pages of the web on which a word of
// Furniture is taken to occur.
const FurnitureShare = 0.2

// Furniture are the stems of words that stand on pages of every kind, because a
// page is a page and a site is somebody's: menus, dates, addresses, bylines,
// names of institutions. Texts that are no pages, such as those of which the
// table of document frequencies was made, hold them seldom, so that the table
// takes them for rare. They are no stop words: any of them can be a subject.
func Furniture(a Splitter) map[string]struct{} {
	set := make(map[string]struct{}, 400)
	for word := range strings.FieldsSeq(furnitureList) {
		for _, stem := range a.Words(word) {
			set[stem] = struct{}{}
		}
	}
	return set
}

const furnitureList = `
home page site website web webpage homepage portal main index sitemap map menu navigation nav search find
contact about imprint help faq support feedback back top next prev previous skip content contents overview introduction
login log logout sign register account profile user username password forgot admin settings member members
copyright rights reserved privacy policy terms conditions cookie disclaimer legal notice accessibility license
email mail phone telephone tel fax address office room hall street building box zip city state country usa hours location directions
news event events calendar blog post posted archive category tag comment reply share follow like subscribe newsletter press media feed rss
facebook twitter linkedin instagram youtube google github wikipedia wiki wordpress drupal powered theme
read more click here link links list all new latest recent upcoming current updated update last modified revision version history edit view
download file pdf doc ppt ps html htm xml txt zip gz kb mb image photo picture logo icon video print
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec
monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun date day week month year today
university college school department dept faculty institute institution center centre campus student undergraduate graduate alumni
staff people person professor dr phd prof research lab laboratory group team company inc ltd corp llc org com edu gov net www
resource information info general welcome see also use name title author language english note
default option example table section chapter part appendix reference document documentation manual guide tutorial copyright
`
