"""All groups of rows. Each group has its own file."""

from environments import OF_ALL_TESTS
from model import Group

from rows import (
    data,
    heavy,
    jax,
    language,
    learning,
    native,
    pictures,
    ray,
    services,
    standard,
    tensorflow,
)

GROUPS = (
    Group("language", OF_ALL_TESTS, language.ROWS),
    Group("standard", OF_ALL_TESTS, standard.ROWS),
    Group("native", OF_ALL_TESTS, native.ROWS),
    Group("jax", "requirements-jax.txt", jax.ROWS),
    Group("tensorflow", "requirements-tensorflow.txt", tensorflow.ROWS),
    Group("pictures", "requirements-pictures.txt", pictures.ROWS),
    Group("learning", "requirements-learning.txt", learning.ROWS),
    Group("data", "requirements-data.txt", data.ROWS),
    Group("services", "requirements-services.txt", services.ROWS),
    Group("heavy", "requirements-heavy.txt", heavy.ROWS),
    Group("ray", "requirements-ray.txt", ray.ROWS),
)
