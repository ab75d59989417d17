"""Rows with the standard library: processes, threads, pools, locks, files, databases, sockets."""

from model import row

ROWS = (
    row(
        "sqlite3 memory",
        "import sqlite3\n"
        "c = sqlite3.connect(':memory:')\n"
        "c.execute('create table t (a)'); c.execute('insert into t values (5)'); c.commit()\n"
        "print(c.execute('select a from t').fetchall())",
        "c.execute('insert into t values (6)')\n"
        "print(c.execute('select a from t order by a').fetchall())",
    ),
    row(
        "sqlite3 file",
        "import sqlite3\n"
        "c = sqlite3.connect('row.db')\n"
        "c.execute('create table if not exists t (a)'); c.execute('delete from t'); "
        "c.execute('insert into t values (5)'); c.commit()\n"
        "print(c.execute('select a from t').fetchall())",
        "print(c.execute('select a from t order by a').fetchall())",
    ),
    row(
        "logging to file",
        """
        import logging
        log = logging.getLogger('row'); log.setLevel(logging.INFO); log.propagate = False
        hd = logging.FileHandler('row.log', mode='w')
        hd.setFormatter(logging.Formatter('%(levelname)s %(message)s'))
        log.addHandler(hd)
        log.info('first'); hd.flush()
        print(open('row.log').read())
        """,
        "log.info('again'); [h.flush() for h in log.handlers]\n"
        "print(len(log.handlers), open('row.log').read().splitlines()[-1])",
    ),
    row(
        "warnings.filterwarnings",
        "import warnings\n"
        "warnings.filterwarnings('error', category=DeprecationWarning)\n"
        "try: warnings.warn('x', DeprecationWarning)\n"
        "except DeprecationWarning: print('raised')",
        "try: warnings.warn('x', DeprecationWarning); print('not raised')\n"
        "except DeprecationWarning: print('raised')",
    ),
    row(
        "ThreadPoolExecutor kept",
        "from concurrent.futures import ThreadPoolExecutor\n"
        "ex = ThreadPoolExecutor(2)\n"
        "print(list(ex.map(abs, [-1, -2])))",
        "print(list(ex.map(abs, [-3, -4])))",
        told=("ThreadPoolExecutor",),
    ),
    row(
        "ProcessPoolExecutor kept",
        "from concurrent.futures import ProcessPoolExecutor\n"
        "ex = ProcessPoolExecutor(2)\n"
        "print(list(ex.map(abs, [-1, -2])))",
        "print(list(ex.map(abs, [-3, -4])))",
        told=("ProcessPoolExecutor", "child process", "processes"),
    ),
    row(
        "mp.Pool kept",
        "import multiprocessing as mp\npool = mp.Pool(2)\nprint(pool.map(abs, [-1, -2]))",
        "print(pool.map(abs, [-3, -4]))",
        told=("Pool", "processes"),
    ),
    row(
        "mp.Pool new",
        "import multiprocessing as mp\nwith mp.Pool(2) as p: print(p.map(abs, [-1, -2]))",
        "with mp.Pool(2) as p: print(p.map(abs, [-3, -4]))",
    ),
    row(
        "mp own function",
        "import multiprocessing as mp\n"
        "k = 10\n"
        "def f(x): return x * k\n"
        "with mp.Pool(2) as p: print(p.map(f, [1, 2]))",
        "with mp.Pool(2) as p: print(p.map(f, [3, 4]))",
    ),
    row(
        "mp Process+Queue",
        "import multiprocessing as mp\n"
        "def work(q): q.put(42)\n"
        "q = mp.Queue(); p = mp.Process(target=work, args=(q,)); p.start()\n"
        "print(q.get()); p.join(); del q, p",
        "q = mp.Queue(); p = mp.Process(target=work, args=(q,)); p.start()\n"
        "print(q.get()); p.join(); print(p.exitcode)",
    ),
    row(
        "mp Queue kept",
        "import multiprocessing as mp\n"
        "def work(q): q.put(42)\n"
        "q = mp.Queue(); p = mp.Process(target=work, args=(q,)); p.start()\n"
        "print(q.get()); p.join()",
        "p2 = mp.Process(target=work, args=(q,)); p2.start()\nprint(q.get()); p2.join()",
        told=("pipe",),
    ),
    row(
        "mp Manager",
        "import multiprocessing as mp\nm = mp.Manager(); d = m.dict(a=1)\nprint(dict(d))",
        "d['b'] = 2\nprint(sorted(d.items()))",
        told=("Manager", "process", "socket"),
    ),
    row(
        "mp Value/Array/Lock",
        "import multiprocessing as mp\n"
        "v = mp.Value('i', 3); arr = mp.Array('d', [1, 2]); L = mp.Lock()\n"
        "with L: print(v.value, arr[:])",
        "with L: print(v.value, arr[:])",
        told=("memory", "locks"),
    ),
    row(
        "mp shared_memory",
        "from multiprocessing import shared_memory\n"
        "m = shared_memory.SharedMemory(create=True, size=16); m.buf[0] = 7\n"
        "print(m.buf[0]); m.close(); m.unlink(); del m",
        "n = shared_memory.SharedMemory(create=True, size=16); n.buf[0] = 9\n"
        "print(n.buf[0]); n.close(); n.unlink(); del n",
    ),
    row(
        "mp spawn script fn",
        "import multiprocessing as mp, os, sys\n"
        "open('spawned.py', 'w').write('def twice(x): return 2 * x\\n')\n"
        "sys.path.insert(0, os.getcwd()); import spawned\n"
        "ctx = mp.get_context('spawn')\n"
        "with ctx.Pool(1) as p: print(p.map(spawned.twice, [1, 2]))",
        "with ctx.Pool(1) as p: print(p.map(spawned.twice, [3, 4]))",
    ),
    row(
        "subprocess kept",
        "import subprocess\n"
        "child = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, "
        "text=True)\n"
        "print(child.poll())",
        "print(child.poll(), subprocess.run(['echo', 'x'], capture_output=True, text=True).stdout)",
        told=("process", "pipe"),
    ),
    row(
        "threads timer",
        "import threading\n"
        "seen = []\n"
        "def note(): seen.append(1)\n"
        "t = threading.Timer(0, note); t.start(); t.join()\n"
        "print(seen, t.is_alive())",
        "t2 = threading.Timer(0, note); t2.start(); t2.join()\nprint(seen)",
    ),
    row(
        "thread running",
        "import threading\n"
        "stop = threading.Event()\n"
        "th = threading.Thread(target=stop.wait, args=(600,), daemon=True); th.start()\n"
        "print(th.is_alive())",
        "print(th.is_alive())",
        told=("threads",),
    ),
    row(
        "http server thread kept",
        """
        import http.server, threading, urllib.request
        class H(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200); self.end_headers(); self.wfile.write(b'hello')
            def log_message(self, *a): pass
        srv = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
        th = threading.Thread(target=srv.serve_forever, daemon=True); th.start()
        url = f'http://127.0.0.1:{srv.server_port}/'
        print(urllib.request.urlopen(url, timeout=5).read())
        """,
        "print(urllib.request.urlopen(url, timeout=5).read())",
        told=("threads", "socket"),
    ),
    row(
        "open file kept",
        "open('lines.txt', 'w').write('one\\ntwo\\nthree\\n')\n"
        "f = open('lines.txt')\n"
        "print(f.readline())",
        "print(f.readline())",
    ),
    row(
        "locks, events, queues",
        "import queue, threading\n"
        "L, R, ev, q = threading.Lock(), threading.RLock(), threading.Event(), "
        "queue.Queue()\n"
        "q.put(1); ev.set()\n"
        "print(L.locked(), q.qsize())",
        "with L, R: print(ev.is_set(), q.get(timeout=5), L.locked())\nq.put(1)",
    ),
    row(
        "zipfile/tempfile/pathlib",
        "import io, tempfile, zipfile, pathlib\n"
        "b = io.BytesIO(); z = zipfile.ZipFile(b, 'w'); z.writestr('a', 'x')\n"
        "d = pathlib.Path('kept'); d.mkdir(exist_ok=True)\n"
        "print(z.namelist(), d.is_dir())",
        "z.writestr('b', 'y'); print(z.namelist(), d.is_dir())",
    ),
)
