"""Registers the adapters of all known libraries. adapter.py describes what an adapter does."""

from ..adapter import registry
from . import (
    duckdb,
    httpx,
    ipython,
    lightgbm,
    logging,
    matplotlib,
    numba,
    numpy,
    onnxruntime,
    pandas,
    polars,
    pools,
    pyarrow,
    sklearn,
    sqlalchemy,
    sqlite3,
    threading,
    traitlets,
    xgboost,
)

for _adapter in (
    threading.Threading(),
    pools.ConcurrentFutures(),
    pools.Multiprocessing(),
    sqlite3.Sqlite3(),
    duckdb.Duckdb(),
    sqlalchemy.Sqlalchemy(),
    logging.Logging(),
    ipython.Ipython(),
    traitlets.Traitlets(),
    httpx.Httpx(),
    numpy.Numpy(),
    pandas.Pandas(),
    polars.Polars(),
    pyarrow.Pyarrow(),
    matplotlib.Matplotlib(),
    sklearn.Sklearn(),
    xgboost.Xgboost(),
    lightgbm.Lightgbm(),
    onnxruntime.Onnxruntime(),
    numba.Numba(),
):
    registry.add(_adapter)
