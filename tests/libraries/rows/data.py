"""Rows with databases, data files and frames."""

from model import row

FRAME = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2, 3]})\n"

ROWS = (
    row(
        "xarray and zarr options",
        "import xarray as xr, zarr\n"
        "xr.set_options(keep_attrs=False, display_width=50); zarr.config.set({'array.order': 'F'})\n"
        "print(xr.get_options()['display_width'])",
        "print(xr.get_options()['keep_attrs'], xr.get_options()['display_width'],\n"
        "      zarr.config.get('array.order'))",
    ),
    row(
        "polars",
        "import polars as pl\n"
        "df = pl.DataFrame({'a': [1, 2, 3]})\n"
        "print(df.filter(pl.col('a') > 1).height)",
        "print(df.lazy().select(pl.col('a').sum()).collect().item(), "
        "df.group_by('a').len().height)",
    ),
    row(
        "polars lazy kept",
        "import polars as pl\n"
        "lf = pl.DataFrame({'a': [1, 2, 3]}).lazy().filter(pl.col('a') > 1)\n"
        "print(lf.collect().height)",
        "print(lf.select(pl.col('a').sum()).collect().item())",
    ),
    row(
        "polars import only",
        "import polars as pl\ng = iter([1, 2, 3, 4]); print(next(g))",
        "print(next(g), pl.Series([1, 2]).sum())",
    ),
    row(
        "polars import + generator",
        "import polars as pl\ng = (n for n in range(5)); print(next(g))",
        "print(next(g), pl.Series([1, 2]).sum())",
    ),
    row(
        "duckdb memory",
        FRAME + "import duckdb\n"
        "con = duckdb.connect(); con.execute('create table t as select * from df')\n"
        "print(con.execute('select sum(a) from t').fetchone())",
        "con.execute('insert into t values (10)'); print(con.execute('select sum(a) from "
        "t').fetchone())",
    ),
    row(
        "duckdb file",
        "import duckdb, os\n"
        "con = duckdb.connect('row.duckdb'); con.execute('create or replace table t as "
        "select 6 as a')\n"
        "print(con.execute('select sum(a) from t').fetchone())",
        "print(con.execute('select sum(a) from t').fetchone())",
        told=("lock", "place in these files"),
    ),
    row(
        "duckdb relation kept",
        "import duckdb\nrel = duckdb.sql('select 42 as a')\nprint(rel.fetchall())",
        "print(rel.filter('a > 1').fetchall())",
    ),
    row(
        "duckdb default conn + df",
        FRAME + "import duckdb\nprint(duckdb.sql('select sum(a) from df').fetchall())",
        "print(duckdb.sql('select max(a) from df').fetchall())",
    ),
    row(
        "sqlalchemy+sqlite memory",
        "import sqlalchemy as sa\n"
        "eng = sa.create_engine('sqlite://')\n"
        "c = eng.connect(); c.execute(sa.text('create table t (a int)')); "
        "c.execute(sa.text('insert into t values (3)'))\n"
        "print(c.execute(sa.text('select a from t')).all())",
        "c.execute(sa.text('insert into t values (4)')); print(c.execute(sa.text('select a "
        "from t order by a')).all())",
    ),
    row(
        "sqlalchemy+sqlite file ORM",
        """
        import sqlalchemy as sa
        from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, Session
        class Base(DeclarativeBase): pass
        class U(Base):
            __tablename__ = 'u'
            id: Mapped[int] = mapped_column(primary_key=True)
            name: Mapped[str]
        eng = sa.create_engine('sqlite:///orm.db'); Base.metadata.drop_all(eng); Base.metadata.create_all(eng)
        s = Session(eng); s.add(U(name='x')); s.commit()
        print(s.scalars(sa.select(U.name)).all())
        """,
        "print(s.scalars(sa.select(U.name)).all(), U(name='y').name)",
    ),
    row(
        "sqlalchemy classes",
        "import sqlalchemy as sa\n"
        "meta = sa.MetaData(); t = sa.Table('t', meta, sa.Column('a', sa.Integer))\n"
        "print(sa.select(t.c.a))",
        "print(sa.select(t.c.a).where(t.c.a > 1), list(meta.tables))",
    ),
    row(
        "pyarrow",
        "import pyarrow as pa, pyarrow.compute as pc\n"
        "t = pa.table({'a': [1, 2, 3]})\n"
        "print(pc.sum(t['a']))",
        "print(pc.mean(t['a']), t.filter(pc.field('a') > 1).num_rows)",
    ),
    row(
        "pyarrow dataset/parquet",
        "import pyarrow as pa, pyarrow.parquet as pq, pyarrow.dataset as pds\n"
        "pq.write_table(pa.table({'a': [1, 2, 3]}), 'a.parquet'); d = "
        "pds.dataset('a.parquet')\n"
        "print(d.count_rows())",
        "print(d.to_table(filter=pds.field('a') > 1).num_rows, "
        "pq.read_table('a.parquet').num_rows)",
    ),
    row(
        "pandas+pyarrow csv",
        "import pandas as pd\n"
        "open('a.csv', 'w').write('a,b\\n1,x\\n2,y\\n')\n"
        "df = pd.read_csv('a.csv', engine='pyarrow')\n"
        "print(df.a.sum())",
        "print(pd.read_csv('a.csv', engine='pyarrow').b.tolist(), df.a.mean())",
    ),
    row(
        "ExtensionArray/pyarrow dtypes",
        "import pandas as pd\n"
        "s = pd.Series([1, None], dtype='int64[pyarrow]'); c = pd.Series(['a', 'b'], "
        "dtype='category'); n = pd.array([1, None], dtype='Int64')\n"
        "print(s.sum())",
        "print(s.dtype, c.cat.categories.tolist(), n.sum())",
    ),
    row(
        "pandas register_accessor",
        FRAME + "@pd.api.extensions.register_dataframe_accessor('mine')\n"
        "class Mine:\n"
        "    def __init__(self, df): self.df = df\n"
        "    def top(self): return self.df.a.max()\n"
        "print(df.mine.top())",
        "print(df.mine.top(), pd.DataFrame({'a': [9]}).mine.top())",
    ),
    row(
        "lance",
        FRAME + "import lance\n"
        "ds = lance.write_dataset(df, 'x.lance', mode='overwrite')\n"
        "print(ds.count_rows())",
        "print(ds.to_table(filter='a > 1').num_rows, lance.dataset('x.lance').count_rows())",
    ),
    row(
        "deltalake",
        FRAME + "from deltalake import DeltaTable, write_deltalake\n"
        "write_deltalake('dt', df, mode='overwrite'); dt = DeltaTable('dt')\n"
        "print(dt.to_pyarrow_table().num_rows)",
        "print(dt.to_pyarrow_table().num_rows, DeltaTable('dt').to_pyarrow_table().num_rows)",
    ),
    row(
        "datafusion",
        "import datafusion, pyarrow as pa\n"
        "ctx = datafusion.SessionContext(); df = ctx.from_pydict({'a': [1, 2, 3]}, 't')\n"
        "print(df.count())",
        "print(ctx.sql('select sum(a) as s from t').to_pydict())",
    ),
    row(
        "adbc sqlite",
        "import adbc_driver_sqlite.dbapi as db\n"
        "c = db.connect(); cu = c.cursor(); cu.execute('create table t (a int)'); "
        "cu.execute('insert into t values (5)')\n"
        "cu.execute('select a from t'); print(cu.fetchall())",
        "cu.execute('insert into t values (6)'); cu.execute('select a from t order by a'); "
        "print(cu.fetchall())",
    ),
    row(
        "connectorx",
        "import connectorx as cx, sqlite3, os\n"
        "q = sqlite3.connect('cx.db'); q.execute('create table if not exists t (a int)'); "
        "q.execute('delete from t'); q.execute('insert into t values (5)'); q.commit(); "
        "q.close(); del q\n"
        "url = 'sqlite://' + os.path.abspath('cx.db')\n"
        "print(cx.read_sql(url, 'select a from t').a.tolist())",
        "print(cx.read_sql(url, 'select a + 1 as a from t').a.tolist())",
    ),
    row(
        "lmdb",
        "import lmdb\n"
        "env = lmdb.open('db.lmdb')\n"
        "with env.begin(write=True) as t: t.put(b'a', b'1')\n"
        "with env.begin() as t: print(t.get(b'a'))",
        "with env.begin() as t: print(t.get(b'a'))",
        told=("memory", "lock"),
    ),
    row(
        "lmdb transaction that writes",
        "import lmdb\n"
        "env = lmdb.open('writes.lmdb')\n"
        "t = env.begin(write=True); print(t.put(b'a', b'1'))",
        "print(t.get(b'a'))",
        told=("lock between processes",),
    ),
    row(
        "h5py file kept",
        "import h5py, numpy as np\n"
        "f = h5py.File('a.h5', 'w'); d = f.create_dataset('d', data=np.arange(5)); "
        "f.flush()\n"
        "print(d[2])",
        "print(d[3], f['d'].shape)",
        told=("locks on these files",),
    ),
    row(
        "h5py closed",
        "import h5py, numpy as np\n"
        "with h5py.File('b.h5', 'w') as f: f['d'] = np.arange(5)\n"
        "del f\n"
        "with h5py.File('b.h5') as f: print(f['d'][:].sum())",
        "with h5py.File('b.h5') as f: print(f['d'][:].sum())",
    ),
    row(
        "pytables",
        "import tables\n"
        "f = tables.open_file('t.h5', 'w'); a = f.create_array('/', 'a', [1, 2, 3]); "
        "f.flush()\n"
        "print(a[:])",
        "print(a[:], f.root.a[1])",
        told=("locks on these files",),
    ),
    row(
        "netCDF4 file kept",
        "import netCDF4\n"
        "f = netCDF4.Dataset('a.nc', 'w'); f.createDimension('x', 3); v = "
        "f.createVariable('v', 'f4', ('x',)); v[:] = [1, 2, 3]; f.sync()\n"
        "print(v[:].sum())",
        "print(v[:].sum(), f.variables['v'].shape)",
        told=("locks on these files",),
    ),
    row(
        "zarr",
        "import zarr, numpy as np\n"
        "z = zarr.create_array(store='a.zarr', shape=(10,), chunks=(5,), dtype='i4', "
        "overwrite=True); z[:] = np.arange(10)\n"
        "print(int(z[:].sum()))",
        "print(int(z[2:5].sum()), zarr.open('a.zarr', mode='r').shape)",
    ),
    row(
        "xarray",
        "import xarray as xr, numpy as np\n"
        "ds = xr.Dataset({'v': (('x',), np.arange(3.))})\n"
        "print(float(ds.v.sum()))",
        "print(float(ds.v.mean()), dict(ds.sizes))",
    ),
)
