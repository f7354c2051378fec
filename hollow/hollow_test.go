package hollow_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/corpus"
	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/internal/recorded"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// labelled are pages written for this test: the reason a person gives them, "" for a page
// of content, the title, and the body.
var labelled = []struct {
	reason      web.Reason
	title, body string
}{
	{"soft-not-found", "Page not found | Example College", `<nav><a href=/>Home</a> <a href=/a>About</a></nav><h1>Oops!</h1><p>The page you are looking for may have moved. Try the search.</p>`},
	{"soft-not-found", "Example Town", `<h1>404</h1><p>Sorry, nothing here.</p><a href=/>Back to the start</a>`},
	{"soft-not-found", "Seite nicht gefunden – Imkerverein", `<p>Die gewünschte Seite gibt es nicht mehr.</p>`},
	{"soft-not-found", "Erreur 404", `<p>La page demandée est introuvable.</p>`},
	{"soft-not-found", "Página no encontrada", `<p>Lo sentimos.</p>`},
	{"soft-not-found", "Страница не найдена", `<p>Вернитесь на главную.</p>`},
	{"soft-not-found", "Example", `<h1>ページが見つかりません</h1>`},
	{"soft-not-found", "Example Shop", `<h1>Whoops</h1><p>We looked everywhere and could not find that product any more.</p>`},
	{"parked", "bees.example", `<p>This domain is for sale! Buy it now.</p><a href=/r>Related searches</a>`},
	{"parked", "honey.example", `<p>The domain has expired. If you are its owner, renew it.</p>`},
	{"parked", "imker.example", `<p>Diese Domain steht zum Verkauf.</p>`},
	{"parked", "miel.example", `<p>Ce nom de domaine est à vendre.</p>`},
	{"parked", "welcome", `<p>Sponsored listings: honey, insurance, credit cards.</p>`},
	{"consent", "Before you continue", `<p>We and our partners use cookies.</p><button>Accept all</button><button>Reject all</button>`},
	{"consent", "News", `<h2>We value your privacy</h2><p>We store data on your device.</p><button>I agree</button>`},
	{"consent", "Zeitung", `<h1>Wir schätzen Ihre Privatsphäre</h1><p>Mit Werbung weiterlesen.</p><button>Akzeptieren</button>`},
	{"consent", "Journal", `<h1>Avant de continuer</h1><button>Tout accepter</button>`},
	{"login", "Sign in - Example", `<form><label>User</label><input><label>Password</label><input type=password></form>`},
	{"login", "Intranet", `<h1>Please log in</h1><form>Name <input> Password <input type=password></form>`},
	{"login", "Anmelden", `<form>Benutzer <input> Passwort <input type=password></form>`},
	{"login", "ログイン", `<form>パスワード <input type=password></form>`},
	{"login", "Welcome", `<form><input name=user placeholder=Name><input type=password placeholder=Secret><button>Go</button></form>`},
	{"login", "Lost Password ‹ Bees", `<p>You will receive a link to create a new password.</p>`},
	{"soft-not-found", "Images", `<p>Error: file not found.</p>`},
	{"login", "Members", `<p>This article is for members. Subscribe to read on.</p>`},
	{"blocked", "Just a moment...", `<p>Checking if the connection is secure.</p><noscript>Enable JavaScript and cookies to continue</noscript>`},
	{"blocked", "Access Denied", `<p>You don't have permission to access this page. Reference #18.2</p>`},
	{"blocked", "example.org", `<h1>Verify you are human</h1><p>Complete the action below.</p>`},
	{"blocked", "Robot Check", `<p>Type the characters you see in this image.</p>`},

	{"", "The status 404 Not Found explained", `<p>A server answers 404 when there is no such page.</p>`},
	{"", "Not found in the wild since 1950", `<p>The Franklin bumblebee.</p>`},
	{"", "How to log in to the library", `<p>Open the catalogue, choose your account and give your password.</p>`},
	{"", "Honey", `<p>Our honey comes from three apiaries.</p><footer>We use cookies. <button>Accept all</button></footer>`},
	{"", "Login", `<p>A login is a name under which a user is known.</p>`},
	{"", "Cookies we bake", `<p>Honey cookies. Accept all compliments.</p>`},
	{"", "How to reset your password", `<p>Ask at the desk, and bring your card.</p>`},
	{"", "User name and password required", `<p>Type the name and the password to connect to the database.</p>`},
	{"", "Join", `<form>Partner <input> Password <input type=password></form><p>` + strings.Repeat("Write the names of both partners, and hand the form in by Friday. ", 12) + `</p>`},
	{"", "Hives and honey", `<div id=root></div><form hidden><input name=user><input type=password></form><script src=/shop.js></script>`},
	{"", "Forum", `<header><form><input name=user><input type=password><button>Go</button></form></header><h1>Which hive for a beginner?</h1><p>I want to keep bees. Which hive do I buy?</p>`},
	{"", "Bee talk", `<header><h2>Log in</h2><form><input name=user><input type=password></form></header><h1>Which hive for a beginner?</h1><p>I want to keep bees. Which hive do I buy?</p>`},
	{"", "Manual", `<p>Where the program says that you are not logged in, give the password again.</p>`},
	{"", "Changes", `<p>Fixed: page not found is shown for old links.</p>`},
	{"", "Store", `<p>The key 不存在 returns an error.</p>`},
	{"", "Contact", `<p>Ring us.</p>`},
	{"", "Selling a name", `<p>What to do when a domain name has expired and you want it back.</p>`},
	{"", "Captcha and its critics", `<p>Tests that tell robots from people.</p>`},
	{"", "Consent in medicine", `<p>A patient agrees.</p>`},
	{"", "Security", `<p>Reports are welcome.</p>`},
	{"", "Domain for sale, a poem", `<p>Fields and barns.</p>`},
	{"", "Page not found | Glossary", `<p>` + strings.Repeat("A long page that tells of errors with many examples from servers. ", 40) + `</p>`},
	{"", "Вход в пещеру", `<p>Пещера у реки.</p>`},
}

// later are pages with words that walls and notices on the web have. They are no part of what the rule was
// made of.
var later = []struct {
	reason      web.Reason
	title, body string
}{
	{"soft-not-found", "Not Found", `<p class=error>Pagina niet gevonden</p>`},
	{"soft-not-found", "Search company - We couldn't find that page", `<h1>Hmm, something is amiss</h1><p>We are good at search, and cannot find it.</p>`},
	{"soft-not-found", "Plants", `<h1>Not Found</h1><p>No garden of this name.</p>`},
	{"soft-not-found", "Robots of the wizards", `<article><h1>Not found</h1><p>Bleep. This page could not be found.</p></article>`},
	{"soft-not-found", "Notes", `<h1>Note not found</h1>`},
	{"soft-not-found", "Network monitor", `<center>Page "x" was not found</center>`},
	{"soft-not-found", "Hives of the town", `<p>404</p><h1>Page not<br><span>found.</span></h1><p>There is nothing at this address.</p>`},
	{"soft-not-found", "Strona nie została znaleziona", `<p>Wróć na stronę główną.</p>`},
	{"parked", "hive.example", `<h1>hive.example</h1><p>This domain is for sale. Enquire within.</p>`},
	{"parked", "Domain for sale", `<p>Buy this domain now.</p>`},
	{"parked", "county.example", `<p>Parked free, courtesy of the registrar.</p>`},
	{"parked", "health.example", `<h1>health.example</h1><p>Make an offer on this domain. Related searches: health insurance</p>`},
	{"parked", "imkerei.example", `<p>Hier entsteht eine neue Internetpräsenz.</p>`},
	{"parked", "biene.example", `<p>Diese Domain wurde erfolgreich registriert.</p>`},
	{"parked", "comb.example", `<p>Interested in this domain? Ask its broker.</p>`},
	{"consent", "Before you continue to the search", `<h1>Before you continue to the search</h1><p>We use cookies and data to deliver our services.</p>`},
	{"consent", "Before you continue", `<form><button>Accept all</button></form>`},
	{"consent", "Bevor Sie fortfahren", `<p>Wir verwenden Cookies.</p><button>Alle akzeptieren</button>`},
	{"consent", "Zeitung", `<h1>Mit Werbung weiterlesen oder Abo abschließen</h1><button>Einverstanden</button>`},
	{"consent", "Giornale", `<h1>La tua privacy</h1><button>Accetta e continua</button>`},
	{"login", "Art", `<h1>This content is password protected</h1><form>Password <input type=password></form>`},
	{"login", "Protected", `<h1>Plans of 2026</h1><p>This content is password protected. Enter the password to view it.</p><form><input type=password></form>`},
	{"login", "Staff", `<p>Content is password protected</p><div>Pasword <input type=password><span>Submit</span></div>`},
	{"login", "イラスト", `<h1>ログイン</h1><form><input name=mail><input type=password></form>`},
	{"login", "统一身份认证", `<form><input name=u><input type=password></form>`},
	{"login", "Wiki", `<h1>Login required</h1><p>You must log in to view other pages.</p>`},
	{"login", "Sign in | Aircraft tests", `<h2>Sign in</h2><p>Use your employee number and password.</p><form><input><input type=password></form>`},
	{"login", "News", `<h1>A swarm in the city</h1><p>On Sunday a swarm of bees.</p><p>Already a subscriber? Log in to read on.</p>`},
	{"blocked", "shop.example", `<p>Please enable JS and disable any ad blocker</p>`},
	{"blocked", "", `<p>Verifying you are human. This may take a few seconds.</p>`},
	{"blocked", "Just a moment...", `<h1>Checking your browser before accessing a.example</h1><p>Performing a security verification.</p>`},
	{"blocked", "Attention Required! | Firewall", `<p>attention required</p>`},
	{"blocked", "Access denied", `<p>Request blocked.</p>`},
	{"blocked", "Access to this resource has been denied", `<p>If a portal sent you here, report this.</p>`},
	{"blocked", "Pictures", `<p>Please enter the CAPTCHA to continue to Pictures</p>`},
	{"blocked", "Je bent bijna op de pagina die je zoekt", `<p>We willen weten of je geen robot bent.</p>`},

	{"", "How bees find home", `<h1>How bees find home</h1><p>They learn the place on their first flights.</p>`},
	{"", "Attention in bees", `<p>Bees attend to colours.</p>`},
	{"", "Sale", `<p>Honey is for sale at the gate. Buy this jar.</p>`},
	{"", "User names", `<p>Password required</p><p>Tick this where those who connect to the database give a password.</p>`},
	{"", "Jobs", `<p>No open roles right now. Check back soon.</p>`},
	{"", "Talk", `<h1>Talk</h1><p>Nothing found under this tag yet.</p>`},
	{"", "Errors of the scale", `<p>Errors 101 and 102 tell that the scale is not level, and are cleared by the green key.</p>`},
	{"", "Access", `<p>The hut is open to members and their guests. Ask for the key.</p>`},
}

// judged asks the rule about such pages, and tells precision and recall.
func judged(t *testing.T, pages []struct {
	reason      web.Reason
	title, body string
}) (precision, recall float64) {
	p := parse.New(parse.Options{Analyzer: parse.NewAnalyzer()})
	var right, said, hollowPages int
	of, found := map[web.Reason]int{}, map[web.Reason]int{}
	for i, c := range pages {
		u, err := web.Parse(fmt.Sprintf("https://a.example/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		page, err := p.Parse(&web.Response{URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: []byte("<html><head><title>" + c.title + "</title></head><body>" + c.body + "</body></html>")})
		if err != nil {
			t.Fatal(err)
		}
		got := hollow.Reason(page)
		if got != "" {
			said++
		}
		if c.reason != "" {
			hollowPages++
			of[c.reason]++
		}
		if got == c.reason && got != "" {
			right++
			found[got]++
		}
		if got != c.reason {
			t.Logf("%q is %q, a person says %q", c.title, got, c.reason)
		}
	}
	precision, recall = float64(right)/float64(said), float64(right)/float64(hollowPages)
	t.Logf("%d hollow pages of %d: precision %.2f, recall %.2f; found %v of %v", hollowPages, len(pages), precision, recall, found, of)
	return precision, recall
}

func TestLabelled(t *testing.T) {
	if precision, recall := judged(t, labelled); precision < 1 || recall < 0.93 {
		t.Errorf("precision %.2f, recall %.2f: want 1 and 0.93", precision, recall)
	}
}

func TestLater(t *testing.T) {
	if precision, recall := judged(t, later); precision < 1 || recall < 0.72 {
		t.Errorf("precision %.2f, recall %.2f: want 1 and 0.72", precision, recall)
	}
}

// Nearly no page of a recorded web is told to be hollow: each that is, is logged.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"departments"} {
		dir := filepath.Join(t.TempDir(), name)
		if _, err := corpus.Build(t.Context(), dir, corpus.Exchange{Dir: recorded.Web(t, name)}, corpus.Options{}); err != nil {
			t.Fatal(err)
		}
		w, err := corpus.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		p := parse.New(parse.Options{Analyzer: parse.NewAnalyzer(), Canon: w.Canon()})
		pages, told := 0, 0
		for r, err := range w.Pages() {
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != 200 {
				continue
			}
			page, err := p.Parse(r)
			if err != nil {
				continue
			}
			pages++
			if reason := hollow.Reason(page); reason != "" {
				told++
				t.Logf("%s: %s %q", reason, page.URL, page.Title)
			}
		}
		t.Logf("%s: %d of %d pages are told to be hollow", name, told, pages)
		if pages == 0 || told*200 > pages {
			t.Errorf("%s: %d of %d pages are told to be hollow, want at most one in 200", name, told, pages)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
