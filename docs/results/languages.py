"""Makes the webs of docs/results/languages.md of the help of LibreOffice in seven languages.

    apt-get download libreoffice-help-{de,en-us,es,fr,ja,ru,zh-cn} libreoffice-help-common
    for f in libreoffice-help-*.deb; do dpkg-deb -x $f help; done
    python3 languages.py help sources
    for d in sources/*; do waggle web build $d -o webs/$(basename $d); done
    waggle lab judge webs/* -o judge --pages 300
    python3 languages.py help sources without-examples
    for d in sources/*; do waggle web build $d -o webs-300/$(basename $d); done
    waggle lab run -f sources.yaml -o lab

A folder LANGUAGE holds topics in that language, LANGUAGE-by-english the same with its
topics said to be in English. The third argument leaves the examples out.
"""
import glob
import hashlib
import html
import json
import os
import re
import sys

base = sys.argv[1] + '/usr/share/libreoffice/help/'
def title(p):
    s=open(p,encoding='utf-8').read()
    m=re.search(r'<title>(.*?)</title>',s,re.S)
    return html.unescape(m.group(1)).strip() if m else ''
en={p[len(base+'en-US/'):]:title(p) for p in glob.glob(base+'en-US/text/**/*.html',recursive=True)}
rules={
 'printing': r'\bprint',
 'charts': r'\bcharts?\b',
 'databases': r'\bdatabases?\b|\bquer(y|ies)\b',
 'slides': r'\bslides?\b|\bpresentations?\b',
 'filters': r'filter',
 'indexes': r'\bind(ex|exes|ices)\b|tables? of contents',
 'headers': r'\bheaders?\b|\bfooters?\b',
 'forms': r'\bforms?\b',
}
kw={
 'printing':dict(en=['printing','printer'],de=['Drucken','Drucker'],fr=['impression','imprimante'],es=['imprimir','impresora'],ru=['печать','принтер'],ja=['印刷','プリンター'],zh=['打印','打印机']),
 'charts':dict(en=['chart','data series'],de=['Diagramm','Datenreihe'],fr=['diagramme','série de données'],es=['gráfico','serie de datos'],ru=['диаграмма','ряд данных'],ja=['グラフ','データ系列'],zh=['图表','数据系列']),
 'databases':dict(en=['database','query'],de=['Datenbank','Abfrage'],fr=['base de données','requête'],es=['base de datos','consulta'],ru=['база данных','запрос'],ja=['データベース','クエリー'],zh=['数据库','查询']),
 'slides':dict(en=['slide','presentation'],de=['Folie','Präsentation'],fr=['diapo','présentation'],es=['diapositiva','presentación'],ru=['слайд','презентация'],ja=['スライド','プレゼンテーション'],zh=['幻灯片','演示文稿']),
 'filters':dict(en=['filter'],de=['Filter'],fr=['filtre'],es=['filtro'],ru=['фильтр'],ja=['フィルター'],zh=['筛选']),
 'indexes':dict(en=['index','table of contents'],de=['Verzeichnis','Inhaltsverzeichnis'],fr=['index','table des matières'],es=['índice','índice de contenido'],ru=['указатель','оглавление'],ja=['索引','目次'],zh=['索引','目录']),
 'headers':dict(en=['header','footer'],de=['Kopfzeile','Fußzeile'],fr=['en-tête','pied de page'],es=['encabezado','pie de página'],ru=['верхний колонтитул','нижний колонтитул'],ja=['ヘッダー','フッター'],zh=['页眉','页脚']),
 'forms':dict(en=['form','control'],de=['Formular','Steuerelement'],fr=['formulaire','contrôle'],es=['formulario','campo de control'],ru=['форма','элемент управления'],ja=['フォーム','コントロール'],zh=['窗体','表单','控件']),
}
seeds=['text/swriter/main0000.html','text/scalc/main0000.html','text/simpress/main0000.html','text/sdraw/main0000.html','text/smath/main0000.html','text/schart/main0000.html','text/sbasic/shared/main0601.html','text/sdatabase/main.html','text/shared/guide/main.html']
folder=dict(en='en-US',de='de',fr='fr',es='es',ru='ru',ja='ja',zh='zh-CN')
out = sys.argv[2]
names = []
for l,f in folder.items():
    for mode in (['own'] if l=='en' else ['own','english']):
        d=f'{out}/{l}' if mode=='own' else f'{out}/{l}-by-english'
        os.makedirs(d+'/truth',exist_ok=True)
        host=f'http://{l}.help.example/'
        with open(d+'/pages.jsonl','w',encoding='utf-8') as o:
            n=0
            for p in sorted(glob.glob(base+f+'/text/**/*.html',recursive=True)):
                n+=1
                o.write(json.dumps(dict(url=host+p[len(base):],status=200,content_type='text/html; charset=utf-8',body=open(p,encoding='utf-8').read()),ensure_ascii=False)+'\n')
        y=[f'name: {os.path.basename(d)}',f'description: "Help of LibreOffice 7.4.7 in {l}"','source: "Debian 12, libreoffice-help packages"','licence: "MPL-2.0"',f'pages: {n}','hosts: 1','topics:']
        for t,rx in rules.items():
            hits=[k for k,v in en.items() if re.search(rx,v,re.I)]
            open(f'{d}/truth/{t}.txt','w').write(''.join(host+f+'/'+k+'\n' for k in sorted(hits)))
            y+=[f'  - name: {t}','    description: ""',f'    keywords: {json.dumps(kw[t][l],ensure_ascii=False)}',f'    language: [{l if mode=="own" else "en"}]','    seeds:']
            y+=[f'      - "{host}{f}/{s}"' for s in seeds if s in en]
            if len(sys.argv) < 4:
                ex=sorted(hits,key=lambda k:hashlib.md5(k.encode()).hexdigest())[:8]
                y+=['    examples:']+[f'      - "{host}{f}/{k}"' for k in ex]
            y+=[f'    truth: truth/{t}.txt',f'    relevant: {len(hits)}']
        open(d+'/web.yaml','w',encoding='utf-8').write('\n'.join(y)+'\n')
        names.append(os.path.basename(d))
with open(out + '.yaml', 'w') as o:
    o.write('title: Topics in six languages\nwebs:\n')
    o.writelines(f'  - path: webs-300/{n}\n' for n in names)
    o.write('budgets: [300]\nrepeats: 1\njudges: [topic]\nbaseline: best-first-both\nscorers: [best-first-both, waggle]\n')
