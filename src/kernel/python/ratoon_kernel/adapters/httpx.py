"""Saves and restores clients of httpx: their arguments and cookies, but not their connections."""

from __future__ import annotations

import ssl
from typing import Any

from .. import pickling, rebuilding
from ..adapter import Adapter, Reduced

_ATTRIBUTES = (
    "_auth", "_params", "_headers", "_cookies", "_timeout", "follow_redirects", "max_redirects",
    "_event_hooks", "_trust_env", "_default_encoding", "_base_url", "_state",
)  # fmt: skip
_TRANSPORTS = ("HTTPTransport", "AsyncHTTPTransport")
_POOLS = ("ConnectionPool", "AsyncConnectionPool")


def _reduce_client(value: Any) -> Reduced:
    pool = getattr(value._transport, "_pool", None)
    is_usual = type(value._transport).__name__ in _TRANSPORTS and type(pool).__name__ in _POOLS
    if pool is None or not is_usual or any(one is not None for one in value._mounts.values()):
        raise pickling.Unsavable(value, "a client with custom transports or proxies")
    limits = pool._max_connections, pool._max_keepalive_connections, pool._keepalive_expiry
    verifies = _verifies(value, pool._ssl_context)
    arguments = (type(value), verifies, pool._http1, pool._http2, limits)
    attributes = {name: getattr(value, name) for name in _ATTRIBUTES}
    return make_client, arguments, attributes, None, None, rebuilding.set_dict


def _verifies(value: Any, context: Any) -> bool:
    """Whether the client checks certificates. Raises Unsavable if the number of trusted
    certificates is not the default, because the client then has custom certificates."""
    import httpx

    usual = httpx.create_ssl_context() if context is not None else None
    if usual is None or context.verify_mode == ssl.CERT_NONE:
        return context is None
    is_usual = type(context) is ssl.SSLContext
    if not is_usual or context.cert_store_stats() != usual.cert_store_stats():
        raise pickling.Unsavable(value, "a client with custom certificates")
    return True


def make_client(
    kind: Any, verify: bool, http1: bool, http2: bool, limits: tuple[Any, Any, Any]
) -> Any:
    # Checkpoints refer to this function by module and name: do not move or rename it.
    import httpx

    most, kept_alive, expiry = limits
    made = httpx.Limits(
        max_connections=most, max_keepalive_connections=kept_alive, keepalive_expiry=expiry
    )
    return kind(verify=verify, http1=http1, http2=http2, limits=made)


class Httpx(Adapter):
    library = "httpx"
    reducers = {("httpx", "Client"): _reduce_client, ("httpx", "AsyncClient"): _reduce_client}
