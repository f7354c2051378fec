package hollow_test

import (
	"strings"
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// articles are short pages of content, up to some 1,000 bytes, whose titles and texts are on walls
// and notices, and beside them walls and notices with as much text.
var articles = []struct {
	reason      web.Reason
	title, body string
}{
	{"", "Page not found: how libraries archive dead links", `<h1>Page not found: how libraries archive dead links</h1><p>Every link dies some day, and a library keeps a copy.</p>`},
	{"", "Page not found – how libraries archive dead links", `<h1>Page not found – how libraries archive dead links</h1><p>Every link dies some day, and a library keeps a copy.</p>`},
	{"", "Page not found", `<h1>Page not found</h1>` + essay("Half of the links in a paper of twenty years ago lead nowhere. A library crawls them while they live.")},
	{"", "404 Not Found", `<h1>404 Not Found</h1>` + essay("The number stands in every joke about the web, and few know the room it is said to be of.")},
	{"", "Bones of the old king not found", `<p>The dig under the car park ended on Friday after three weeks.</p>`},
	{"", "Sign in: what a handwritten name still proves", `<h1>Sign in: what a handwritten name still proves</h1><p>Nobody asks for a password at the door of the club.</p>`},
	{"", "Login", `<h1>Login</h1>` + essay("The word comes from the log of a ship. A password came later, at a machine that several people shared.")},
	{"", "Just a moment", `<h1>Just a moment</h1>` + essay("A poem has no clock, and yet it ends. What lies between two bars of music is a moment, and no more.")},
	{"", "Security check: what airports ask for", `<p>Belts and shoes go into the tray, and water stays behind.</p>`},
	{"", "Cookie consent", `<h1>Cookie consent</h1>` + essay("Most readers press accept all without reading what they agree to. Is that a consent in the sense of the law?")},
	{"", "Cookie consent: what the law wants", `<h1>Cookie consent: what the law wants</h1><p>A banner on which one can only accept all is none.</p>`},
	{"", "Names that end", `<h1>Names that end</h1>` + essay("Who reads the words this domain has expired was late with a bill. After a month anybody may have the name.")},
	{"", "Mot de passe oublié : une enquête", `<h1>Mot de passe oublié : une enquête</h1><p>Un lecteur sur trois oublie son mot de passe chaque mois.</p>`},
	{"", "找不到页面: 图书馆如何保存失效的链接", `<h1>找不到页面: 图书馆如何保存失效的链接</h1><p>每个链接总有一天会失效，图书馆保存它的副本，供读者以后查阅。</p>`},
	{"", "Page not found: how libraries archive dead links", `<h1>How libraries archive dead links</h1><video></video><p>12 minutes</p>`},
	{"", "Bones of the old king not found: what the diggers say", `<p>Six pictures</p>`},
	{"", "Just a moment: poems by twelve young writers", strings.Repeat("<p>It is late, and the light<p>stays on the sill<p>like bread", 6)},

	{"soft-not-found", "Page not found: The Example College of Arts and Letters", `<p>Try the search.</p>`},
	{"soft-not-found", "Page not found: Library of the Example College", `<a href=/>Home</a><a href=/books>Books</a><p>© Example College</p>`},
	{"soft-not-found", "Seite nicht gefunden: Hochschule für Künste in Beispielstadt", ``},
	{"soft-not-found", "Page not found", `<h1>Page not found</h1><p>The page you requested is not here. It may have been moved when the site was made anew last year, or the link that led you here may have a mistake in it. Please look at the list of sections above, or search for it by its words.</p>`},
	{"soft-not-found", "404: This page could not be found", `<h1>404</h1><h2>This page could not be found.</h2>`},
	{"soft-not-found", "Page not found: Example College", `<p>Try the search.</p>`},
	{"blocked", "Attention Required! | Firewall", `<h1>Sorry, you have been blocked</h1><h2>You are unable to access shop.example</h2><p>This website is using a security service to protect itself from online attacks. The action you just performed triggered the security solution. There are several actions that could trigger this block.</p>`},
	{"parked", "Welcome to nginx!", `<h1>Welcome to nginx!</h1><p>If you see this page, the nginx web server is successfully installed and working. Further configuration is required.</p><p>For online documentation and support please refer to nginx.org. Commercial support is available at nginx.com.</p>`},
	{"consent", "News", `<h1>We value your privacy</h1><p>We and our 812 partners store and access information on your device, such as cookies, and process personal data, such as unique identifiers, for personalised advertising and content, measurement of advertising and content, research of audiences and development of services.</p><button>More options</button><button>Accept all</button>`},
	{"login", "Log in", `<h1>Log in</h1><p>From this point on you must have cookies enabled in your browser, otherwise no administrative changes will take effect. Session cookies are used in this list's administrative interface so that you do not need to log in anew with every act.</p><form>Password <input type=password></form>`},
	{"login", "Sign in - Example", `<form><input type=email placeholder="Your e-mail"><button>Next</button></form>`},
	{"login", "Mail", `<h1>Sign in</h1><p>to go on to the mail</p><form><input name=identifier autocomplete="username"><button>Next</button></form><a href=/new>New account</a>`},
	{"login", "Anmelden", `<form>E-Mail <input type=email><button>Weiter</button></form>`},
	{"", "Letters", `<h1>Letters from the meadow</h1><p>Once a month.</p><form><input type=email><button>Sign up</button></form>`},
}

// essay is a text of some 900 bytes.
func essay(sentences string) string {
	return "<p>" + sentences + "</p><p>" + strings.Repeat("What is kept is read again one day by somebody who looks for another thing. ", 8) + "</p>"
}

// No short article is taken for a wall or a notice by its title, and walls and notices with as much
// text are told.
func TestArticles(t *testing.T) {
	if precision, recall := judged(t, articles); precision < 1 || recall < 1 {
		t.Errorf("precision %.2f, recall %.2f: want 1 and 1", precision, recall)
	}
}
