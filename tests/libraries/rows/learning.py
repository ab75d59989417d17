"""Rows with libraries for numerics, statistics and machine learning."""

from model import row

DATA = (
    "import numpy as np\n"
    "rng = np.random.default_rng(0); X = rng.random((300, 5)); y = (X[:, 0] > .5).astype(int)\n"
)

ROWS = (
    row(
        "sympy and mpmath, all names",
        "import matplotlib.pyplot as plt\nfrom sympy import *\nfrom mpmath import mp, matrix\n"
        "mp.dps = 40; A = matrix([[1, 2], [3, 4]]); q = mp.mpf(1) / 3; fig, ax = plt.subplots()\n"
        "ax.plot([1, 2]); print(q)",
        "print(A, mp.dps, q + mp.mpf(1) / 7, S(1) / 3, RR, fig)",
    ),
    row(
        "umap",
        DATA + "import umap\n"
        "m = umap.UMAP(n_neighbors=5, random_state=1, n_epochs=20).fit(X[:100])\n"
        "print(m.embedding_.shape)",
        "print(m.transform(X[100:105]).shape)",
    ),
    row(
        "numba jit",
        "import numba, numpy as np\n"
        "@numba.njit\n"
        "def f(x):\n"
        "    s = 0.0\n"
        "    for v in x: s += v\n"
        "    return s\n"
        "print(f(np.arange(10.)))",
        "print(f(np.arange(11.)))",
    ),
    row(
        "numba parallel",
        "import numba, numpy as np\n"
        "@numba.njit(parallel=True)\n"
        "def f(x):\n"
        "    s = 0.0\n"
        "    for i in numba.prange(len(x)): s += x[i]\n"
        "    return s\n"
        "print(f(np.arange(1000.)))",
        "print(f(np.arange(1001.)))",
    ),
    row(
        "numba vectorize cpu",
        "import numba, numpy as np\n"
        "@numba.vectorize(['float64(float64)'])\n"
        "def f(x): return x * 2\n"
        "print(f(np.arange(3.)))",
        "print(f(np.arange(4.)))",
    ),
    row(
        "numba vectorize parallel",
        "import numba, numpy as np\n"
        "@numba.vectorize(['float64(float64)'], target='parallel')\n"
        "def f(x): return x * 2\n"
        "@numba.guvectorize(['void(float64[:], float64[:])'], '(n)->()', target='parallel')\n"
        "def g(x, out): out[0] = x.sum()\n"
        "print(f(np.arange(3.)), g(np.ones((2, 3))))",
        "print(f(np.arange(4.)), g(np.ones((3, 3))))",
    ),
    row(
        "numba cache + typed",
        "import numba, numpy as np\n"
        "from numba.typed import Dict, List\n"
        "d = Dict.empty(numba.types.int64, numba.types.float64); d[1] = 2.0\n"
        "l = List([1, 2]); \n"
        "print(d[1], list(l))",
        "d[2] = 3.0; l.append(5); print(dict(d), list(l))",
    ),
    row(
        "numba stencil/jitclass",
        "import numba, numpy as np\n"
        "from numba.experimental import jitclass\n"
        "@numba.stencil\n"
        "def k(a): return a[-1] + a[1]\n"
        "@jitclass([('x', numba.float64)])\n"
        "class P:\n"
        "    def __init__(self, x): self.x = x\n"
        "    def twice(self): return 2 * self.x\n"
        "p = P(2.0)\n"
        "print(p.twice(), k(np.arange(5.)))",
        "print(p.twice(), P(4.0).twice(), k(np.arange(6.)))",
    ),
    row(
        "numpy BLAS big",
        "import numpy as np\na = np.ones((800, 800))\nprint((a @ a).sum())",
        "print((a @ a @ a).sum())",
    ),
    row(
        "numpy errstate/print options",
        "import numpy as np\n"
        "np.seterr(divide='raise'); np.set_printoptions(precision=2)\n"
        "print(np.array([1.23456]))",
        "print(np.array([1.23456]))\n"
        "try: np.ones(1) / 0\n"
        "except FloatingPointError: print('raised')",
    ),
    row(
        "frompyfunc ufunc",
        "import numpy as np\nuf = np.frompyfunc(lambda a, b: a + b, 2, 1)\nprint(uf([1], [2]))",
        "print(uf([3], [4]), uf.reduce([1, 2, 3]))",
    ),
    row(
        "np.vectorize + mp imported",
        "import numpy as np, multiprocessing\nv = np.vectorize(lambda a: a + 1)\nprint(v([1, 2]))",
        "print(v([3, 4]))",
    ),
    row(
        "scipy fft workers",
        "import scipy.fft as sf, numpy as np\n"
        "x = np.ones((64, 1024))\n"
        "print(abs(sf.fft(x, workers=2)).sum())",
        "print(abs(sf.fft(x * 2, workers=2)).sum())",
    ),
    row(
        "sklearn HistGB (OpenMP)",
        DATA + "from sklearn.ensemble import HistGradientBoostingClassifier as H\n"
        "m = H(max_iter=5).fit(X, y)\n"
        "print(m.score(X, y) > .9)",
        "print(H(max_iter=3).fit(X, y).score(X, y) > .9, m.predict(X[:5]))",
    ),
    row(
        "sklearn RF n_jobs=2 + GridSearchCV",
        DATA + "from sklearn.ensemble import RandomForestClassifier as R\n"
        "from sklearn.model_selection import GridSearchCV\n"
        "g = GridSearchCV(R(n_estimators=5, random_state=0), {'max_depth': [1, 2]}, "
        "n_jobs=2, cv=2).fit(X, y)\n"
        "print(g.best_params_)",
        "print(R(5, random_state=0, n_jobs=2).fit(X, y).predict(X[:4]), g.predict(X[:4]))",
    ),
    row(
        "sklearn KMeans (OpenMP+BLAS)",
        DATA + "from sklearn.cluster import KMeans\n"
        "m = KMeans(3, random_state=0, n_init=1).fit(X)\n"
        "print(m.cluster_centers_.shape)",
        "print(sorted(KMeans(2, random_state=0, n_init=1).fit(X).cluster_centers_.shape), "
        "len(m.predict(X)))",
    ),
    row(
        "sklearn set_config/pipeline",
        DATA + "import sklearn\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import StandardScaler\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "sklearn.set_config(transform_output='pandas', print_changed_only=False)\n"
        "p = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)\n"
        "print(type(StandardScaler().fit_transform(X)).__name__)",
        "print(type(StandardScaler().fit_transform(X)).__name__, p.predict(X[:4]), "
        "sklearn.get_config()['print_changed_only'])",
    ),
    row(
        "joblib loky own function",
        "from joblib import Parallel, delayed\n"
        "k = 3\n"
        "def f(x): return x * k\n"
        "print(Parallel(n_jobs=2)(delayed(f)(i) for i in range(3)))",
        "print(Parallel(n_jobs=2)(delayed(f)(i) for i in range(4)))",
    ),
    row(
        "joblib multiprocessing backend",
        "from joblib import Parallel, delayed\n"
        "print(Parallel(n_jobs=2, backend='multiprocessing')(delayed(abs)(-i) for i in "
        "range(3)))",
        "print(Parallel(n_jobs=2, backend='multiprocessing')(delayed(abs)(-i) for i in range(4)))",
    ),
    row(
        "joblib threading",
        "from joblib import Parallel, delayed\n"
        "print(Parallel(n_jobs=2, backend='threading')(delayed(abs)(-i) for i in range(3)))",
        "print(Parallel(n_jobs=2, backend='threading')(delayed(abs)(-i) for i in range(4)))",
    ),
    row(
        "joblib Memory",
        "from joblib import Memory\n"
        "mem = Memory('cached', verbose=0)\n"
        "@mem.cache\n"
        "def slow(x): return x + 1\n"
        "print(slow(1))",
        "print(slow(1), slow(2))",
    ),
    row(
        "joblib with-block Parallel kept",
        "from joblib import Parallel, delayed\n"
        "par = Parallel(n_jobs=2)\n"
        "with par: print(par(delayed(abs)(-i) for i in range(3)))",
        "print(par(delayed(abs)(-i) for i in range(4)))",
        told=("child process", "processes"),
    ),
    row(
        "xgboost",
        DATA + "import xgboost as xgb\n"
        "d = xgb.DMatrix(X, label=y); b = xgb.train({'max_depth': 2, 'nthread': 2}, d, 3)\n"
        "print(b.predict(d).shape)",
        "print(((b.predict(d) > .5) == y).mean(), xgb.train({'nthread': 2}, d, "
        "2).num_boosted_rounds())",
    ),
    row(
        "xgboost sklearn API",
        DATA + "from xgboost import XGBClassifier\n"
        "m = XGBClassifier(n_estimators=3, n_jobs=2).fit(X, y)\n"
        "print(m.score(X, y))",
        "print(XGBClassifier(n_estimators=2, n_jobs=2).fit(X, y).score(X, y), m.predict(X[:4]))",
    ),
    row(
        "lightgbm",
        DATA + "from lightgbm import LGBMClassifier\n"
        "m = LGBMClassifier(n_estimators=3, n_jobs=2, verbose=-1).fit(X, y)\n"
        "print(m.predict(X[:4]))",
        "print(LGBMClassifier(n_estimators=2, n_jobs=2, verbose=-1).fit(X, "
        "y).predict(X[:4]), m.predict(X[:4]))",
    ),
    row(
        "lightgbm Dataset kept",
        DATA + "import lightgbm as lgb\n"
        "ds = lgb.Dataset(X, y, free_raw_data=False); b = lgb.train({'verbose': -1, "
        "'num_threads': 2}, ds, 2)\n"
        "print(b.num_trees())",
        "print(lgb.train({'verbose': -1, 'num_threads': 2}, ds, 3).num_trees(), "
        "b.predict(X[:2]).shape)",
    ),
    row(
        "catboost",
        DATA + "from catboost import CatBoostClassifier\n"
        "m = CatBoostClassifier(iterations=3, verbose=0, thread_count=2, "
        "allow_writing_files=False).fit(X, y)\n"
        "print(m.predict(X[:4]))",
        "print(CatBoostClassifier(iterations=2, verbose=0, thread_count=2, "
        "allow_writing_files=False).fit(X, y).tree_count_, m.predict(X[:4]))",
    ),
    row(
        "hdbscan",
        DATA
        + "import hdbscan\nh = hdbscan.HDBSCAN(min_cluster_size=5).fit(X)\nprint(len(h.labels_))",
        "print(len(hdbscan.HDBSCAN(min_cluster_size=4).fit(X).labels_))",
    ),
    row(
        "statsmodels",
        DATA + "import statsmodels.api as sm\n"
        "r = sm.OLS(X[:, 1], sm.add_constant(X[:, :1])).fit()\n"
        "print(r.params.round(4))",
        "print(r.predict(np.ones((2, 2))).round(4), sm.OLS(X[:, 2], X[:, "
        ":1]).fit().params.round(4))",
    ),
    row(
        "statsmodels formula+tsa",
        DATA + "import pandas as pd, statsmodels.formula.api as smf\n"
        "from statsmodels.tsa.arima.model import ARIMA\n"
        "df = pd.DataFrame({'a': X[:, 0], 'b': X[:, 1]}); r = smf.ols('b ~ a', df).fit()\n"
        "print(r.params.round(4).tolist())",
        "print(r.params.round(4).tolist(), ARIMA(X[:50, 0], order=(1, 0, 0)).fit().params.shape)",
    ),
    row(
        "statsmodels import + generator",
        "import statsmodels.api as sm\ng = (n * n for n in range(9))\nnext(g); print(next(g))",
        "print(next(g), next(g))",
    ),
    row(
        "faiss",
        DATA
        + "import faiss\nix = faiss.IndexFlatL2(5); ix.add(X.astype('float32'))\nprint(ix.ntotal)",
        "print(ix.search(X[:2].astype('float32'), 1)[1].ravel())",
    ),
    row(
        "onnxruntime",
        """
        import onnx, onnxruntime as ort, numpy as np
        from onnx import TensorProto as T, helper as h
        x, y = (h.make_tensor_value_info(name, T.FLOAT, [3]) for name in 'xy')
        g = h.make_graph([h.make_node('Add', ['x', 'x'], ['y'])], 'g', [x], [y])
        model = h.make_model(g, opset_imports=[h.make_opsetid('', 13)], ir_version=8).SerializeToString()
        so = ort.SessionOptions(); so.intra_op_num_threads = 2
        se = ort.InferenceSession(model, so, providers=['CPUExecutionProvider'])
        print(se.run(None, {'x': np.ones(3, 'f4')})[0])
        """,
        "print(se.run(None, {'x': np.arange(3).astype('f4')})[0])",
    ),
    row(
        "gensim word2vec",
        "from gensim.models import Word2Vec\n"
        "texts = [['a', 'b', 'c']] * 50\n"
        "m = Word2Vec(texts, vector_size=8, min_count=1, workers=2, seed=1)\n"
        "print(m.wv['a'].shape)",
        "m.train(texts, total_examples=50, epochs=1); print(m.wv['a'].shape, "
        "sorted(m.wv.key_to_index))",
    ),
    row(
        "tokenizers (rayon)",
        "from tokenizers import Tokenizer, models, trainers, pre_tokenizers\n"
        "t = Tokenizer(models.BPE()); t.pre_tokenizer = pre_tokenizers.Whitespace()\n"
        "t.train_from_iterator(['hello world'] * 200, trainers.BpeTrainer(vocab_size=50, "
        "show_progress=False))\n"
        "print(t.encode('hello').tokens)",
        "print([e.tokens for e in t.encode_batch(['hello world'] * 3)])",
    ),
    row(
        "optuna",
        "import optuna\n"
        "optuna.logging.set_verbosity(optuna.logging.ERROR)\n"
        "s = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0)); "
        "s.optimize(lambda t: t.suggest_float('x', 0, 1), n_trials=3)\n"
        "print(len(s.trials))",
        "s.optimize(lambda t: t.suggest_float('x', 0, 1), n_trials=2); print(len(s.trials))",
    ),
    row(
        "optuna n_jobs=2",
        "import optuna\n"
        "optuna.logging.set_verbosity(optuna.logging.ERROR)\n"
        "s = optuna.create_study(); s.optimize(lambda t: t.suggest_float('x', 0, 1), "
        "n_trials=4, n_jobs=2)\n"
        "print(len(s.trials))",
        "s.optimize(lambda t: t.suggest_float('x', 0, 1), n_trials=4, n_jobs=2); "
        "print(len(s.trials))",
    ),
    row(
        "igraph",
        "import igraph\n"
        "g = igraph.Graph.Ring(10); g.vs['n'] = list(range(10))\n"
        "print(g.diameter())",
        "g.add_edge(0, 5); print(g.diameter(), g.vs[3]['n'])",
    ),
    row(
        "networkx",
        "import networkx as nx\nG = nx.path_graph(5)\nprint(nx.shortest_path(G, 0, 4))",
        "G.add_edge(0, 4); print(nx.shortest_path(G, 0, 4))",
    ),
    row(
        "numexpr",
        "import numexpr as ne, numpy as np\na = np.arange(1e6)\nprint(ne.evaluate('sum(a * 2)'))",
        "print(ne.evaluate('sum(a * 3)'))",
    ),
    row(
        "cvxpy",
        "import cvxpy as cp\n"
        "x = cp.Variable(); p = cp.Problem(cp.Minimize((x - 1) ** 2), [x >= 2])\n"
        "print(round(p.solve(), 4))",
        "print(round(p.solve(), 4), round(float(x.value), 4))",
    ),
    row(
        "sympy",
        "import sympy as sp\nx = sp.symbols('x'); e = sp.integrate(sp.sin(x) * x, x)\nprint(e)",
        "print(sp.diff(e, x).simplify(), sp.symbols('x') is x or sp.symbols('x') == x)",
    ),
)
