"""Makes the webs of docs/results/languages.md in which two languages stand side by side.

    apt-get download libreoffice-help-{en-us,ja,ko,zh-cn}
    for f in libreoffice-help-*.deb; do dpkg-deb -x $f help; done
    python3 languages-mixed.py help sources
    for d in sources/*; do waggle web build $d -o webs/$(basename $d); done
    waggle lab judge webs/* -o judge --pages 100

Each web holds a page of the help in English and the same page in another language, of every
fourth address, and of all that count. Its topics are said in that language alone (own), or in both (both).
"""
import glob, hashlib, html, json, os, re, sys

base = sys.argv[1] + '/usr/share/libreoffice/help/'
rules = {
    'printing': r'\bprint',
    'charts': r'\bcharts?\b',
    'databases': r'\bdatabases?\b|\bquer(y|ies)\b',
    'filters': r'filter',
    'headers': r'\bheaders?\b|\bfooters?\b',
    'forms': r'\bforms?\b',
}
kw = {
    'printing': dict(en=['printing', 'printer'], ja=['印刷', 'プリンター'], zh=['打印', '打印机'], ko=['인쇄', '프린터']),
    'charts': dict(en=['chart', 'data series'], ja=['グラフ', 'データ系列'], zh=['图表', '数据系列'], ko=['차트', '데이터 계열']),
    'databases': dict(en=['database', 'query'], ja=['データベース', 'クエリー'], zh=['数据库', '查询'], ko=['데이터베이스', '쿼리']),
    'filters': dict(en=['filter'], ja=['フィルター'], zh=['筛选'], ko=['필터']),
    'headers': dict(en=['header', 'footer'], ja=['ヘッダー', 'フッター'], zh=['页眉', '页脚'], ko=['머리글', '바닥글']),
    'forms': dict(en=['form', 'control'], ja=['フォーム', 'コントロール'], zh=['窗体', '表单', '控件'], ko=['양식', '컨트롤']),
}
folder = dict(en='en-US', ja='ja', zh='zh-CN', ko='ko')


def read(p):
    return open(p, encoding='utf-8').read()


def title(p):
    m = re.search(r'<title>(.*?)</title>', read(p), re.S)
    return html.unescape(m.group(1)).strip() if m else ''


en = {p[len(base + 'en-US/'):]: title(p) for p in sorted(glob.glob(base + 'en-US/text/**/*.html', recursive=True))}
hits = {t: [k for k in en if re.search(rx, en[k], re.I)] for t, rx in rules.items()}
kept = [k for i, k in enumerate(en) if i % 4 == 0 or any(k in h for h in hits.values())]
for l in ['ja', 'zh', 'ko']:
    for mode in ['own', 'both']:
        d = f'{sys.argv[2]}/{l}-{mode}'
        os.makedirs(d + '/truth', exist_ok=True)
        langs = [l, 'en']
        host = {x: f'http://{x}.help.example/{folder[x]}/' for x in langs}
        with open(d + '/pages.jsonl', 'w', encoding='utf-8') as o:
            for x in langs:
                for k in kept:
                    if os.path.exists(base + folder[x] + '/' + k):
                        o.write(json.dumps(dict(url=host[x] + k, status=200, content_type='text/html; charset=utf-8', body=read(base + folder[x] + '/' + k)), ensure_ascii=False) + '\n')
        of = [l] if mode == 'own' else langs
        y = [f'name: {l}-{mode}', f'description: "Help of LibreOffice 7.4.7 in {l} and en"', 'source: "Debian 12, libreoffice-help packages"', 'licence: "MPL-2.0"', 'topics:']
        for t in rules:
            y += [f'  - name: {t}', '    description: ""', f'    keywords: {json.dumps(sum((kw[t][x] for x in of), []), ensure_ascii=False)}',
                  f'    language: {json.dumps(of)}', '    seeds:', f'      - "{host[l]}text/swriter/main0000.html"',
                  '    examples:', *(f'      - "{host[x]}{k}"' for x in of for k in sorted(hits[t], key=lambda k: hashlib.md5(k.encode()).hexdigest())[:8 // len(of)]), f'    truth: truth/{t}.txt']
            with open(f'{d}/truth/{t}.txt', 'w') as o:
                o.writelines(host[x] + k + '\n' for x in of for k in sorted(hits[t]))
        with open(d + '/web.yaml', 'w', encoding='utf-8') as o:
            o.write('\n'.join(y) + '\n')
