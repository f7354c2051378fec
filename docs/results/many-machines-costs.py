import http.server, random, socketserver, sys
SITES, PAGES = 60, int(sys.argv[5])
words = [''.join(random.Random(i).choices('abcdefghijklmnoprstuvw', k=random.Random(i*7).randint(3,9))) for i in range(4000)]
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        url = self.path
        if url == sys.argv[2] or url.endswith(sys.argv[2]):
            self.send_response(200); self.send_header(sys.argv[3], sys.argv[4]); self.send_header('Content-Length','0'); self.end_headers(); return
        rest = url.split('://',1)[-1]
        host, _, path = rest.partition('/')
        try:
            i, j = int(host[1:].split('.')[0]), int(path)
        except ValueError:
            self.send_response(404); self.send_header('Content-Length','0'); self.end_headers(); return
        r = random.Random(i*1000+j)
        out = ['<title>Page %d of site %d</title>' % (j, i)]
        for k in range(25):
            out.append('<p>' + ' '.join(words[min(3999,int(r.expovariate(1/400)))] for _ in range(20)) + (' bees' if r.random()<.1 else ''))
            out.append('<a href="http://s%d.example/%d">%s</a>' % (i if r.random()<.6 else r.randrange(SITES), r.randrange(PAGES), words[r.randrange(3000)]))
        b = '\n'.join(out).encode()
        self.send_response(200); self.send_header('Content-Type','text/html'); self.send_header('Content-Length',str(len(b))); self.end_headers(); self.wfile.write(b)
    def log_message(self,*a): pass
class S(socketserver.ThreadingMixIn, http.server.HTTPServer): daemon_threads=True
S(('127.0.0.1', int(sys.argv[1])), H).serve_forever()
