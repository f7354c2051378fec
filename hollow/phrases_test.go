package hollow_test

import (
	"testing"

	"github.com/waggle-crawler/waggle/hollow"
	"github.com/waggle-crawler/waggle/internal/text"
	"github.com/waggle-crawler/waggle/parse"
	"github.com/waggle-crawler/waggle/web"
)

// notices are, for each language that the analyzer knows, the title and the text of a page that
// says that there is none, and those of a page of content that speaks of such pages.
var notices = map[string][4]string{
	"ar": {"الصفحة غير موجودة | بلدية", "عد إلى الصفحة الرئيسية.", "كيف نكتب صفحة الخطأ", "تخبر صفحة الخطأ الزائر بأن العنوان تغير."},
	"bg": {"Страницата не е намерена – Община", "Върнете се към началото.", "Страници за грешки", "Кога една страница не съществува и какво да покаже сървърът."},
	"ca": {"Pàgina no trobada - Ajuntament", "Torneu a l'inici.", "Pàgines d'error", "Què ha de dir una pàgina quan l'adreça ha canviat."},
	"cs": {"Stránka nenalezena | Obec Příklad", "Zpět na úvod.", "Chybové stránky", "Jak napsat hlášení, že stránka neexistuje."},
	"da": {"Siden blev ikke fundet – Kommune", "Gå til forsiden.", "Om fejlsider", "Hvad en side skal sige, når en adresse er ændret."},
	"de": {"Verein", "Die gesuchte Seite ist umgezogen.", "Fehlerseiten schreiben", "Was auf einer Seite stehen soll, wenn eine Seite nicht gefunden wurde."},
	"el": {"Η σελίδα δεν βρέθηκε | Δήμος", "Επιστροφή στην αρχική.", "Σελίδες σφαλμάτων", "Τι λέει ένας διακομιστής όταν λείπει μια σελίδα."},
	"en": {"Page not found | Town", "Go to the start.", "Writing error pages", "What to say where a page was not found."},
	"es": {"Ayuntamiento", "No hemos encontrado la página.", "Páginas de error", "Qué decir cuando una página no existe."},
	"eu": {"Orria ez da aurkitu – Udala", "Itzuli hasierara.", "Errore-orriak", "Zer esan behar duen orri batek helbidea aldatu denean."},
	"fa": {"صفحه یافت نشد", "بازگشت به صفحه اصلی.", "صفحه\u200cهای خطا", "وقتی نشانی عوض شده است صفحه چه بگوید."},
	"fi": {"Sivua ei löydy – Kunta", "Siirry etusivulle.", "Virhesivut", "Mitä sivulla sanotaan, kun osoite on muuttunut."},
	"fr": {"Mairie", "Cette page n'existe plus.", "Pages d'erreur", "Ce que dit un serveur quand une page est introuvable ou a changé."},
	"ga": {"Níor aimsíodh an leathanach", "Ar ais go dtí an tús.", "Leathanaigh earráide", "Cad ba chóir a rá nuair a athraítear seoladh."},
	"gl": {"Páxina non atopada - Concello", "Volver ao inicio.", "Páxinas de erro", "Que debe dicir unha páxina cando cambia o enderezo."},
	"hi": {"पेज नहीं मिला", "मुखपृष्ठ पर जाएँ।", "त्रुटि पृष्ठ", "जब पता बदल जाए तो पृष्ठ क्या कहे।"},
	"hr": {"Stranica nije pronađena – Općina", "Povratak na početnu.", "Stranice pogrešaka", "Što stranica kaže kad se adresa promijeni."},
	"hu": {"Az oldal nem található – Önkormányzat", "Vissza a főoldalra.", "Hibaoldalak", "Mit mondjon egy oldal, ha megváltozott a címe."},
	"hy": {"Էջը չի գտնվել", "Վերադառնալ գլխավոր էջ։", "Սխալի էջեր", "Ինչ ասել, երբ հասցեն փոխվել է։"},
	"id": {"Halaman Tidak Ditemukan", "Kembali ke beranda.", "Halaman kesalahan", "Apa yang dikatakan halaman bila alamat berubah."},
	"it": {"404 Pagina non trovata – Comune di Esempio", "Torna alla home.", "Pagine di errore", "Che cosa scrivere quando una pagina non esiste più."},
	"ja": {"404エラー | 町役場", "トップページへ戻る", "エラーページの書き方", "ページが見つからないときに何を書くか。"},
	"ko": {"페이지를 찾을 수 없습니다", "처음으로", "오류 페이지 작성법", "주소가 바뀌었을 때 무엇을 쓸까."},
	"nl": {"Pagina niet gevonden | Gemeente", "Ga naar de homepage.", "Foutpagina's schrijven", "Wat een pagina zegt als het adres is veranderd."},
	"no": {"Siden finnes ikke – Kommune", "Gå til forsiden.", "Om feilsider", "Hva en side skal si når adressen er endret."},
	"pl": {"Nie znaleziono strony – Gmina", "Wróć na stronę główną.", "Strony błędów", "Co napisać, gdy adres się zmienił."},
	"pt": {"Página não encontrada - Câmara", "Voltar ao início.", "Páginas de erro", "O que dizer quando uma página não existe."},
	"ro": {"Pagina nu a fost găsită – Primărie", "Înapoi la început.", "Pagini de eroare", "Ce spune o pagină când adresa s-a schimbat."},
	"ru": {"Такой страницы нет", "Вернитесь на главную.", "Страницы ошибок", "Что писать, если страница не найдена."},
	"sv": {"Sidan hittades inte – Kommun", "Till startsidan.", "Felsidor", "Vad en sida ska säga när adressen har ändrats."},
	"ta": {"பக்கம் கிடைக்கவில்லை", "முகப்புக்குச் செல்க.", "பிழைப் பக்கங்கள்", "முகவரி மாறினால் என்ன எழுதலாம்."},
	"th": {"ไม่พบหน้านี้", "กลับหน้าหลัก", "การเขียนหน้าแจ้งข้อผิดพลาด", "ควรเขียนอะไรเมื่อที่อยู่เปลี่ยน"},
	"tr": {"Sayfa Bulunamadı – Belediye", "Ana sayfaya dön.", "Hata sayfaları", "Adres değiştiğinde sayfada ne yazmalı."},
	"zh": {"找不到網頁 - 鎮公所", "抱歉，您访问的页面已删除。", "错误页的写法", "地址变了以后页面该写什么。"},
}

// Notices that there is no such page are told in every language that the analyzer knows, and
// pages of the same language that speak of such notices are not taken for one.
func TestNoticesByLanguage(t *testing.T) {
	p := parse.New(parse.Options{})
	reason := func(title, body string) web.Reason {
		u, err := web.Parse("http://town.example/page")
		if err != nil {
			t.Fatal(err)
		}
		page, err := p.Parse(&web.Response{
			URL: u, Status: 200, Header: web.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: []byte("<title>" + title + "</title><nav><a href=/>1</a> <a href=/2>2</a></nav><p>" + body + "</p>"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return hollow.Reason(page)
	}
	for _, language := range text.Languages() {
		n, ok := notices[language]
		if !ok {
			t.Errorf("%s: no pages", language)
		} else if got := reason(n[0], n[1]); got != web.ReasonNotFound {
			t.Errorf("%s: %q %q is %q", language, n[0], n[1], got)
		} else if got := reason(n[2], n[3]); got != "" {
			t.Errorf("%s: content %q %q is %q", language, n[2], n[3], got)
		}
	}
}
