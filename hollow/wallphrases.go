package hollow

import "strings"

// wallWords are the words of walls in a language.
type wallWords struct {
	// consent are titles and headings of walls that ask for consent, begun the beginnings of such,
	// and agree what their buttons say.
	consent, begun, agree []string
	// login are titles of walls that ask for a login, password what a field of theirs is called, and
	// needed are texts that begin by saying that one has to be logged in.
	login, password, needed []string
}

// wallPhrases are those of walls by the ISO 639-1 code of their language, in lower case, as tidy has
// them. English, and more of German, French, Spanish, Russian, Japanese and Chinese, stand in kinds.
var wallPhrases = map[string]wallWords{
	"de": {
		[]string{"ihre privatsphäre ist uns wichtig", "deine privatsphäre ist uns wichtig", "wir respektieren ihre privatsphäre", "privatsphäre-einstellungen", "wir verwenden cookies", "cookie-hinweis", "bevor sie zu google weitergehen", "ihre datenschutzeinstellungen"},
		[]string{"bevor sie zu", "bevor sie fortfahren"}, []string{"alle akzeptieren", "alle annehmen", "einverstanden", "ich stimme zu"},
		[]string{"benutzeranmeldung", "bitte anmelden", "mitglieder-login", "bitte melden sie sich an"}, []string{"kennwort"},
		[]string{"bitte melden sie sich an, um", "bitte loggen sie sich ein", "sie sind nicht angemeldet"}},
	"fr": {
		[]string{"le respect de votre vie privée est notre priorité", "nous accordons de l'importance à votre vie privée", "votre vie privée est importante", "gestion des cookies", "paramètres de confidentialité", "gérer vos cookies", "avant d'accéder à"},
		[]string{"avant d'accéder à", "avant de continuer"}, []string{"tout accepter", "j'accepte", "accepter et fermer", "continuer sans accepter"},
		[]string{"identifiez-vous", "connectez-vous", "authentification", "espace membre"}, []string{"mot de passe"},
		[]string{"vous devez être identifié", "vous devez vous connecter", "vous devez vous identifier", "connectez-vous pour"}},
	"es": {
		[]string{"tu privacidad es importante para nosotros", "valoramos tu privacidad", "respetamos tu privacidad", "su privacidad es importante para nosotros", "antes de continuar", "configuración de privacidad", "configuración de cookies", "uso de cookies"},
		[]string{"antes de ir a", "antes de continuar"}, []string{"aceptar todo", "aceptar y continuar", "acepto"},
		[]string{"inicio de sesión", "inicia sesión", "identifícate", "acceso de usuarios"}, []string{"contraseña", "clave de acceso"},
		[]string{"debes iniciar sesión", "inicia sesión para", "debe identificarse", "necesitas iniciar sesión"}},
	"it": {
		[]string{"rispettiamo la tua privacy", "teniamo alla tua privacy", "la tua privacy è importante per noi", "prima di continuare", "impostazioni sulla privacy", "informativa sui cookie", "gestione dei cookie"},
		[]string{"prima di continuare"}, []string{"accetta tutto", "accetta e continua", "accetta", "accetto", "acconsento"},
		[]string{"accedi", "accesso", "area riservata", "login utente", "accedi al tuo account", "effettua il login"}, []string{"password", "parola d'ordine"},
		[]string{"devi effettuare il login", "devi accedere", "devi essere registrato", "accedi per continuare", "è necessario effettuare il login"}},
	"pt": {
		[]string{"valorizamos a sua privacidade", "valorizamos sua privacidade", "a sua privacidade é importante para nós", "sua privacidade é importante", "nós valorizamos sua privacidade", "antes de continuar", "definições de privacidade", "utilizamos cookies", "este site usa cookies"},
		[]string{"antes de continuar", "antes de aceder", "antes de acessar"}, []string{"aceitar tudo", "aceitar e fechar", "aceitar", "aceito", "concordo"},
		[]string{"iniciar sessão", "entrar", "fazer login", "acesso restrito", "acessar minha conta"}, []string{"palavra-passe", "senha"},
		[]string{"é necessário fazer login", "você precisa estar logado", "você precisa fazer login", "tem de iniciar sessão", "faça login para"}},
	"nl": {
		[]string{"wij geven om je privacy", "wij geven om uw privacy", "we waarderen je privacy", "wij respecteren uw privacy", "jouw privacy is belangrijk voor ons", "voordat je verdergaat", "cookie-instellingen", "privacyinstellingen", "wij gebruiken cookies"},
		[]string{"voordat je verdergaat", "voordat je naar", "voordat u verdergaat"}, []string{"alles accepteren", "alle cookies accepteren", "accepteren", "akkoord", "ik ga akkoord"},
		[]string{"inloggen", "aanmelden", "log in om verder te gaan"}, []string{"wachtwoord"},
		[]string{"u moet ingelogd zijn", "je moet ingelogd zijn", "je moet inloggen", "u moet inloggen", "log in om"}},
	"pl": {
		[]string{"szanujemy twoją prywatność", "cenimy twoją prywatność", "cenimy prywatność użytkowników", "dbamy o twoją prywatność", "zanim przejdziesz dalej", "ustawienia prywatności", "używamy plików cookie"},
		[]string{"zanim przejdziesz"}, []string{"zaakceptuj wszystko", "akceptuję", "akceptuj", "zgadzam się", "przejdź do serwisu"},
		[]string{"logowanie", "zaloguj się", "zaloguj", "panel logowania"}, []string{"hasło"},
		[]string{"musisz się zalogować", "musisz być zalogowany", "zaloguj się, aby", "aby zobaczyć tę stronę, zaloguj się"}},
	"ru": {
		[]string{"мы ценим вашу конфиденциальность", "мы заботимся о вашей конфиденциальности", "прежде чем продолжить", "настройки конфиденциальности", "мы используем файлы cookie", "мы используем cookie", "использование файлов cookie"},
		[]string{"прежде чем перейти", "прежде чем продолжить"}, []string{"принять все", "принять всё", "принимаю", "согласен", "соглашаюсь"},
		[]string{"вход в систему", "вход на сайт", "войдите", "войдите в аккаунт", "вход для пользователей", "личный кабинет"}, []string{"пароль"},
		[]string{"для просмотра этой страницы необходимо", "необходимо авторизоваться", "вы не авторизованы", "войдите, чтобы", "пожалуйста, войдите"}},
	"tr": {
		[]string{"gizliliğinize önem veriyoruz", "gizliliğinize değer veriyoruz", "gizliliğinize saygı duyuyoruz", "devam etmeden önce", "gizlilik ayarları", "çerez ayarları", "çerez tercihleri"},
		[]string{"devam etmeden önce"}, []string{"tümünü kabul et", "kabul ediyorum", "kabul et", "onaylıyorum"},
		[]string{"giriş yap", "giriş yapın", "üye girişi", "kullanıcı girişi", "oturum aç", "oturum açın"}, []string{"şifre", "parola"},
		[]string{"giriş yapmanız gerekiyor", "giriş yapmalısınız", "bu sayfayı görmek için giriş", "lütfen giriş yapın"}},
	"ja": {
		[]string{"プライバシーの尊重", "お客様のプライバシーを尊重します", "プライバシーを大切にしています", "続行する前に", "プライバシー設定", "cookieの使用について", "cookie の使用について", "クッキーの使用について"},
		[]string{"続行する前に"}, []string{"すべて同意", "同意する", "同意して続行", "すべて受け入れる", "すべて許可"},
		[]string{"会員ログイン", "ログインページ", "ログイン画面", "サインインしてください"}, []string{"パスワード", "暗証番号"},
		[]string{"このページを表示するにはログインが必要", "このページを閲覧するにはログインが必要", "ログインが必要です", "続けるにはログイン"}},
	"zh": {
		[]string{"我们重视您的隐私", "我们尊重您的隐私", "我們重視您的隱私", "在继续之前", "在繼續之前", "隐私设置", "隱私設定", "cookie 设置", "我们使用 cookie", "我们非常重视您的隐私", "您的隐私对我们很重要", "我們尊重您的隱私", "我們重視您的隱私權", "您的隱私對我們很重要", "您的隱私權對我們很重要", "继续之前", "繼續之前", "隐私偏好设置", "隱私偏好設定", "隱私權設定", "cookie 設定", "我們使用 cookie", "本网站使用 cookie", "本網站使用 cookie"},
		[]string{"在继续之前", "在繼續之前", "继续前往"}, []string{"接受全部", "全部接受", "接受所有", "全部接受", "同意并继续", "我同意", "接受 cookie", "全部允许", "全部允許", "全部同意", "同意並繼續", "接受并继续", "接受並繼續", "我接受"},
		[]string{"用户登录", "会员登录", "用戶登入", "會員登入", "请登录", "請登入", "统一身份认证", "登入會員", "帳號登入", "账号登录", "请先登录", "請先登入", "登录账号"}, []string{"密码", "密碼"},
		[]string{"您需要登录", "您需要登錄", "您需要先登录", "请登录后", "登录后才", "請先登入", "請登入後", "請登入以", "请登录以", "您必须登录", "您必須登入", "您必須先登入", "您需要先登入"}},
	"ko": {
		[]string{"귀하의 개인정보를 소중히 여깁니다", "개인정보를 소중히 여깁니다", "귀하의 개인정보 보호를 중요하게 생각합니다", "계속하기 전에", "개인정보 설정", "쿠키 설정", "쿠키 사용 안내"},
		[]string{"계속하기 전에"}, []string{"모두 수락", "모두 동의", "동의함", "동의합니다", "수락"},
		[]string{"로그인", "회원 로그인", "회원로그인", "로그인 페이지"}, []string{"비밀번호"},
		[]string{"로그인이 필요합니다", "로그인 후 이용", "로그인해 주세요", "로그인해주세요", "이 페이지를 보려면 로그인"}},
	"el": {
		[]string{"σεβόμαστε την ιδιωτικότητά σας", "σεβόμαστε το απόρρητό σας", "εκτιμούμε το απόρρητό σας", "εκτιμούμε την ιδιωτικότητά σας", "το απόρρητό σας είναι σημαντικό για εμάς", "η ιδιωτικότητά σας είναι σημαντική για εμάς", "πριν συνεχίσετε", "προτού συνεχίσετε", "ρυθμίσεις απορρήτου", "ρυθμίσεις cookies", "χρησιμοποιούμε cookies"},
		[]string{"πριν συνεχίσετε", "προτού συνεχίσετε"}, []string{"αποδοχή όλων", "αποδοχή", "αποδέχομαι", "συμφωνώ"},
		[]string{"σύνδεση", "είσοδος", "είσοδος μελών", "σύνδεση χρήστη", "σύνδεση στον λογαριασμό σας", "συνδεθείτε"}, []string{"κωδικός πρόσβασης", "κωδικός", "συνθηματικό"},
		[]string{"πρέπει να συνδεθείτε", "απαιτείται σύνδεση", "συνδεθείτε για να", "παρακαλούμε συνδεθείτε"}},
	"sv": {
		[]string{"vi värnar om din integritet", "vi bryr oss om din integritet", "vi respekterar din integritet", "din integritet är viktig för oss", "vi värdesätter din integritet", "innan du fortsätter", "vi använder cookies", "vi använder kakor", "integritetsinställningar", "cookieinställningar", "hantera cookies"},
		[]string{"innan du fortsätter"}, []string{"godkänn alla", "acceptera alla", "tillåt alla", "jag godkänner", "jag accepterar", "jag samtycker", "acceptera", "godkänn"},
		[]string{"logga in", "inloggning", "medlemsinloggning", "logga in på ditt konto", "logga in för att fortsätta", "du måste logga in", "glömt lösenord", "glömt lösenordet"}, []string{"lösenord", "bankid"},
		[]string{"du måste logga in", "du måste vara inloggad", "du behöver logga in", "logga in för att", "du är inte inloggad", "vänligen logga in"}},
	"da": {
		[]string{"vi værner om dit privatliv", "vi respekterer dit privatliv", "dit privatliv er vigtigt for os", "vi går op i dit privatliv", "før du fortsætter", "inden du fortsætter", "vi bruger cookies", "cookieindstillinger", "cookie-indstillinger", "privatlivsindstillinger", "brug af cookies"},
		[]string{"før du fortsætter", "inden du fortsætter"}, []string{"accepter alle", "acceptér alle", "tillad alle", "godkend alle", "jeg accepterer", "accepter", "acceptér", "godkend"},
		[]string{"log ind", "login påkrævet", "medlemslogin", "log ind på din konto", "log ind for at fortsætte", "glemt adgangskode"}, []string{"adgangskode", "kodeord", "mitid"},
		[]string{"du skal logge ind", "du skal være logget ind", "log ind for at", "du er ikke logget ind"}},
	"no": {
		[]string{"vi bryr oss om personvernet ditt", "vi respekterer personvernet ditt", "personvernet ditt er viktig for oss", "ditt personvern er viktig for oss", "vi verdsetter personvernet ditt", "før du fortsetter", "vi bruker informasjonskapsler", "personverninnstillinger", "bruk av informasjonskapsler"},
		[]string{"før du fortsetter"}, []string{"godta alle", "aksepter alle", "tillat alle", "jeg godtar", "jeg samtykker", "godta", "aksepter"},
		[]string{"logg inn", "innlogging", "pålogging", "logg på", "logg inn på kontoen din", "logg inn for å fortsette", "glemt passord"}, []string{"passord", "bankid"},
		[]string{"du må logge inn", "du må være logget inn", "du må være innlogget", "logg inn for å", "du er ikke logget inn"}},
	"fi": {
		[]string{"arvostamme yksityisyyttäsi", "kunnioitamme yksityisyyttäsi", "välitämme yksityisyydestäsi", "yksityisyytesi on meille tärkeää", "ennen kuin jatkat", "käytämme evästeitä", "evästeasetukset", "yksityisyysasetukset", "evästeiden käyttö"},
		[]string{"ennen kuin jatkat"}, []string{"hyväksy kaikki", "hyväksyn kaikki", "salli kaikki", "hyväksyn", "hyväksy", "salli evästeet"},
		[]string{"kirjaudu sisään", "kirjaudu", "kirjautuminen", "sisäänkirjautuminen", "kirjaudu palveluun", "kirjaudu tilillesi", "unohtunut salasana"}, []string{"salasana", "pankkitunnu"},
		[]string{"sinun on kirjauduttava", "sinun täytyy kirjautua", "kirjaudu sisään jatkaaksesi", "kirjaudu sisään, jotta", "et ole kirjautunut"}},
	"cs": {
		[]string{"vážíme si vašeho soukromí", "respektujeme vaše soukromí", "záleží nám na vašem soukromí", "vaše soukromí je pro nás důležité", "než budete pokračovat", "používáme cookies", "používáme soubory cookie", "nastavení cookies", "nastavení soukromí"},
		[]string{"než budete pokračovat", "než přejdete"}, []string{"přijmout vše", "přijmout všechny", "povolit vše", "souhlasím", "přijmout", "přijímám"},
		[]string{"přihlášení", "přihlásit se", "přihlaste se", "přihlásit", "přihlášení uživatele", "přihlášení do systému", "zapomenuté heslo"}, []string{"heslo"},
		[]string{"musíte se přihlásit", "musíte být přihlášen", "pro zobrazení této stránky se", "pro pokračování se přihlaste", "nejste přihlášen", "přihlaste se, abyste"}},
	"hu": {
		[]string{"fontos számunkra az ön adatainak védelme", "az ön adatainak védelme fontos számunkra", "tiszteletben tartjuk az ön magánéletét", "fontos számunkra az adatvédelem", "értékeljük a magánéletét", "mielőtt folytatná", "mielőtt továbblép", "sütiket használunk", "cookie-kat használunk", "süti beállítások", "sütibeállítások", "adatvédelmi beállítások"},
		[]string{"mielőtt folytatná", "mielőtt továbblép"}, []string{"az összes elfogadása", "összes elfogadása", "mindet elfogadom", "elfogadom", "elfogadás", "hozzájárulok", "egyetértek"},
		[]string{"bejelentkezés", "belépés", "jelentkezzen be", "jelentkezz be", "lépjen be", "felhasználói belépés", "elfelejtett jelszó"}, []string{"jelszó"},
		[]string{"be kell jelentkeznie", "be kell jelentkezned", "a folytatáshoz jelentkezzen be", "az oldal megtekintéséhez be kell", "kérjük, jelentkezzen be", "nincs bejelentkezve"}},
	"ro": {
		[]string{"respectăm confidențialitatea dumneavoastră", "apreciem confidențialitatea dumneavoastră", "confidențialitatea ta este importantă pentru noi", "confidențialitatea dumneavoastră este importantă pentru noi", "ne pasă de confidențialitatea ta", "înainte să continuați", "înainte să continui", "înainte de a continua", "folosim cookie-uri", "utilizăm cookie-uri", "folosim module cookie", "setări cookie", "setări de confidențialitate"},
		[]string{"înainte să continu", "înainte de a continua"}, []string{"acceptă tot", "acceptați toate", "acceptă toate", "accept toate", "sunt de acord", "accept"},
		[]string{"autentificare", "conectare", "intră în cont", "intrare în cont", "conectează-te", "autentifică-te", "conectați-vă", "ai uitat parola"}, []string{"parola", "parolă"},
		[]string{"trebuie să fii autentificat", "trebuie să fiți autentificat", "trebuie să vă autentificați", "trebuie să te autentifici", "pentru a vizualiza această pagină trebuie", "autentifică-te pentru", "conectează-te pentru"}},
}

// cedillas are the letters of Romanian as they are often written.
var cedillas = strings.NewReplacer("ș", "ş", "ț", "ţ")

// wordsOf are the words of walls of all languages that pick chooses.
func wordsOf(pick func(wallWords) []string) (all []string) {
	for _, w := range wallPhrases {
		for _, s := range pick(w) {
			all = append(all, s)
			if other := cedillas.Replace(s); other != s {
				all = append(all, other)
			}
		}
	}
	return all
}
