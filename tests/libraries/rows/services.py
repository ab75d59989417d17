"""Rows with network libraries, schedulers, progress bars, widgets, and pools of processes."""

from model import row

ROWS = (
    row(
        "dask settings",
        "import dask\ndask.config.set({'scheduler': 'synchronous', 'array.chunk-size': '1MiB'})\n"
        "print(dask.config.get('scheduler'))",
        "print(dask.config.get('scheduler'), dask.config.get('array.chunk-size'))",
    ),
    row(
        "grpc channel/server",
        """
        import grpc
        from concurrent import futures
        class Echo(grpc.GenericRpcHandler):
            def service(self, details):
                return grpc.unary_unary_rpc_method_handler(lambda request, context: request[::-1])
        def serve():
            server = grpc.server(futures.ThreadPoolExecutor(2), handlers=(Echo(),))
            return server, server.add_insecure_port('127.0.0.1:0')
        def call(channel, what):
            return channel.unary_unary('/E/e')(what, timeout=10)
        srv, port = serve(); srv.start()
        ch = grpc.insecure_channel(f'127.0.0.1:{port}')
        print(call(ch, b'abc'))
        """,
        """
        server, port = serve(); server.start()
        with grpc.insecure_channel(f'127.0.0.1:{port}') as own: print(call(own, b'def'))
        server.stop(0).wait(5); print('stopped')
        """,
        told=("threads",),
    ),
    row(
        "httpx client kept",
        "import httpx\n"
        "cl = httpx.Client(headers={'x': 'y'}, transport=httpx.MockTransport(lambda r: "
        "httpx.Response(200, text=r.headers['x'])))\n"
        "print(cl.get('http://a/').text)",
        "print(cl.get('http://a/').text)",
    ),
    row(
        "httpx client to a server",
        """
        import http.server, threading, httpx
        def serve():
            class H(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200); self.send_header('content-length', '2')
                    self.end_headers(); self.wfile.write(b'ok')
                def log_message(self, *a): pass
            server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return server
        cl = httpx.Client(timeout=5, trust_env=False)
        server = serve(); print(cl.get(f'http://127.0.0.1:{server.server_port}').text)
        server.shutdown(); server.server_close(); del server
        """,
        "server = serve(); print(cl.get(f'http://127.0.0.1:{server.server_port}').text); "
        "server.shutdown(); server.server_close(); del server",
    ),
    row(
        "requests session",
        """
        import http.server, threading, requests
        def serve():
            class H(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200); self.send_header('content-length', '2')
                    self.end_headers(); self.wfile.write(b'ok')
                def log_message(self, *a): pass
            server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            return server
        se = requests.Session(); se.trust_env = False; se.headers['x'] = 'y'
        server = serve(); print(se.get(f'http://127.0.0.1:{server.server_port}').text)
        server.shutdown(); server.server_close(); del server
        """,
        "server = serve(); print(se.get(f'http://127.0.0.1:{server.server_port}').text, "
        "se.headers['x']); server.shutdown(); server.server_close(); del server",
    ),
    row(
        "aiohttp client+server",
        """
        import aiohttp
        from aiohttp import web
        async def talk():
            async def hello(request): return web.Response(text='hi')
            app = web.Application(); app.router.add_get('/', hello)
            runner = web.AppRunner(app); await runner.setup()
            site = web.TCPSite(runner, '127.0.0.1', 0); await site.start()
            port = site._server.sockets[0].getsockname()[1]
            async with aiohttp.ClientSession() as s, s.get(f'http://127.0.0.1:{port}/') as r:
                text = await r.text()
            await runner.cleanup()
            return text
        print(await talk())
        """,
        "print(await talk())",
    ),
    row(
        "fastapi TestClient",
        "from fastapi import FastAPI\n"
        "from fastapi.testclient import TestClient\n"
        "app = FastAPI()\n"
        "@app.get('/')\n"
        "def read(): return {'a': 1}\n"
        "c = TestClient(app)\n"
        "print(c.get('/').json())",
        "print(c.get('/').json())",
    ),
    row(
        "zmq context",
        """
        import zmq
        def talk():
            ctx = zmq.Context(); a, b = ctx.socket(zmq.PAIR), ctx.socket(zmq.PAIR)
            a.bind('inproc://x'); b.connect('inproc://x'); a.send(b'hi'); got = b.recv()
            a.close(); b.close(); ctx.term()
            return got
        print(talk())
        """,
        "print(talk())",
        told=("threads",),
    ),
    row(
        "uvloop",
        "import uvloop\n"
        "async def f(): return 5\n"
        "loop = uvloop.new_event_loop()\n"
        "print(type(loop).__name__); loop.close(); del loop",
        "loop = uvloop.new_event_loop(); print(loop.is_closed()); loop.close(); del loop",
    ),
    row(
        "pydantic",
        "import pydantic\n"
        "class M(pydantic.BaseModel):\n"
        "    a: int\n"
        "    b: str = 'x'\n"
        "m = M(a='5')\n"
        "print(m)",
        "try: M(a='no')\n"
        "except pydantic.ValidationError as e: print(e.error_count())\n"
        "print(m.model_dump(), M(a=1) == M(a=1))",
    ),
    row(
        "pydantic, generic models",
        "import pydantic, typing\n"
        "T = typing.TypeVar('T')\n"
        "class G(pydantic.BaseModel, typing.Generic[T]):\n"
        "    x: T\n"
        "    def get(self): return k\n"
        "class Q(pydantic.BaseModel): g: G[str]\n"
        "I = G[int]; g = I(x=1); q = Q(g=G[str](x='a')); k = 7; kinds = dict[str, G[float]]\n"
        "print(g, q)",
        "k = 8; print(g.get(), type(g) is G[int], I is G[int], type(q.g) is G[str], I(x='3'), kinds)",
    ),
    row(
        "dask threaded",
        "import dask.array as da\nx = da.ones((1000, 1000), chunks=250)\nprint(x.sum().compute())",
        "print((x + 1).sum().compute())",
    ),
    row(
        "dask dataframe processes",
        "import dask.dataframe as dd, pandas as pd\n"
        "d = dd.from_pandas(pd.DataFrame({'a': range(10)}), npartitions=2)\n"
        "print(int(d.a.sum().compute(scheduler='processes')))",
        "print(int((d.a + 1).sum().compute(scheduler='processes')))",
    ),
    row(
        "dask.distributed LocalCluster threads",
        "from distributed import Client\n"
        "c = Client(processes=False, n_workers=1, threads_per_worker=2, "
        "dashboard_address=None)\n"
        "print(c.submit(abs, -3).result(timeout=30))",
        "print(c.submit(abs, -4).result(timeout=10))",
        told=("threads",),
    ),
    row(
        "dask.distributed new in branch",
        "from distributed import Client\nprint(Client.__name__)",
        "with Client(processes=False, n_workers=1, dashboard_address=None) as c: "
        "print(c.submit(abs, -3).result(timeout=30))\n"
        "del c",
    ),
    row(
        "apscheduler",
        """
        import time, logging
        from apscheduler.schedulers.background import BackgroundScheduler
        seen = []
        def note(): seen.append(1)
        s = BackgroundScheduler(); s.start()
        def wait(n):
            for _ in range(100):
                if len(seen) >= n: return True
                time.sleep(.05)
            return False
        j = s.add_job(note); print(wait(1))
        """,
        "j2 = s.add_job(note); print(wait(2))",
        told=("threads",),
    ),
    row(
        "mpire",
        "from mpire import WorkerPool\n"
        "def f(x): return x + 1\n"
        "with WorkerPool(2) as p: print(p.map(f, [1, 2]))",
        "with WorkerPool(2) as q: print(q.map(f, [3, 4]))",
        told=("locks", "memory", "pipe"),
    ),
    row(
        "pebble pool",
        "from pebble import ProcessPool\n"
        "def f(x): return x + 1\n"
        "with ProcessPool(1) as p: print(p.schedule(f, args=[1]).result(20))\n"
        "del p",
        "with ProcessPool(1) as p: print(p.schedule(f, args=[2]).result(20))\ndel p",
    ),
    row(
        "pexpect kept",
        "import pexpect\n"
        "c = pexpect.spawn('cat', echo=False); c.sendline('a'); c.expect('a')\n"
        "print(c.isalive())",
        "import pexpect\n"
        "d = pexpect.spawn('cat', echo=False); d.sendline('z'); print(d.expect('z')); "
        "d.close()",
    ),
    row(
        "tqdm",
        "import sys\n"
        "from tqdm import tqdm\n"
        "bar = tqdm(total=10, file=sys.stdout, ncols=40, miniters=100, mininterval=100, "
        "bar_format='{n_fmt}/{total_fmt}'); bar.update(3)\n"
        "print(bar.n)",
        "bar.update(2); print(bar.n)",
    ),
    row(
        "tqdm plain+monitor",
        "from tqdm import tqdm\nprint(sum(tqdm(range(5))))",
        "print(sum(tqdm(range(6))))",
    ),
    row(
        "tqdm notebook",
        "from tqdm.notebook import tqdm\nprint(sum(1 for _ in tqdm(range(3), display=False)))",
        "print(sum(1 for _ in tqdm(range(4), display=False)))",
    ),
    row(
        "rich progress",
        "import sys\n"
        "from rich.console import Console\n"
        "from rich.progress import Progress\n"
        "con = Console(width=40, force_terminal=False, force_jupyter=False)\n"
        "con.print('[b]hi[/b]')",
        "con.print('[b]again[/b]', len('x')); print(con.width)\n"
        "with Progress(console=con) as p: p.add_task('t', total=1)",
    ),
    row(
        "rich table",
        "from rich.table import Table\n"
        "from rich.console import Console\n"
        "t = Table('a', 'b'); t.add_row('1', '2'); c = Console(width=40, "
        "force_jupyter=False)\n"
        "c.print(t)",
        "t.add_row('3', '4'); Console(width=40, force_jupyter=False).print(t)",
    ),
    row(
        "ipywidgets",
        "import ipywidgets as w\ns = w.IntSlider(value=3)\nprint(s.value)",
        "s.value = 5; print(s.value, w.HBox([s]).children[0] is s)",
    ),
    row(
        "ipywidgets observe/interact",
        "import ipywidgets as w\n"
        "seen = []\n"
        "s = w.IntSlider(value=3); s.observe(lambda change: seen.append(change['new']), "
        "'value')\n"
        "s.value = 4; print(seen)",
        "s.value = 6; print(seen)",
    ),
    row(
        "ipywidgets link/interactive",
        "import ipywidgets as w\n"
        "a, b = w.IntSlider(value=1), w.IntText(); l = w.jslink; k = w.link((a, 'value'), "
        "(b, 'value'))\n"
        "seen = []; it = w.interactive(lambda x: seen.append(x * 2), x=3)\n"
        "a.value = 2; print(b.value, it.children[0].value)",
        "a.value = 7; print(b.value); it.children[0].value = 5; it.update(); print(seen)",
    ),
    row(
        "traitlets observe",
        "import traitlets as t\n"
        "seen = []\n"
        "class H(t.HasTraits):\n"
        "    a = t.Int(1)\n"
        "    @t.observe('a')\n"
        "    def own(self, change): seen.append(('own', change['new']))\n"
        "h = H(); h.observe(lambda c: seen.append(c['new']), 'a')\n"
        "h.a = 2; print(seen)",
        "h.a = 5; print(seen)",
    ),
    row(
        "traitlets validate/default",
        "import traitlets as t\n"
        "class H(t.HasTraits):\n"
        "    a = t.Int(max=5); b = t.List(t.Int())\n"
        "    @t.default('b')\n"
        "    def _b(self): return [1]\n"
        "h = H(a=2)\n"
        "print(h.a, h.b)",
        "h.b = [2, 3]\n"
        "try: h.a = 9\n"
        "except t.TraitError: print('refused')\n"
        "print(h.a, h.b, h.trait_names())",
    ),
)
