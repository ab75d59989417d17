"""Rows with jax on the CPU. Its worker threads exist as long as the process."""

from model import row

ROWS = (
    row(
        "jax settings",
        "import jax, jax.numpy as jnp\nfrom jax import config\n"
        "jax.config.update('jax_enable_x64', True); jax.config.update('jax_default_prng_impl', 'rbg')\n"
        "print(jnp.array([0.1]).dtype)",
        "print(jnp.array([0.1]).dtype, jax.random.uniform(jax.random.key(0)), config is jax.config)",
    ),
    row(
        "jax cpu",
        "import jax.numpy as jnp\nx = jnp.arange(1000.)\nprint(x.sum())",
        "print((x * 2).sum())",
    ),
    row(
        "jax import only",
        "import jax, jax.numpy as jnp\nprint(jnp.pi)",
        "print(jnp.arange(3).sum())",
    ),
    row(
        "jax import+random key only",
        "import jax\nkey = jax.random.PRNGKey(0)\nprint(key)",
        "print(jax.random.randint(key, (3,), 0, 10))",
    ),
    row(
        "jax jit+grad",
        "import jax, jax.numpy as jnp\n"
        "@jax.jit\n"
        "def f(x): return (x ** 2).sum()\n"
        "g = jax.grad(f)\n"
        "print(f(jnp.arange(4.)))",
        "print(g(jnp.arange(4.)))",
    ),
    row(
        "jax.numpy->numpy before",
        "import numpy as np, jax.numpy as jnp\ny = np.asarray(jnp.arange(5.)) + 1\nprint(y)",
        "print(y.sum())",
    ),
)
