// Package hollow recognises pages that hold nothing of what their address promises. Reason
// is for those that came with status 200: a notice that there is no such page, an advert
// for the name of the host, a wall that asks for consent or a login, a check whether one
// is a robot. Refusal is for those with status 401 and 403: what is behind the status.
//
// A page is told by its few words together with a phrase in its title or headings, or at the
// beginning of a piece of text; parked names and some logins by one anywhere in the text; a login also
// by a form for a password that stands alone. Beside sentences a short title says less, as an article
// may be on walls and notices. A page of many words is never hollow: one that explains such notices, or has
// a form in a corner, is a page like others.
package hollow

import (
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/waggle-crawler/waggle/web"
)

// Below how many terms a page is short enough to be hollow. A page's terms are its words
// without stop words, each occurrence counted.
//
// The bounds of the reasons, maxTelling, maxError and maxHollow are independent of the pages of
// hollow/testdata/campus.tsv; maxBegging is not. Where maxField and maxForm come
// from, and how well all do on pages of real webs, is in docs/results/hollow.md. No page of
// these is parked, asks for consent or checks for robots.
// minContent was chosen: of refused pages nothing is measured. So were minSentence and those below
// it: of the labelled pages that are rightly told, those without a field, a notice or a heading have
// at most 19 words of running text.
const (
	maxBlocked  = 150 // terms of a check for robots
	maxNotFound = 200 // terms of a notice that there is no such page
	maxParked   = 200 // terms of an advert for the name of the host
	maxConsent  = 150 // terms of a wall that asks for consent
	maxLogin    = 100 // terms of a wall that asks for a login
	maxForm     = 120 // the same, where a field for a password is there
	maxBegging  = 60  // terms of such a wall, or a check for robots, without a title that says so
	maxTelling  = 40  // terms of a notice that says in its text alone that there is no such page
	maxError    = 20  // terms of one that gives nothing but the number of an error
	maxField    = 50  // terms of such a wall that says so by nothing but a form for a password
	maxHollow   = 200 // terms of a hollow page of any reason
	maxBeg      = 200 // bytes of a leaf in which a phrase that begins it is looked for
	minContent  = 40  // terms from which on a document with status 403 is no notice of the server's own
	minSentence = 8   // words of a leaf outside links that is running text, and not a label
	minArticle  = 30  // words of running text from which on a title alone tells nothing
	minSubject  = 4   // words behind a colon in a title, from which on it is that of an article
	maxEnded    = 4   // words of a title or heading that counts by its end, beside running text
	minPhrase   = 5   // words of a phrase that no article has as its title
	maxForSale  = 12  // words of a leaf that offers the name of the host, beside running text
)

// kind is how pages of one reason are told.
type kind struct {
	reason web.Reason
	terms  int32 // the page has fewer, each occurrence counted
	// title are phrases of which one is a whole part of the title or a whole heading;
	// nil = anything will do.
	title map[string]bool
	// sole says that a heading counts only where it is the only one, and certain that no article has
	// such a title.
	sole, certain bool
	// ends are words with which the title or a heading may end in place of that, and starts those
	// with which it may begin; on a page of fewer than endTerms terms, 0 = as many as terms says.
	ends, starts []string
	endTerms     int32
	// requests are phrases of which one at the beginning of a leaf stands for a title, on a page of
	// fewer than few terms; demands are such phrases on a page with a field for a password, and notices
	// those that stand for a title and for text; all three are inOrder.
	requests, demands, notices []string
	few                        int32
	// number is below how many terms a leaf that begins with the number of an error stands for a title
	// and for text; 0 = it stands for nothing.
	number int32
	// text are phrases of which one is in the text, or a field that asks for a password is on
	// the page; nil = anything will do. buttons says that they count in a leaf as short as a button,
	// or as the beginning of one.
	text    []string
	buttons bool
	// account is below how many terms a field for the name of an account stands for text; 0 = it
	// does not.
	account int32
	// hints are pieces of which one is in each phrase of text: a text without any of them
	// has none of the phrases; nil = the phrases are looked for.
	hints []string
	// alone is below how many terms such a field stands for a title, where its form is all that
	// is on the page; 0 = the field says nothing.
	alone int32
}

// kinds are asked in their order.
var kinds = []kind{
	{reason: web.ReasonBlocked, terms: maxBlocked, title: set(
		"just a moment", "attention required", "access denied", "access to this page has been denied",
		"are you a robot", "are you human", "robot or human", "robot check", "security check", "human verification",
		"verify you are human", "pardon our interruption", "ddos-guard", "checking your browser",
		"one more step", "request blocked", "you have been blocked", "sorry, you have been blocked", "captcha", "bot verification",
		"access is denied", "verifying your browser", "verifying you are human", "security verification", "request rejected",
		"the request could not be satisfied", "unusual traffic", "you are being rate limited", "web page blocked",
		"zugriff verweigert", "accès refusé", "acceso denegado", "доступ запрещен", "доступ запрещён", "アクセスが拒否されました", "访问被拒绝",
	), few: maxBegging, notices: inOrder(
		"please enable js and disable any ad blocker", "checking your browser", "verifying you are human", "verify you are human",
		"verify that you are human", "please verify you are a human", "please verify that you are not a robot", "confirm you are not a robot",
		"confirm that you are not a robot", "enable javascript and cookies to continue", "our systems have detected unusual traffic", "sorry, you have been blocked",
		"you have been blocked", "performing security verification", "please complete the security check", "we have detected unusual activity",
		"we've detected unusual activity", "as you were browsing something about your browser",
	)},
	{reason: web.ReasonNotFound, terms: maxNotFound, title: set(append(notFoundTitles(),
		"404", "error 404", "404 error", "not found", "404 not found", "page not found", "404 page not found",
		"file not found", "the page cannot be found", "page does not exist", "this page does not exist", "page unavailable",
		"this page isn't available", "page no longer available", "sorry, this page isn't available", "oops! page not found",
		"we can't find that page", "we couldn't find that page", "the requested url was not found on this server",
		"seite nicht gefunden", "seite wurde nicht gefunden", "die seite wurde nicht gefunden", "fehler 404", "nicht gefunden",
		"page introuvable", "page non trouvée", "erreur 404", "página no encontrada", "error 404: página no encontrada",
		"страница не найдена", "ошибка 404", "ページが見つかりません", "お探しのページは見つかりませんでした", "页面不存在", "页面未找到", "找不到页面",
		"not found (#404", "the page you were looking for doesn't exist", "the page you were looking for doesn't exist (404",
	)...), ends: []string{" not found", " can't be found", " cannot be found", " could not be found", "nicht gefunden", " introuvable", " no encontrada", " не найдена"},
		endTerms: maxTelling, few: maxTelling, notices: inOrder(append(notFoundNotices(),
			"page not found", "no such page", "the page you requested", "the page you are looking for", "the page you're looking for", "the page you were looking for",
			"the requested page could not be found", "the requested url was not found", "this page could not be found", "sorry, the page", "sorry, this page",
			"sorry, we couldn't find", "sorry, we could not find", "we couldn't find the page", "we can't find the page", "oops! that page can't be found",
			"it looks like nothing was found at this location", "there is currently no text in this page",
			"die gewünschte seite", "die angeforderte seite", "la page demandée", "la page que vous", "la página solicitada", "la página que", "запрашиваемая страница",
			"お探しのページ", "您访问的页面",
		)...), number: maxError},
	{reason: web.ReasonParked, terms: maxParked, hints: []string{"domain", "dominio", "parked", "домен", "ドメイン", "域名", "sponsored listings"}, text: []string{
		"this domain is for sale", "this domain may be for sale", "buy this domain", "domain name is for sale",
		"this domain is parked", "domain is parked", "parked free", "this domain has expired", "the domain has expired",
		"this web page is parked", "domain has been registered and is parked", "this domain was recently registered",
		"domain may be for sale", "domain is for sale", "purchase this domain", "inquire about this domain", "offer on this domain",
		"domain is available for purchase", "sponsored listings",
		"domain steht zum verkauf", "domain zu verkaufen", "diese domain kaufen", "ce domaine est à vendre", "ce nom de domaine est à vendre",
		"este dominio está en venta", "домен продаётся", "домен продается", "このドメインは売り出し中", "此域名出售", "该域名正在出售",
	}},
	{reason: web.ReasonParked, terms: maxParked, certain: true, title: set(
		"account suspended", "this account has been suspended", "welcome to nginx", "iis windows server", "default web site page",
		"apache2 debian default page", "apache2 ubuntu default page", "domain default page", "future home of something quite cool",
	)},
	{reason: web.ReasonConsent, terms: maxConsent, sole: true, title: set(append(wordsOf(func(w wallWords) []string { return w.consent }),
		"before you continue", "we value your privacy", "your privacy choices", "cookie consent", "we use cookies",
		"consent", "your consent", "privacy settings", "your data, your choice",
		"wir schätzen ihre privatsphäre", "datenschutzeinstellungen", "ihre einwilligung", "bevor sie fortfahren", "cookie-einstellungen",
		"nous respectons votre vie privée", "avant de continuer", "votre vie privée", "valoramos su privacidad", "tu privacidad es importante",
	)...), starts: append(wordsOf(func(w wallWords) []string { return w.begun }), "before you continue to "), text: append(wordsOf(func(w wallWords) []string { return w.agree }),
		"accept all", "accept cookies", "we use cookies", "i agree", "reject all", "agree and continue", "akzeptieren", "zustimmen", "accepter", "accepto", "aceptar",
	), buttons: true},
	{reason: web.ReasonLogin, terms: maxLogin, sole: true, title: set(append(wordsOf(func(w wallWords) []string { return w.login }),
		"log in", "login", "log on", "sign in", "sign in to continue", "please log in", "please sign in", "login required",
		"sign in to your account", "log in to your account", "authentication required", "member login", "log in to continue",
		"anmelden", "anmeldung", "einloggen", "connexion", "se connecter", "identification", "iniciar sesión", "acceder",
		"вход", "войти", "авторизация", "ログイン", "サインイン", "登录", "登入",
		"lost password", "forgot password", "forgot your password", "forgotten password", "password reset", "reset password", "reset your password",
		"passwort vergessen", "mot de passe oublié", "contraseña olvidada",
	)...), ends: []string{" login", " log in", " sign in", " login page", " sign in page", " authentication", " anmeldung"}, few: maxBegging, requests: inOrder(
		"please login", "please log in", "please sign in", "not currently logged in", "you are not logged in", "bitte melden sie sich an", "veuillez vous connecter",
	), demands: inOrder(
		"login required", "password required", "authentication required", "this content is password protected", "this page is password protected",
	), notices: inOrder(append(wordsOf(func(w wallWords) []string { return w.needed }),
		"you must be logged in to", "you need to be logged in to", "you must log in to", "you need to log in to", "this article is for members", "this content is for members",
		"this post is for paid", "this post is for paying", "you do not have permission to view this page", "you do not have permission to access this page",
		"you are not authorized to view this page", "you are not authorized to access this page", "log in to continue", "sign in to continue", "subscribe to continue reading",
		"sie müssen sich anmelden", "sie müssen angemeldet sein", "vous devez être connecté", "debe iniciar sesión", "debes iniciar sesión", "необходимо войти",
		"ログインしてください", "请先登录",
	)...), alone: maxField, account: maxBegging, text: append(wordsOf(func(w wallWords) []string { return w.password }),
		"password", "passwort", "kennwort", "mot de passe", "contraseña", "пароль", "パスワード", "密码", "密碼", "single sign-on", "passkey",
	)},
}

// Reason says why a page is hollow, "" for a page that is not.
func Reason(p *web.Page) web.Reason {
	var terms int32
	for i := range p.Terms {
		if terms += p.Terms[i].Body; terms >= maxHollow {
			return ""
		}
	}
	title, headings := titleParts(p.Title), headingParts(p)
	text := &pageText{page: p, terms: terms, title: title, headings: headings, running: runningWords(p)}
	text.sure, text.notice = sureParts(p.Title, title, headings)
	for i := range kinds {
		if kinds[i].fits(text) {
			return kinds[i].reason
		}
	}
	return ""
}

// pageText is the text of a page, in pieces that are tidy.
type pageText struct {
	page     *web.Page
	terms    int32
	title    []string // parts
	sure     []string // those of title that may stand for the whole page
	notice   string   // the one that does so only where the page says nothing else
	headings []string
	running  int // words of running text, counted up to minArticle

	// Read when first needed: few pages need them.
	opened   bool     // the next two are read
	openings []string // beginnings of leaves
	texts    []string // of these, those that are no heading
	text     string   // all of it in lower case
}

// beginnings are those of the leaves, with headings or without.
func (s *pageText) beginnings(headings bool) []string {
	if !s.opened {
		s.opened = true
		s.openings = openingsOf(s.page, s.headings)
		s.texts = slices.DeleteFunc(slices.Clone(s.openings), func(text string) bool { return slices.Contains(s.headings, text) })
	}
	if headings {
		return s.openings
	}
	return s.texts
}

// begins tells whether a leaf begins with one of some phrases, which are in order. Beside running
// text a heading does not count, as an article may have such a heading.
func (s *pageText) begins(phrases []string) bool {
	return len(phrases) > 0 && begins(s.beginnings(s.running < minArticle), phrases)
}

// lower is the text in lower case.
func (s *pageText) lower() string {
	if s.text == "" {
		s.text = lowerText(s.page)
	}
	return s.text
}

// fits tells whether a page is hollow for the reason of the kind.
func (k *kind) fits(s *pageText) bool {
	field := s.page.Password && k.alone > 0
	account := s.page.Account && s.terms < k.account
	if s.terms >= k.terms && !(field && s.terms < maxForm) {
		return false
	}
	notice := s.terms < k.few && s.begins(k.notices) || s.terms < k.number && numbered(s.beginnings(true))
	notice = notice || k.number > 0 && s.namesItself()
	walled := k.reason == web.ReasonConsent && s.terms < maxBegging && asksForCookies(s.title, s.headings, s.beginnings(false))
	named := notice || walled || k.title == nil || field && s.page.PasswordAlone && s.terms < k.alone ||
		s.terms < k.few && s.begins(k.requests) || field && begins(s.beginnings(true), k.demands) || k.titled(s, field || account)
	if !named {
		return false
	}
	if k.text == nil || field || account || notice || walled {
		return true
	}
	switch {
	case k.buttons:
		return slices.ContainsFunc(s.page.Leaves, func(l web.Leaf) bool { return k.onButton(opening(l), s) })
	case k.title == nil && s.running >= minArticle:
		return k.says(strings.Join(slices.Concat(s.title, s.headings), " ")) ||
			k.says(s.lower()) && slices.ContainsFunc(s.page.Leaves, func(l web.Leaf) bool { return wordsIn(l.Text) <= maxForSale && k.says(strings.ToLower(l.Text)) })
	}
	return k.says(s.lower())
}

// titled tells whether a part of the title, or a heading, says that a page is of the kind. Beside
// running text, and without a field for an account, it says less: an article may be on that very
// thing, and then a text says so, too, which begins so, or the phrase is none for a title.
func (k *kind) titled(s *pageText, field bool) bool {
	parts := s.sure
	if field {
		parts = s.title
	}
	if s.running == 0 && s.terms < maxTelling && k.named(s.notice) {
		return true
	}
	says := func(part string) bool {
		switch {
		case k.named(part):
			return field || k.certain || k.buttons || s.running < minArticle || wordsIn(part) >= minPhrase || s.begins(k.notices)
		case k.endTerms > 0 && s.terms >= k.endTerms:
			return false
		case k.starts != nil && slices.ContainsFunc(k.starts, func(start string) bool { return strings.HasPrefix(part, start) }):
			return true
		}
		return k.ended(part) && (field || s.running < minSentence || wordsIn(part) <= maxEnded && s.running < minArticle)
	}
	return slices.ContainsFunc(parts, says) || !(k.sole && len(s.headings) > 1) && slices.ContainsFunc(s.headings, says)
}

// named tells whether a part of a title, or a heading, is one of the phrases of the kind.
func (k *kind) named(part string) bool {
	if rest, ok := strings.CutPrefix(part, "404 "); ok { // and 404 alone stays
		part = tidy(rest)
	}
	return k.title[part]
}

// ended tells whether a part of a title, or a heading, ends as those of the kind do.
func (k *kind) ended(part string) bool {
	return slices.ContainsFunc(k.ends, func(end string) bool { return strings.HasSuffix(part, end) })
}

// onButton tells whether a leaf agrees: as a button, or, on a page without running text, as a
// heading or as the beginning of a text.
func (k *kind) onButton(leaf string, s *pageText) bool {
	if asButton(leaf) && (s.running < minArticle || !slices.Contains(s.headings, leaf)) {
		return k.says(leaf)
	}
	return s.running < minArticle && slices.ContainsFunc(k.text, func(s string) bool { return strings.HasPrefix(leaf, s) })
}

// LoginByTitle tells whether a page is a login whose title says so: not one that has a login
// in it, be it alone as long as no script was run.
func LoginByTitle(p *web.Page) bool {
	if Reason(p) != web.ReasonLogin {
		return false
	}
	return slices.ContainsFunc(titleParts(p.Title), func(part string) bool {
		return slices.ContainsFunc(kinds, func(k kind) bool { return k.reason == web.ReasonLogin && (k.named(part) || k.ended(part)) })
	})
}

// says tells whether one of the phrases of the kind is in a text.
func (k *kind) says(text string) bool {
	in := func(s string) bool { return strings.Contains(text, s) }
	return (k.hints == nil || slices.ContainsFunc(k.hints, in)) && slices.ContainsFunc(k.text, in)
}

// openingsOf are the beginnings of the leaves, tidy, but of headings that go on behind a colon or
// a dash: they name the subject of a text.
func openingsOf(p *web.Page, headings []string) []string {
	var out []string
	for _, l := range p.Leaves {
		text := opening(l)
		if slices.Contains(headings, text) {
			if _, behind, parted := strings.Cut(separators.Replace(text), "|"); parted && wordsIn(behind) >= minSubject {
				continue
			}
		}
		out = append(out, text)
	}
	return out
}

// opening is the beginning of a leaf, tidy.
func opening(l web.Leaf) string { return tidy(l.Text[:min(len(l.Text), maxBeg)]) }

// runningWords counts the words of the leaves outside links that are running text, until it has
// minArticle of them.
func runningWords(p *web.Page) (n int) {
	linked := make([]bool, len(p.Leaves))
	for i := range p.Links {
		for j := max(0, p.Links[i].First); j <= p.Links[i].Last && j < len(linked); j++ {
			linked[j] = true
		}
	}
	for i, l := range p.Leaves {
		// So many words have a byte each, and a space between two, at the least.
		if linked[i] || len(l.Text) < 2*minSentence-1 {
			continue
		}
		if words := wordsIn(l.Text); words >= minSentence {
			if n += words; n >= minArticle {
				break
			}
		}
	}
	return n
}

// wordsIn counts words: those between spaces, and two characters as one in scripts without spaces.
func wordsIn(s string) int {
	words, runes, within := 0, 0, false
	for _, r := range s {
		if space := unicode.IsSpace(r); space == within {
			within = !space
			if within {
				words++
			}
		}
		if r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			runes++
		}
	}
	return words + runes/2
}

// begins tells whether a leaf begins with one of some phrases, which are in order.
func begins(openings, phrases []string) bool {
	return slices.ContainsFunc(openings, func(text string) bool {
		// Of phrases of which none begins another, the last one up to the text alone may begin it.
		i, whole := slices.BinarySearch(phrases, text)
		return whole || i > 0 && strings.HasPrefix(text, phrases[i-1])
	})
}

// set are phrases of which each is looked up as a whole.
func set(phrases ...string) map[string]bool {
	out := make(map[string]bool, len(phrases))
	for _, s := range phrases {
		out[s] = true
	}
	return out
}

// inOrder are phrases in order, without those that another one begins.
func inOrder(phrases ...string) (out []string) {
	slices.Sort(phrases)
	for _, s := range phrases {
		if len(out) == 0 || !strings.HasPrefix(s, out[len(out)-1]) {
			out = append(out, s)
		}
	}
	return out
}

// numbered tells whether a leaf begins with the word error and a number.
func numbered(openings []string) bool {
	return slices.ContainsFunc(openings, func(text string) bool {
		number, ok := strings.CutPrefix(text, "error ")
		return ok && number != "" && '0' <= number[0] && number[0] <= '9'
	})
}

// Refusal says what a document is that came with status 401 or 403: a wall that asks for a
// login, or, with 403, a check for robots or the very content that is refused. It is "" for
// a notice of the server's own.
func Refusal(status int, p *web.Page) web.Reason {
	switch reason := Reason(p); {
	case reason == web.ReasonLogin:
		return reason
	case status != http.StatusForbidden:
		return ""
	case reason == web.ReasonBlocked:
		return reason
	}
	var terms int32
	for i := range p.Terms {
		terms += p.Terms[i].Body
	}
	if terms >= minContent {
		return web.ReasonBlocked
	}
	return ""
}

// separators are what stands between the parts of a title.
var separators = strings.NewReplacer(" - ", "|", " – ", "|", " — ", "|", ": ", "|", " · ", "|", " » ", "|", " « ", "|", " › ", "|", " ‹ ", "|", " • ", "|", " :: ", "|")

// titleParts are a title and its parts between separators, tidy, without empty ones.
func titleParts(title string) (parts []string) {
	for _, s := range append(strings.Split(separators.Replace(title), "|"), title) {
		if s = tidy(s); s != "" {
			parts = append(parts, s)
		}
	}
	return parts
}

// sureParts are those of the parts of a title that may stand for the whole page. A heading that
// repeats all of them is the title of a text. What stands behind a colon and is longer than most
// names of sites may be one, too; a number before it is that of an error. What stands before such a
// colon is the notice, which counts on a page without a text of its own, and without a heading that
// says that the rest is its title.
func sureParts(title string, parts, headings []string) (sure []string, notice string) {
	if whole := tidy(title); slices.Contains(headings, whole) {
		return []string{whole}, ""
	}
	before, behind, ok := strings.Cut(title, ": ")
	if !ok || wordsIn(behind) < minSubject || strings.ContainsAny(before, "0123456789") {
		return parts, ""
	}
	if !slices.Contains(headings, tidy(behind)) {
		notice = tidy(before)
	}
	return titleParts(behind), notice
}

// headingParts are the first headings, tidy, without empty ones.
func headingParts(p *web.Page) (parts []string) {
	for _, h := range p.Headings[:min(2, len(p.Headings))] {
		if h = tidy(h); h != "" {
			parts = append(parts, h)
		}
	}
	return parts
}

// tidy puts a text in lower case, with one space between words and no punctuation at its ends.
func tidy(s string) string {
	var b [2 * maxBeg]byte // most are that short, and need no memory of their own
	s = strings.ReplaceAll(string(appendLower(b[:0], s)), "’", "'")
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsPunct(r) || unicode.IsSymbol(r) || unicode.IsSpace(r)
	})
}

// lowerText is the text of a page in lower case, with one space between words.
func lowerText(p *web.Page) string {
	n := 0
	for i := range p.Leaves {
		n += len(p.Leaves[i].Text) + 1
	}
	b := make([]byte, 0, n)
	for i := range p.Leaves {
		b = appendLower(b, p.Leaves[i].Text)
	}
	return string(b)
}

// appendLower adds the words of s in lower case, a space behind each.
func appendLower(b []byte, s string) []byte {
	begin := len(b)
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf: // there is more to the case and the spaces of others
			b = b[:begin]
			for w := range strings.FieldsSeq(strings.ToLower(s)) {
				b = append(append(b, w...), ' ')
			}
			return b
		case 'A' <= c && c <= 'Z':
			b = append(b, c|0x20)
		case c == ' ' || '\t' <= c && c <= '\r':
			if len(b) > begin && b[len(b)-1] != ' ' {
				b = append(b, ' ')
			}
		default:
			b = append(b, c)
		}
	}
	if len(b) > begin && b[len(b)-1] != ' ' {
		b = append(b, ' ')
	}
	return b
}
