"""Makes the webs of docs/results/languages.md of the documentation of Microsoft Dynamics 365.

    for l in th-th de-de ja-jp; do git clone --depth 1 https://github.com/MicrosoftDocs/Dynamics-365-Operations.$l; done
    python3 languages-thai.py . sources
    for d in sources/*; do waggle web build $d -o webs/$(basename $d); done
    waggle lab judge webs/* -o judge --pages 300
    python3 languages-thai.py . sources-300 without-examples
    for d in sources-300/*; do waggle web build $d -o webs-300/$(basename $d); done
    waggle lab run -f sources-300.yaml -o lab

The first argument is the folder of the clones. The pages are Markdown, which is made HTML here. Their
addresses are numbers, and the English names of their headings are left out.
"""
import hashlib, html, io, json, os, posixpath, re, subprocess, sys, tarfile

rules = {
    'budgets': r'budget',
    'assets': r'fixed-asset',
    'warehouses': r'warehouse',
    'workflows': r'workflow',
    'discounts': r'discount',
    'banks': r'\bbank',
    'leases': r'\bleas(e|es|ing)\b',
    'payroll': r'payroll',
}
kw = {
    'budgets': dict(th=['งบประมาณ'], de=['Budget'], ja=['予算']),
    'assets': dict(th=['สินทรัพย์ถาวร'], de=['Anlagevermögen', 'Anlagen'], ja=['固定資産']),
    'warehouses': dict(th=['คลังสินค้า'], de=['Lagerort', 'Lagerplatz'], ja=['倉庫']),
    'workflows': dict(th=['ลำดับงาน', 'เวิร์กโฟลว์'], de=['Workflow'], ja=['ワークフロー']),
    'discounts': dict(th=['ส่วนลด'], de=['Rabatt'], ja=['割引']),
    'banks': dict(th=['ธนาคาร'], de=['Bank', 'Bankkonto'], ja=['銀行']),
    'leases': dict(th=['สัญญาเช่า', 'การเช่า'], de=['Leasing', 'Leasingvertrag'], ja=['リース']),
    'payroll': dict(th=['เงินเดือน', 'ค่าจ้าง'], de=['Lohn', 'Gehaltsabrechnung'], ja=['給与']),
}
folder = dict(th='th-th', de='de-de', ja='ja-jp')
where = sys.argv[1]


def pages(locale):
    """The articles of a repository, Markdown by their paths."""
    git = f'{where}/Dynamics-365-Operations.{locale}'
    tar = subprocess.run(['git', '-C', git, 'archive', 'HEAD', 'articles'], stdout=subprocess.PIPE, check=True).stdout
    t = tarfile.open(fileobj=io.BytesIO(tar))
    return {m.name: t.extractfile(m).read().decode('utf-8-sig').replace('\r', '') for m in t if m.name.endswith('.md') and '/includes/' not in m.name}


def english(text):
    """The English words of the first heading, parted by -."""
    m = re.search(r'^# +<a name="([^"]*)">', text, re.M)
    return m.group(1) if m else ''


def inline(text, path, number):
    """A line of Markdown as HTML: links among the articles by their numbers, no pictures, no marks."""
    text = re.sub(r'<!--.*?-->|<[^>]*>|!\[[^]]*\]\([^)]*\)|\[!\w+[^]]*\]+(\([^)]*\)\])?', ' ', text)
    out, at = '', 0
    for m in re.finditer(r'\[([^]]*)\]\(([^)\s#]*)[^)]*\)', text):
        n = number.get(posixpath.normpath(posixpath.join(posixpath.dirname(path), m[2])))
        out += html.escape(text[at:m.start()])
        out += f'<a href="{n}.html">{html.escape(m[1])}</a>' if n is not None else html.escape(m[1])
        at = m.end()
    return re.sub(r'[*`|\\]+', ' ', out + html.escape(text[at:]))


def page(lang, path, text, number):
    front = re.match(r'---\n(.*?)\n---\n', text, re.S)
    title = re.search(r'^title: *(.*)$', front.group(1), re.M) if front else None
    body, lines = [], []
    for line in (text[front.end():] if front else text).split('\n') + ['']:
        h = re.match(r'(#+) +(.*)', line)
        if h or not line.strip():
            if lines:
                body.append('<p>' + ' '.join(lines) + '</p>')
                lines = []
            if h:
                body.append(f'<h{min(6, len(h[1]))}>{inline(h[2], path, number)}</h{min(6, len(h[1]))}>')
        else:
            lines.append(inline(line, path, number))
    name = html.escape(title.group(1).strip(' "\'')) if title else ''
    return f'<!DOCTYPE html><html lang="{lang}"><head><meta charset="utf-8"><title>{name}</title></head><body>' + '\n'.join(body) + '</body></html>'


texts = {l: pages(f) for l, f in folder.items()}
names = {p: english(t) for p, t in texts['th'].items()}
kept = sorted(p for p in names if all(p in texts[l] for l in folder))
number = {p: n for n, p in enumerate(sorted(kept, key=lambda p: hashlib.md5(p.encode()).hexdigest()))}
hits = {t: [p for p in kept if re.search(rx, names[p])] for t, rx in rules.items()}
linked = {}
for p in kept:
    for m in re.finditer(r'\]\(([^)\s#]*)', texts['th'][p]):
        to = posixpath.normpath(posixpath.join(posixpath.dirname(p), m[1]))
        linked.setdefault(p, set()).add(to)
seeds = sorted(kept, key=lambda p: (-len(linked.get(p, set()) & number.keys()), p))[:9]
out, built = sys.argv[2], []
for l in folder:
    for mode in ['own', 'english']:
        name = l if mode == 'own' else l + '-by-english'
        d, host = f'{out}/{name}', f'http://{l}.docs.example/'
        os.makedirs(d + '/truth', exist_ok=True)
        with open(d + '/pages.jsonl', 'w', encoding='utf-8') as o:
            for p in kept:
                o.write(json.dumps(dict(url=f'{host}{number[p]}.html', status=200, content_type='text/html; charset=utf-8', body=page(l, p, texts[l][p], number)), ensure_ascii=False) + '\n')
        y = [f'name: {name}', f'description: "Dynamics 365 Finance and Operations in {l}"', 'source: "GitHub, MicrosoftDocs/Dynamics-365-Operations"', 'licence: "CC-BY-4.0"', f'pages: {len(kept)}', 'hosts: 1', 'topics:']
        for t in rules:
            with open(f'{d}/truth/{t}.txt', 'w') as o:
                o.write(''.join(f'{host}{number[p]}.html\n' for p in hits[t]))
            y += [f'  - name: {t}', '    description: ""', f'    keywords: {json.dumps(kw[t][l], ensure_ascii=False)}', f'    language: [{l if mode == "own" else "en"}]', '    seeds:']
            y += [f'      - "{host}{number[p]}.html"' for p in seeds]
            if len(sys.argv) < 4:
                y += ['    examples:'] + [f'      - "{host}{number[p]}.html"' for p in sorted(hits[t], key=lambda p: number[p])[:8]]
            y += [f'    truth: truth/{t}.txt', f'    relevant: {len(hits[t])}']
        with open(d + '/web.yaml', 'w', encoding='utf-8') as o:
            o.write('\n'.join(y) + '\n')
        if mode == 'own':
            built.append(name)
print(len(kept), 'pages', {t: len(h) for t, h in hits.items()})
with open(out + '.yaml', 'w') as o:
    o.write('title: Topics in three languages\nwebs:\n')
    o.writelines(f'  - path: webs-300/{n}\n' for n in built)
    o.write('budgets: [300]\nrepeats: 1\njudges: [topic]\nbaseline: best-first-both\nscorers: [best-first-both, waggle]\n')
