package hollow

// notFound are the words of notices that there is no such page, by the ISO 639-1 code of their
// language: those that are a whole part of a title or a whole heading, and those with which a
// piece of text begins. In lower case, as tidy has them. English, and more of German, French, Spanish, Russian, Japanese and Chinese, stand in kinds.
var notFound = map[string]struct{ titles, notices []string }{
	"ar": {[]string{"الصفحة غير موجودة", "لم يتم العثور على الصفحة", "الصفحة المطلوبة غير موجودة", "خطأ 404"},
		[]string{"الصفحة التي تبحث عنها", "الصفحة المطلوبة", "عذرا، الصفحة", "عذراً، الصفحة"}},
	"bg": {[]string{"страницата не е намерена", "страницата не беше намерена", "страницата не съществува", "грешка 404"},
		[]string{"страницата, която търсите", "търсената страница"}},
	"ca": {[]string{"pàgina no trobada", "no s'ha trobat la pàgina", "la pàgina no existeix"},
		[]string{"la pàgina que busqueu", "la pàgina que cerqueu", "la pàgina que busques", "la pàgina sol·licitada"}},
	"cs": {[]string{"stránka nenalezena", "stránka nebyla nalezena", "stránka neexistuje", "chyba 404"},
		[]string{"požadovaná stránka", "hledaná stránka", "stránka, kterou hledáte", "stránku, kterou hledáte"}},
	"da": {[]string{"siden blev ikke fundet", "siden kunne ikke findes", "siden findes ikke", "side ikke fundet", "fejl 404"},
		[]string{"siden, du leder efter", "siden du leder efter", "den side, du leder efter", "den ønskede side"}},
	"de": {[]string{"diese seite existiert nicht", "die seite existiert nicht", "diese seite gibt es nicht", "seite existiert nicht"},
		[]string{"die gesuchte seite", "die von ihnen gesuchte seite", "die aufgerufene seite"}},
	"el": {[]string{"η σελίδα δεν βρέθηκε", "η σελίδα δε βρέθηκε", "δεν βρέθηκε η σελίδα", "η σελίδα δεν υπάρχει", "σφάλμα 404"},
		[]string{"η σελίδα που ζητήσατε", "η σελίδα που αναζητάτε", "η σελίδα που ψάχνετε"}},
	"es": {[]string{"la página no existe", "no se encontró la página", "no se ha encontrado la página", "página inexistente"},
		[]string{"no hemos encontrado la página", "no se ha encontrado la página"}},
	"eu": {[]string{"orria ez da aurkitu", "ez da orria aurkitu", "orrialdea ez da aurkitu", "404 errorea"},
		[]string{"bilatzen ari zaren orria", "eskatutako orria", "bilatzen ari zaren orrialdea"}},
	"fa": {[]string{"صفحه یافت نشد", "صفحه پیدا نشد", "صفحه مورد نظر یافت نشد", "خطای 404", "خطای ۴۰۴"},
		[]string{"صفحه مورد نظر", "صفحه درخواستی", "صفحه\u200cای که به دنبال آن"}},
	"fi": {[]string{"sivua ei löydy", "sivua ei löytynyt", "hakemaasi sivua ei löytynyt", "virhe 404"},
		[]string{"hakemaasi sivua", "etsimääsi sivua", "pyytämääsi sivua"}},
	"fr": {[]string{"cette page n'existe pas", "cette page n'existe plus", "page inexistante", "la page n'existe pas"},
		[]string{"cette page n'existe", "nous n'avons pas trouvé la page"}},
	"ga": {[]string{"níor aimsíodh an leathanach", "leathanach gan aimsiú", "ní bhfuarthas an leathanach", "earráid 404"},
		[]string{"an leathanach atá á lorg", "an leathanach a d'iarr"}},
	"gl": {[]string{"páxina non atopada", "non se atopou a páxina", "a páxina non existe"},
		[]string{"a páxina que buscas", "a páxina que busca", "a páxina solicitada"}},
	"hi": {[]string{"पृष्ठ नहीं मिला", "पेज नहीं मिला", "त्रुटि 404"},
		[]string{"आपके द्वारा अनुरोधित पृष्ठ", "आप जिस पेज को", "आप जिस पृष्ठ को", "आप जो पेज"}},
	"hr": {[]string{"stranica nije pronađena", "tražena stranica nije pronađena", "stranica ne postoji", "pogreška 404", "greška 404"},
		[]string{"stranica koju tražite", "tražena stranica"}},
	"hu": {[]string{"az oldal nem található", "a keresett oldal nem található", "oldal nem található", "a lap nem található", "404-es hiba"},
		[]string{"a keresett oldal", "a kért oldal"}},
	"hy": {[]string{"էջը չի գտնվել", "էջը չգտնվեց", "սխալ 404"}, []string{"ձեր փնտրած էջը"}},
	"id": {[]string{"halaman tidak ditemukan", "laman tidak ditemukan", "kesalahan 404"},
		[]string{"halaman yang anda cari", "halaman yang anda minta", "maaf, halaman"}},
	"it": {[]string{"pagina non trovata", "la pagina non è stata trovata", "la pagina non esiste", "pagina inesistente", "errore 404"},
		[]string{"la pagina che stai cercando", "la pagina che cerchi", "la pagina cercata", "la pagina richiesta", "siamo spiacenti, la pagina"}},
	"ja": {[]string{"ページは見つかりませんでした", "指定されたページは存在しません", "お探しのページが見つかりません", "404エラー"},
		[]string{"指定されたページ", "ご指定のページ", "アクセスしようとしたページ"}},
	"ko": {[]string{"페이지를 찾을 수 없습니다", "요청하신 페이지를 찾을 수 없습니다", "존재하지 않는 페이지입니다", "404 오류"},
		[]string{"요청하신 페이지", "찾으시는 페이지", "죄송합니다. 요청하신"}},
	"nl": {[]string{"pagina niet gevonden", "de pagina is niet gevonden", "deze pagina bestaat niet", "de pagina bestaat niet", "fout 404"},
		[]string{"de pagina die u zoekt", "de pagina die je zoekt", "de opgevraagde pagina", "de gevraagde pagina"}},
	"no": {[]string{"siden finnes ikke", "fant ikke siden", "siden ble ikke funnet", "feil 404"},
		[]string{"siden du leter etter", "siden du ser etter", "vi finner ikke siden", "beklager, vi finner ikke siden"}},
	"pl": {[]string{"nie znaleziono strony", "strony nie znaleziono", "strona nie została znaleziona", "strona nie istnieje", "błąd 404"},
		[]string{"strona, której szukasz", "strona której szukasz", "szukana strona", "żądana strona"}},
	"pt": {[]string{"página não encontrada", "a página não existe", "página inexistente", "erro 404"},
		[]string{"a página que procura", "a página que você", "a página solicitada", "a página que tentou"}},
	"ro": {[]string{"pagina nu a fost găsită", "pagina nu a fost gasita", "pagină negăsită", "pagina nu există", "eroare 404"},
		[]string{"pagina pe care o căutați", "pagina pe care o cauți", "pagina căutată", "pagina solicitată"}},
	"ru": {[]string{"такой страницы нет", "такой страницы не существует", "страница не существует"},
		[]string{"запрошенная страница", "страница, которую вы"}},
	"sv": {[]string{"sidan hittades inte", "sidan kunde inte hittas", "sidan finns inte", "sidan saknas", "fel 404"},
		[]string{"sidan du söker", "sidan du letar efter", "den sida du söker"}},
	"ta": {[]string{"பக்கம் கிடைக்கவில்லை", "பக்கம் காணப்படவில்லை", "பக்கத்தைக் காணவில்லை", "பிழை 404"},
		[]string{"நீங்கள் தேடும் பக்கம்", "நீங்கள் தேடிய பக்கம்"}},
	"th": {[]string{"ไม่พบหน้านี้", "ไม่พบหน้า", "ไม่พบหน้าเว็บ", "ไม่พบหน้าที่คุณต้องการ", "ข้อผิดพลาด 404"},
		[]string{"ไม่พบหน้าที่คุณ", "หน้าที่คุณกำลังค้นหา", "หน้าที่คุณต้องการ", "ขออภัย ไม่พบหน้า"}},
	"tr": {[]string{"sayfa bulunamadı", "aradığınız sayfa bulunamadı", "böyle bir sayfa yok", "404 hatası", "hata 404"},
		[]string{"aradığınız sayfa", "istediğiniz sayfa"}},
	"zh": {[]string{"找不到頁面", "頁面不存在", "找不到网页", "您访问的页面不存在"},
		[]string{"您要访问的页面", "抱歉，您访问的页面", "您查找的页面", "您要找的頁面"}},
}

// notFoundTitles and notFoundNotices are those of all languages.
func notFoundTitles() (all []string) {
	for _, w := range notFound {
		all = append(all, w.titles...)
	}
	return all
}

func notFoundNotices() (all []string) {
	for _, w := range notFound {
		all = append(all, w.notices...)
	}
	return all
}
