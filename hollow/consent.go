package hollow

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// cookieWords name cookies, in lower case: a heading with one of them may be that of a wall.
var cookieWords = []string{"cookie", "куки", "ciasteczk", "çerez", "クッキー", "쿠키", "kakor", "informasjonskaps", "eväste", "süti"}

// cookieWall is what a heading says of cookies that asks for them, and a button that agrees.
type cookieWall struct {
	// about are beginnings of words, of at least four letters in alphabets, that stand beside the
	// word for cookies in headings on settings, policies, use and consent.
	about []string
	// assent are beginnings of the words of a button that agrees, and all what such a button may
	// say as a whole beside them.
	assent, all []string
}

// cookieWalls are those by the ISO 639-1 code of their language, in lower case, as tidy has them.
var cookieWalls = map[string]cookieWall{
	"en": {[]string{"policy", "preference", "setting", "consent", "notice", "we use", "uses", "choices", "privacy"}, []string{"accept", "agree", "allow", "consent"}, []string{"ok", "okay", "got it", "i understand", "understood"}},
	"de": {[]string{"einstellung", "hinweis", "richtlinie", "präferenz", "verwend", "nutz", "setzen", "einsatz", "zustimm", "einwillig", "auswahl"}, []string{"akzept", "zustimm", "stimme zu", "zulassen", "annehmen", "einverstanden", "erlauben"}, []string{"verstanden", "alles klar"}},
	"fr": {[]string{"préférence", "paramètre", "politique", "utilis", "gestion", "gérer", "consentement", "choix"}, []string{"accepte", "autorise", "d'accord", "consens", "consentir"}, []string{"compris", "j'ai compris"}},
	"es": {[]string{"preferencia", "configura", "política", "utiliza", "usamos", "uso de", "gestion", "consentimiento", "aviso"}, []string{"acept", "de acuerdo", "permitir", "consiento"}, []string{"entendido", "vale"}},
	"it": {[]string{"preferenz", "impostazion", "informativa", "utilizz", "usiamo", "uso dei", "gestion", "gestisci", "consenso"}, []string{"accett", "acconsent", "consenti", "d'accordo"}, []string{"ho capito", "va bene"}},
	"pt": {[]string{"preferência", "definiç", "configura", "política", "utiliza", "usamos", "uso de", "gestão", "gerir", "consentimento", "aviso"}, []string{"aceit", "concord", "permitir"}, []string{"entendi", "percebi"}},
	"nl": {[]string{"voorkeur", "instelling", "beleid", "gebruik", "beheer", "toestemming", "melding"}, []string{"accepte", "akkoord", "toestaan", "toestemm"}, []string{"begrepen", "prima"}},
	"pl": {[]string{"preferencj", "ustawie", "polityk", "używa", "wykorzyst", "zgod", "zarządza"}, []string{"akcept", "zgadzam", "zezwól", "zezwalam", "wyrażam zgodę"}, []string{"rozumiem"}},
	"ru": {[]string{"настройк", "политик", "использ", "согласи", "предпочт", "уведомлен"}, []string{"принять", "принима", "соглас", "соглаш", "разреш"}, []string{"хорошо", "понятно", "ок"}},
	"tr": {[]string{"tercih", "ayar", "politika", "kullan", "onay", "rıza", "bildirim"}, []string{"kabul", "onayl", "izin ver"}, []string{"tamam", "anladım"}},
	"ja": {[]string{"設定", "ポリシー", "使用", "利用", "同意"}, []string{"同意", "許可", "受け入れ", "承諾", "承認"}, []string{"了解", "閉じる"}},
	"zh": {[]string{"设置", "設定", "政策", "使用", "同意", "偏好", "声明", "聲明", "管理", "隐私", "隱私", "通知", "说明", "說明"}, []string{"接受", "同意", "允许", "允許"}, []string{"知道了", "我知道了", "好的", "确定", "確定", "确认", "確認", "明白", "我明白了", "了解", "我了解"}},
	"ko": {[]string{"설정", "정책", "사용", "동의", "안내", "관리"}, []string{"동의", "수락", "허용"}, []string{"확인"}},
	"el": {[]string{"ρυθμίσ", "πολιτικ", "χρησιμοποι", "χρήση", "συγκατάθεσ", "προτιμήσ", "διαχείρισ", "επιλογ"}, []string{"αποδοχή", "αποδέχ", "συμφων", "επιτρέπ"}, []string{"εντάξει", "κατάλαβα", "το κατάλαβα"}},
	"sv": {[]string{"inställning", "använd", "samtyck", "hantera", "integritet"}, []string{"acceptera", "godkänn", "tillåt", "samtyck"}, []string{"jag förstår", "okej", "uppfattat"}},
	"da": {[]string{"indstilling", "politik", "bruger", "brug af", "samtykke", "administrer", "privatliv"}, []string{"accept", "tillad", "godkend", "samtyk"}, []string{"forstået", "jeg forstår"}},
	"no": {[]string{"innstilling", "erklæring", "bruker", "bruk av", "samtykke", "administrer", "personvern"}, []string{"godta", "aksepter", "tillat", "godkjenn", "samtykk"}, []string{"forstått", "greit"}},
	"fi": {[]string{"asetu", "käyttö", "käytä", "suostumu", "käytäntö", "hallin", "yksityisyy"}, []string{"hyväksy", "salli", "suostu"}, []string{"selvä", "ymmärrän"}},
	"cs": {[]string{"nastaven", "použív", "využív", "zásad", "souhlas", "správa", "soukrom"}, []string{"přijm", "souhlas", "povolit", "akcept"}, []string{"rozumím", "v pořádku", "beru na vědomí"}},
	"hu": {[]string{"beállít", "haszná", "tájékoztat", "szabályzat", "hozzájárul", "kezelés", "adatvéd"}, []string{"elfogad", "hozzájárul", "engedélyez", "egyetért"}, []string{"rendben", "értem"}},
	"ro": {[]string{"setări", "setari", "politic", "utiliz", "folos", "consim", "preferin", "confiden"}, []string{"accept", "de acord", "permite"}, []string{"am înțeles", "am inteles", "am înţeles", "înțeles"}},
}

// Bounds of what is a heading, or a button, of a wall.
const (
	maxCookieHeading = 10 // words
	maxButton        = 5  // words
	maxButtonRunes   = 40
)

// asksForCookies tells whether a page is a wall whose heading is on the settings, the policy or
// the use of cookies, and that has a button which agrees. The heading is the title or the only
// heading: beside others it is that of a banner over content.
func asksForCookies(title, headings, texts []string) bool {
	named := slices.ContainsFunc(title, namesCookies) || len(headings) == 1 && namesCookies(headings[0])
	return named && slices.ContainsFunc(texts, agrees)
}

// namesCookies tells whether a heading is on the settings, the policy or the use of cookies.
func namesCookies(heading string) bool {
	in := func(s string) bool { return strings.Contains(heading, s) }
	if !slices.ContainsFunc(cookieWords, in) || len(strings.Fields(heading)) > maxCookieHeading {
		return false
	}
	for _, w := range cookieWalls {
		if slices.ContainsFunc(w.about, in) {
			return true
		}
	}
	return false
}

// asButton tells whether a leaf, tidy, is as short as a button.
func asButton(leaf string) bool {
	return len(strings.Fields(leaf)) <= maxButton && utf8.RuneCountInString(leaf) <= maxButtonRunes
}

// agrees tells whether a leaf, tidy, is as short as a button and agrees in words.
func agrees(leaf string) bool {
	if !asButton(leaf) {
		return false
	}
	for _, w := range cookieWalls {
		if slices.Contains(w.all, leaf) || slices.ContainsFunc(w.assent, func(s string) bool { return strings.Contains(leaf, s) }) {
			return true
		}
	}
	return false
}
