# Forgets all variables. Builtins, IPython and its settings stay.
from IPython import get_ipython


def forget(shell):
    own = shell.user_ns_hidden
    for name in list(shell.user_ns):
        if name in own:
            shell.user_ns[name] = own[name]
        elif not (name.startswith("__") and name.endswith("__")):
            del shell.user_ns[name]
    if shell.displayhook.do_full_cache:
        shell.displayhook.flush()


forget(get_ipython())
