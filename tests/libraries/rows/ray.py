"""Rows with ray. Its processes and threads do not work in branches."""

from model import row

ROWS = (
    row(
        "ray local",
        "import ray\n"
        "ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, "
        "logging_level='error')\n"
        "@ray.remote\n"
        "def f(x): return x + 1\n"
        "print(ray.get(f.remote(1)))",
        "print(ray.get(f.remote(2), timeout=20))",
        told=("child process", "threads", "ray"),
    ),
    row(
        "ray import only", "import ray\nprint(ray.is_initialized())", "print(ray.is_initialized())"
    ),
)
