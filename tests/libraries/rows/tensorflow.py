"""Rows with TensorFlow on the CPU. Its worker threads exist as long as the process."""

from model import row

ROWS = (
    row(
        "tensorflow seed, keras settings",
        "import tensorflow as tf, keras\n"
        "tf.random.set_seed(3); keras.config.set_floatx('float64'); keras.config.set_epsilon(1e-3)\n"
        "tf.config.run_functions_eagerly(True)\n"
        "print(float(tf.random.uniform((1,))[0]))",
        "print(float(tf.random.uniform((1,))[0]), keras.config.floatx(), keras.config.epsilon(),\n"
        "      tf.config.functions_run_eagerly())",
    ),
    row(
        "tensorflow import only",
        "import tensorflow as tf\nprint(tf.float32.name)",
        "print(tf.int32.name)",
    ),
    row(
        "tensorflow function",
        "import tensorflow as tf\n"
        "v = tf.Variable([1., 2.])\n"
        "@tf.function\n"
        "def f(x): return tf.reduce_sum(x * v)\n"
        "print(float(f(tf.constant([3., 4.]))))",
        "print(float(f(tf.constant([5., 6.]))), v.numpy())",
    ),
    row(
        "keras fit",
        """
        import numpy as np, tensorflow as tf
        tf.keras.utils.set_random_seed(0)
        X = np.ones((32, 4), 'f4'); y = np.ones((32, 1), 'f4')
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
        model.compile('sgd', 'mse')
        h = model.fit(X, y, epochs=1, verbose=0)
        print(sorted(h.history), model.count_params())
        """,
        "print(sorted(model.fit(X, y, epochs=1, verbose=0).history), model.predict(X[:2], "
        "verbose=0).shape)",
    ),
    row(
        "tensorflow data",
        "import tensorflow as tf\n"
        "ds = tf.data.Dataset.range(5).map(lambda x: x * 2).batch(2)\n"
        "print([b.numpy().tolist() for b in ds])",
        "print([b.numpy().tolist() for b in ds.take(1)])",
    ),
)
