package hollow_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// furtherWalls were written when the words of cookieWalls and those of Greek stood, which were not
// changed by them: twelve walls for consent, two for a login, and six pages of content.
var furtherWalls = []struct {
	reason      web.Reason
	title, body string
}{
	{"consent", "Εφημερίδα", `<h1>Σεβόμαστε την ιδιωτικότητά σας</h1><p>Εμείς και οι συνεργάτες μας αποθηκεύουμε πληροφορίες σε μια συσκευή.</p><button>Συμφωνώ</button><button>Περισσότερες επιλογές</button>`},
	{"consent", "Ο καιρός", `<h2>Αυτός ο ιστότοπος χρησιμοποιεί cookies</h2><p>Τα cookies μας βοηθούν να βελτιώσουμε την εμπειρία σας.</p><button>Αποδοχή όλων</button><button>Απόρριψη</button>`},
	{"login", "Σύνδεση", `<form>Όνομα χρήστη <input> Κωδικός πρόσβασης <input></form>`},
	{"login", "Βιβλιοθήκη", `<p>Πρέπει να συνδεθείτε για να δείτε αυτή τη σελίδα.</p>`},
	{"", "Μπισκότα", `<h1>Cookies με σοκολάτα</h1><p>Χρησιμοποιούμε βούτυρο και σκούρα σοκολάτα. Ψήνουμε δώδεκα λεπτά.</p>`},
	{"consent", "Rezepte", `<h1>Diese Website verwendet Cookies</h1><p>Wir personalisieren damit Inhalte und Anzeigen.</p><button>Cookies zulassen</button><button>Nur notwendige</button>`},
	{"consent", "Sport", `<h1>Mit Werbung und Cookies kostenlos lesen</h1><button>Weiter mit Werbung</button><button>Abo abschließen</button>`},
	{"consent", "Recettes", `<h1>Nous utilisons des cookies</h1><p>Pour mesurer l'audience du site.</p><button>OK pour moi</button><button>Non merci</button>`},
	{"consent", "Viajes", `<h2>Utilizamos cookies propias y de terceros</h2><button>Entendido</button><button>Más información</button>`},
	{"consent", "Ricette", `<h1>Il tuo consenso ai cookie</h1><p>Scegli quali cookie possiamo usare.</p><button>Accetta selezionati</button>`},
	{"consent", "Receitas", `<h1>Nós usamos cookies</h1><button>Prosseguir</button>`},
	{"consent", "Przepisy", `<h1>Ta strona używa ciasteczek</h1><p>Możesz określić warunki w przeglądarce.</p><button>Rozumiem</button>`},
	{"consent", "Рецепты", `<h1>Политика использования файлов cookie</h1><p>Оставаясь на сайте, вы соглашаетесь с ней.</p><button>Понятно</button>`},
	{"consent", "Yemek", `<h1>Web sitemizde çerezler kullanılmaktadır</h1><button>Tamam</button>`},
	{"consent", "レシピ", `<h1>当サイトではクッキーを使用しています</h1><button>OK</button>`},
	{"", "Cookie policy", `<h1>Cookie policy</h1><p>This museum sets one cookie, which keeps the language that a visitor has chosen. It is gone after a day. Write to the office with questions.</p>`},
	{"", "Cookies in browsers", `<h1>How browsers keep cookies</h1><p>A cookie has a name and a value. The browser sends it back to the site that set it, and to no other.</p><p>Accept headers are another matter.</p>`},
	{"", "Choc chip", `<h1>Our settings for cookie dough</h1><h2>Oven</h2><p>Bake at 180 degrees until the edges are brown. Let them cool.</p><button>Print</button>`},
	{"", "Политика", `<h1>Политика</h1><p>Стороны согласны принять закон в третьем чтении. Принято.</p>`},
	{"", "Galletas", `<h1>Cookies de avena</h1><p>Receta para veinte.</p><h2>Uso de cookies</h2><button>Aceptar</button>`},
}

// Walls that the rule on cookies and the words of Greek were not chosen by. That a heading counts
// only where it is the only one was added after the recipe with a banner was told wrongly.
func TestFurtherWalls(t *testing.T) {
	if precision, recall := judged(t, furtherWalls); precision < 1 || recall < 0.7 {
		t.Errorf("precision %.2f, recall %.2f: want 1 and 0.7", precision, recall)
	}
}
