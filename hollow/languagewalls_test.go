package hollow_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/web"
)

// languageWalls are walls in Swedish, Danish, Norwegian, Finnish, Czech, Hungarian, Romanian and
// Chinese, and pages of content that speak of the same things or have a banner. They were written
// before the words of these languages.
var languageWalls = []struct {
	reason      web.Reason
	title, body string
}{
	// Swedish
	{"consent", "Nyheter", `<h1>Vi värnar om din integritet</h1><p>Vi och våra partner lagrar information på en enhet.</p><button>Godkänn alla</button><button>Inställningar</button>`},
	{"consent", "Väder", `<h2>Den här webbplatsen använder kakor</h2><p>De hjälper oss att göra den bättre.</p><button>Jag förstår</button>`},
	{"login", "Logga in", `<form>Användarnamn <input> Lösenord <input></form>`},
	{"login", "Logga in", `<form>E-post <input type=email><button>Nästa</button></form>`},
	{"login", "Föreningen", `<p>Du måste vara inloggad för att se den här sidan.</p>`},
	{"", "Recept på kakor", `<h1>Recept på kakor</h1><p>Vi använder smör och inte margarin. Grädda i tio minuter.</p><h2>Vi använder cookies</h2><button>Acceptera alla</button>`},
	{"", "Lösenord", `<h1>Ett bra lösenord</h1><p>Ett långt lösenord är bättre än ett kort.</p>`},
	// Danish
	{"consent", "Nyheder", `<h1>Vi værner om dit privatliv</h1><p>Vi og vores partnere gemmer oplysninger på en enhed.</p><button>Accepter alle</button>`},
	{"consent", "Vejret", `<h1>Dette website bruger cookies</h1><button>Tillad valgte</button><button>Kun nødvendige</button>`},
	{"login", "Log ind", `<form>Brugernavn <input> Adgangskode <input></form>`},
	{"", "Kager", `<h1>Småkager</h1><p>Opskriften giver tyve.</p><h2>Brug af cookies</h2><button>Accepter</button>`},
	// Norwegian
	{"consent", "Nyheter", `<h1>Vi bryr oss om personvernet ditt</h1><p>Vi og partnerne våre lagrer informasjon på en enhet.</p><button>Godta alle</button>`},
	{"consent", "Været", `<h2>Vi bruker informasjonskapsler</h2><button>Jeg forstår</button>`},
	{"login", "Logg inn", `<form>Brukernavn <input> Passord <input></form>`},
	{"", "Personvern", `<h1>Personvern på jobb</h1><p>Hva en arbeidsgiver får vite, og når den ansatte må godta det.</p>`},
	// Finnish
	{"consent", "Uutiset", `<h1>Arvostamme yksityisyyttäsi</h1><p>Me ja kumppanimme tallennamme tietoja laitteelle.</p><button>Hyväksy kaikki</button>`},
	{"consent", "Sää", `<h1>Evästeasetukset</h1><button>Salli valitut</button><button>Vain välttämättömät</button>`},
	{"login", "Kirjaudu sisään", `<form>Käyttäjätunnus <input> Salasana <input></form>`},
	{"", "Eväste", `<h1>Mikä eväste on</h1><p>Selain säilyttää evästeen ja lähettää sen takaisin.</p>`},
	// Czech
	{"consent", "Zprávy", `<h1>Vážíme si vašeho soukromí</h1><p>My a naši partneři ukládáme informace v zařízení.</p><button>Přijmout vše</button>`},
	{"consent", "Počasí", `<h1>Tento web používá soubory cookie</h1><button>Souhlasím</button>`},
	{"login", "Přihlášení", `<form>Uživatelské jméno <input> Heslo <input></form>`},
	{"", "Křížovka", `<h1>Heslo na sedm písmen</h1><p>Včela bez matky.</p>`},
	// Hungarian
	{"consent", "Hírek", `<h1>Fontos számunkra az Ön adatainak védelme</h1><p>Mi és partnereink információkat tárolunk az eszközön.</p><button>Elfogadom</button>`},
	{"consent", "Időjárás", `<h2>Ez a weboldal sütiket használ</h2><button>Rendben</button>`},
	{"login", "Bejelentkezés", `<form>Felhasználónév <input> Jelszó <input></form>`},
	{"", "Sütik", `<h1>Sütik vajjal</h1><p>Vajat használunk, és fél órát sütjük. A tésztát elfogadja a gyerek is.</p>`},
	// Romanian
	{"consent", "Știri", `<h1>Confidențialitatea ta este importantă pentru noi</h1><p>Noi și partenerii noștri stocăm informații pe un dispozitiv.</p><button>Sunt de acord</button>`},
	{"consent", "Vremea", `<h1>Acest site foloseşte cookie-uri</h1><button>Am înțeles</button>`},
	{"login", "Autentificare", `<form>Utilizator <input> Parolă <input></form>`},
	{"", "Parola de azi", `<h1>Parola de azi</h1><p>Un joc cu cuvinte pentru toată familia.</p>`},
	// Chinese
	{"consent", "新闻", `<h1>您的隐私对我们很重要</h1><p>我们和合作伙伴在设备上存储信息。</p><button>全部允许</button>`},
	{"consent", "天氣", `<h1>本網站使用 Cookie</h1><button>我了解</button>`},
	{"consent", "新聞", `<h1>我們重視您的隱私權</h1><p>我們和合作夥伴會在裝置上儲存資訊。</p><button>全部允許</button><button>設定</button>`},
	{"login", "會員登入", `<form>帳號 <input> 密碼 <input></form>`},
	{"", "饼干的做法", `<h1>饼干的做法</h1><p>黄油和面粉混合，烤二十分钟。</p><h2>Cookie 设置</h2><button>接受</button>`},
}

// laterLanguageWalls were written when the words stood, which were not changed by them.
var laterLanguageWalls = []struct {
	reason      web.Reason
	title, body string
}{
	{"consent", "Sport", `<h1>Hantera ditt samtycke till cookies</h1><button>Tillåt urval</button>`},
	{"consent", "Kultur", `<h1>Din integritet är viktig för oss</h1><p>Välj vad vi får spara.</p><button>OK, fortsätt</button><button>Acceptera</button>`},
	{"login", "Inloggning", `<form>Personnummer <input> Lösenord <input></form>`},
	{"consent", "Sport", `<h1>Indstillinger for cookies</h1><button>OK</button>`},
	{"login", "Medlemssider", `<p>Du skal være logget ind for at se denne side.</p>`},
	{"consent", "Sport", `<h1>Samtykke til informasjonskapsler</h1><button>Tillat alle</button>`},
	{"login", "Medlemssider", `<p>Du må logge inn for å se denne siden.</p>`},
	{"consent", "Urheilu", `<h1>Käytämme evästeitä sivustollamme</h1><button>Selvä</button>`},
	{"login", "Jäsensivut", `<p>Sinun on kirjauduttava sisään nähdäksesi tämän sivun.</p>`},
	{"consent", "Sport", `<h1>Nastavení cookies</h1><button>Povolit vybrané</button>`},
	{"login", "Pro členy", `<p>Pro zobrazení této stránky se musíte přihlásit.</p>`},
	{"consent", "Sport", `<h1>Süti tájékoztató</h1><button>Elfogadom a sütiket</button>`},
	{"login", "Tagoknak", `<p>Az oldal megtekintéséhez be kell jelentkezni.</p>`},
	{"consent", "Sport", `<h1>Politica privind cookie-urile</h1><button>Accept toate</button>`},
	{"login", "Membri", `<p>Trebuie să fii autentificat pentru a vedea această pagină.</p>`},
	{"consent", "體育", `<h1>Cookie 使用聲明</h1><button>同意並繼續</button>`},
	{"login", "论坛", `<p>请登录以继续。</p>`},
	{"", "Kakor", `<h1>Kakor i webbläsaren</h1><p>En kaka har ett namn och ett värde, och användaren kan ta bort den.</p>`},
	{"", "Kaker", `<h1>Kaker til jul</h1><p>Vi bruker smør. Alle godtar dem.</p>`},
	{"", "Souhlas", `<h1>Souhlas rodičů</h1><p>Kdy ho škola potřebuje a kdo ho podepíše.</p>`},
	{"", "Belépés a múzeumba", `<h1>Belépés</h1><p>A múzeum kilenckor nyit, vasárnap ingyenes.</p>`},
	{"", "Conectare", `<h1>Conectarea la rețea</h1><p>Cum se leagă o casă nouă la rețeaua de apă.</p>`},
	{"", "隐私", `<h1>隐私的历史</h1><p>同意一词在法律中的含义。</p>`},
}

// Walls in eight more languages are told, and no page of content about the same things is.
func TestLanguageWalls(t *testing.T) {
	if precision, recall := judged(t, languageWalls); precision < 1 || recall < 0.95 {
		t.Errorf("precision %.2f, recall %.2f: want 1 and 0.95", precision, recall)
	}
}

// Walls that the words were not chosen by are told more seldom, and no page of content is.
func TestLaterLanguageWalls(t *testing.T) {
	if precision, recall := judged(t, laterLanguageWalls); precision < 1 || recall < 0.8 {
		t.Errorf("precision %.2f, recall %.2f: want 1 and 0.8", precision, recall)
	}
}
