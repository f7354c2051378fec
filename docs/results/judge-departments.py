"""What labels teach a classifier of pages on the web "departments", for docs/results/judge.md.

    python3 judge-departments.py webs/departments

webs/departments holds pages.jsonl.zst, labels.tsv and truth. For each topic it prints P@R of
logistic regression (AdaGrad, eight passes, words of the text, of the title and of the
address weighted by tf-idf) that was taught by all labels of the other two universities, and
of the same taught by eight examples, all other pages as unwanted, in the mean of five draws.
"""
import collections
import html
import json
import math
import random
import re
import subprocess
import sys


def read(folder):
    """The pages as (address, words with weights of norm 1, university)."""
    university = {}
    for line in open(folder + '/labels.tsv'):
        address, _, site = line.rstrip('\n').split('\t')
        university[address] = site
    raw = subprocess.run(['zstd', '-dc', '--long=27', folder + '/pages.jsonl.zst'], stdout=subprocess.PIPE, check=True)
    pages = []
    for line in raw.stdout.decode().splitlines():
        page = json.loads(line)
        if page['url'] not in university or page['status'] != 200:
            continue
        title = re.search(r'(?is)<title[^>]*>(.*?)</title', page['body'])
        title = html.unescape(title.group(1)) if title else ''
        text = html.unescape(re.sub(r'(?s)<[^>]*>', ' ', page['body']))
        words = {w: 1 + math.log(n) for w, n in collections.Counter(re.findall(r'[a-z]{2,}', text.lower())).items()}
        for w in re.findall(r'[a-z]+', title.lower()):
            words['title ' + w] = 2
        for w in re.findall(r'[a-z]+|~', page['url'].split('/', 3)[-1].lower()):
            words['address ' + w] = 2
        pages.append((page['url'], words, university[page['url']]))
    df = collections.Counter(w for _, words, _ in pages for w in words)
    out = []
    for address, words, site in pages:
        v = {w: x * math.log(len(pages) / df[w]) for w, x in words.items() if df[w] > 1}
        norm = math.sqrt(sum(x * x for x in v.values())) or 1
        out.append((address, [(w, x / norm) for w, x in v.items()], site))
    return out


def train(examples, seed):
    """Weights and constant of a logistic regression; wanted pages count up to ten times."""
    order = random.Random(seed)
    w, squares = collections.defaultdict(float), collections.defaultdict(float)
    constant, constant_squares = 0.0, 1e-8
    wanted = sum(y for _, y in examples)
    weight = min(10, (len(examples) - wanted) / max(1, wanted))
    for _ in range(8):
        order.shuffle(examples)
        for v, y in examples:
            z = constant + sum(w[k] * x for k, x in v)
            d = (1 / (1 + math.exp(-max(-30, min(30, z)))) - y) * (weight if y else 1)
            constant_squares += d * d
            constant -= .5 * d / math.sqrt(constant_squares)
            for k, x in v:
                g = d * x + 1e-4 * w[k]
                squares[k] += g * g
                w[k] -= .5 * g / math.sqrt(squares[k] + 1e-8)
    return w, constant


def scores(model, pages, relevant):
    w, constant = model
    return [(constant + sum(w.get(k, 0) * x for k, x in v), address in relevant) for address, v, _ in pages]


def precision_at_r(scored):
    scored = sorted(scored, key=lambda s: -s[0])
    r = sum(y for _, y in scored)
    return sum(y for _, y in scored[:r]) / r


pages = read(sys.argv[1])
print('topic\trelevant\tlabels of the others\teight examples')
for topic in ('course', 'faculty', 'project', 'staff', 'student'):
    relevant = {line.strip() for line in open(f'{sys.argv[1]}/truth/{topic}.txt')}
    left_out = []
    for site in sorted({s for _, _, s in pages}):
        model = train([(v, int(a in relevant)) for a, v, s in pages if s != site], 1)
        left_out += scores(model, [p for p in pages if p[2] == site], relevant)
    few = []
    for seed in range(5):
        shown = set(random.Random(seed).sample(sorted(a for a, _, _ in pages if a in relevant), 8))
        model = train([(v, int(a in shown)) for a, v, _ in pages], seed)
        few.append(precision_at_r(scores(model, [p for p in pages if p[0] not in shown], relevant)))
    n = sum(y for _, y in left_out)
    print(f'{topic}\t{n}\t{precision_at_r(left_out):.3f}\t{sum(few) / len(few):.3f}', flush=True)
