package parse

import (
	"strings"
	"testing"
)

// labels are those of the Encoding Standard, section 4.2, by the names of their encodings.
var labels = map[string]string{
	"utf-8":          "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
	"ibm866":         "866 cp866 csibm866 ibm866",
	"iso-8859-2":     "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
	"iso-8859-3":     "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
	"iso-8859-4":     "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
	"iso-8859-5":     "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
	"iso-8859-6":     "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
	"iso-8859-7":     "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 sun_eu_greek",
	"iso-8859-8":     "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 visual",
	"iso-8859-8-i":   "csiso88598i iso-8859-8-i logical",
	"iso-8859-10":    "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
	"iso-8859-13":    "iso-8859-13 iso8859-13 iso885913",
	"iso-8859-14":    "iso-8859-14 iso8859-14 iso885914",
	"iso-8859-15":    "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
	"iso-8859-16":    "iso-8859-16",
	"koi8-r":         "cskoi8r koi koi8 koi8-r koi8_r",
	"koi8-u":         "koi8-ru koi8-u",
	"macintosh":      "csmacintosh mac macintosh x-mac-roman",
	"windows-874":    "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
	"windows-1250":   "cp1250 windows-1250 x-cp1250",
	"windows-1251":   "cp1251 windows-1251 x-cp1251",
	"windows-1252":   "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
	"windows-1253":   "cp1253 windows-1253 x-cp1253",
	"windows-1254":   "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 windows-1254 x-cp1254",
	"windows-1255":   "cp1255 windows-1255 x-cp1255",
	"windows-1256":   "cp1256 windows-1256 x-cp1256",
	"windows-1257":   "cp1257 windows-1257 x-cp1257",
	"windows-1258":   "cp1258 windows-1258 x-cp1258",
	"x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
	"gbk":            "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
	"gb18030":        "gb18030",
	"big5":           "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
	"euc-jp":         "cseucpkdfmtjapanese euc-jp x-euc-jp",
	"iso-2022-jp":    "csiso2022jp iso-2022-jp",
	"shift_jis":      "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
	"euc-kr":         "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 windows-949",
	"replacement":    "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr replacement",
	"utf-16be":       "unicodefffe utf-16be",
	"utf-16le":       "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
	"x-user-defined": "x-user-defined",
}

// Each label of the standard names its encoding, in any case and with white space around
// it, and no other label names one.
func TestLabels(t *testing.T) {
	n := 0
	for name, all := range labels {
		for _, label := range strings.Fields(all) {
			n++
			for _, l := range []string{label, strings.ToUpper(label), "\t" + label + " \r\n\f"} {
				if got := encodingName(l); got != name {
					t.Errorf("%q is %q, want %q", l, got, name)
				}
			}
		}
	}
	if len(labels) != 40 {
		t.Errorf("%d encodings", len(labels))
	}
	for _, l := range []string{"", "utf-7", "utf-32", "ucs-4", "cesu-8", "bocu-1", "scsu", "ebcdic-cp-us", "ibm037", "utf‑8", "utf 8", "latin-1", "iso-8859-12",
		"windows-1259", "klingon-8", "utf-8;", "\u212aoi8-r", "utf-8\x00", "\v utf-8", "utf-8\u00a0"} {
		if got := encodingName(l); got != "" {
			t.Errorf("%q is %q, want none", l, got)
		}
	}
	t.Logf("%d labels of %d encodings", n, len(labels))
}

// Every encoding decodes: a byte that stands for different characters in different ones.
func TestDecodeByLabel(t *testing.T) {
	for _, c := range []struct{ label, bytes, want, name string }{
		{"windows-1252", "\x80\x9f", "€Ÿ", "windows-1252"},
		{"latin1", "\x80", "€", "windows-1252"},
		{"iso-8859-15", "\xa4", "€", "iso-8859-15"},
		{"koi8-r", "\xc1\xd4", "ат", "koi8-r"},
		{"koi8-u", "\xae\xbe", "ўЎ", "koi8-u"},
		{"windows-1251", "\xc0\xe0", "Аа", "windows-1251"},
		{"x-mac-cyrillic", "\xff", "€", "x-mac-cyrillic"},
		{"tis-620", "\xa1", "ก", "windows-874"},
		{"gb2312", "\x80", "€", "gbk"},
		{"gb18030", "\x81\x30\x81\x30", "\u0080", "gb18030"},
		{"big5", "\xa4\xa4\xa4\xe5", "中文", "big5"},
		{"euc-jp", "\xc6\xfc\xcb\xdc", "日本", "euc-jp"},
		{"sjis", "\x93\xfa\x96\x7b\xb1", "日本ｱ", "shift_jis"},
		{"iso-2022-jp", "\x1b$B\x46\x7c\x4b\x5c\x1b(B!", "日本!", "iso-2022-jp"},
		{"ks_c_5601-1987", "\xc7\xd1\xb1\xdb", "한글", "euc-kr"},
		{"utf-16", "a\x00\xac\x20", "a€", "utf-16le"},
		{"utf-16be", "\x00a\x20\xac", "a€", "utf-16be"},
		{"x-user-defined", "a\x80\xff", "a\uf780\uf7ff", "x-user-defined"},
		// What the sender says is not believed against a mark, or where it is no encoding.
		{"iso-8859-2", "\xef\xbb\xbf€", "€", "utf-8"},
		{"utf-16be", "\xff\xfea\x00", "a", "utf-16le"},
		{"klingon-8", "€", "€", "utf-8"},
		// One U+FFFD for all, so that no script hides in them.
		{"", "\x1b$B\x46\x7c\x4b\x5c\x1b(B!", "日本!", "iso-2022-jp"},
		{"", "\x1b$@\x46\x7c\x1b(J", "日", "iso-2022-jp"},
		{"", "costs \x1b[1m$B", "costs \x1b[1m$B", "utf-8"},
		{"iso-2022-kr", "caf\xe9 <p>", "\ufffd", "replacement"},
		{"hz-gb-2312", "~{<:Ky2;NpTZ~}", "\ufffd", "replacement"},
	} {
		if text, name := Decode([]byte(c.bytes), c.label); string(text) != c.want || name != c.name {
			t.Errorf("%s: %+q by %s, want %+q by %s", c.label, text, name, c.want, c.name)
		}
	}
	// A page cannot say in ASCII that it is none, and x-user-defined of a page is
	// windows-1252: HTML Standard, 13.2.3.2.
	for said, want := range map[string]string{"utf-16": "utf-8", "utf-16be": "utf-8", "UTF-16LE": "utf-8", "x-user-defined": "windows-1252", "koi8-ru": "koi8-u"} {
		if _, name := decode([]byte("<meta charset="+said+"><p>\x80"), "", true); name != want {
			t.Errorf("<meta charset=%s>: %s, want %s", said, name, want)
		}
	}
}

// A page that says its encoding only in its XML declaration is in that one.
func TestXMLDeclaration(t *testing.T) {
	for _, c := range []struct{ body, want, text string }{
		{"<?xml version=\"1.0\" encoding=\"iso-8859-2\"?><p>\xb1\xbc", "iso-8859-2", "ąź"},
		{"<?xml version='1.0' encoding = 'KOI8-R' standalone='yes' ?><p>\xc1\xd4", "koi8-r", "ат"},
		{"<?xml encoding=\"utf-16\"?><p>ą", "utf-8", "ą"},
		{"<?xml version=\"1.0\" encoding=\"iso-8859-2\"?><meta charset=windows-1251><p>\xc0", "windows-1251", "А"},
		{"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"iso-8859-2\"?><p>ą", "utf-8", "ą"},
		// No declaration: what is behind a space, or has no end, or names no encoding.
		{" <?xml version=\"1.0\" encoding=\"iso-8859-2\"?><p>ą", "utf-8", "ą"},
		{"<?xml version=\"1.0\" encoding=\"klingon-8\"?><p>ą", "utf-8", "ą"},
		{"<?xml version=\"1.0\" encoding=\"iso-8859-2?><p>ą\"", "utf-8", "ą"},
		{"<?xml version=\"1.0\" encoding=\"iso-8859-2 \"?><p>ą", "utf-8", "ą"},
		{"<?xml version=\"1.0\" encoding iso-8859-2?><p>ą", "utf-8", "ą"},
		{"<?xml version=\"1.0\"?><p>encoding=\"iso-8859-2\" ą", "utf-8", "ą"},
		{"<?xml encoding=", "utf-8", ""},
		{"<?xml encoding=>", "utf-8", ""},
	} {
		if text, name := decode([]byte(c.body), "", true); name != c.want || !strings.Contains(string(text), c.text) {
			t.Errorf("%q is %q by %s, want %s", c.body, text, name, c.want)
		}
	}
	if _, name := decode([]byte("<?xml version=\"1.0\" encoding=\"iso-8859-2\"?><p>\xb1"), "windows-1250", true); name != "windows-1250" {
		t.Errorf("against the header it is %s", name)
	}
}
