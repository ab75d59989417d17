"""Clients of web services in a checkpoint: what they were made with, and their cookies; not their connections."""

import ssl

from .. import pickling

_SETTINGS = (
    "_auth", "_params", "_headers", "_cookies", "_timeout", "follow_redirects", "max_redirects", "_event_hooks",
    "_trust_env", "_default_encoding", "_base_url", "_state",
)  # fmt: skip


def _client(value):
    pool = getattr(value._transport, "_pool", None)
    by_itself = type(value._transport).__name__ in ("HTTPTransport", "AsyncHTTPTransport")
    if not by_itself or type(pool).__name__ not in ("ConnectionPool", "AsyncConnectionPool") or _has_own_mounts(value):
        raise pickling.Unsavable(value, "a client with transports or proxies of its own")
    limits = pool._max_connections, pool._max_keepalive_connections, pool._keepalive_expiry
    arguments = (type(value), _verifies(value, pool._ssl_context), pool._http1, pool._http2, limits)
    settings = {name: getattr(value, name) for name in _SETTINGS}
    return make_client, arguments, settings, None, None, pickling.set_dict


def _has_own_mounts(value):
    return any(type(one).__name__ not in ("NoneType",) for one in value._mounts.values())


def _verifies(value, context):
    """Whether certificates are checked. Which ones a context trusts can be counted only."""
    import httpx

    usual = httpx.create_ssl_context() if context is not None else None
    if context is None or context.verify_mode == ssl.CERT_NONE:
        return context is None
    if type(context) is not ssl.SSLContext or context.cert_store_stats() != usual.cert_store_stats():
        raise pickling.Unsavable(value, "a client with certificates of its own")
    return True


def make_client(kind, verify, http1, http2, limits):
    import httpx

    most, kept_alive, expiry = limits
    limits = httpx.Limits(max_connections=most, max_keepalive_connections=kept_alive, keepalive_expiry=expiry)
    return kind(verify=verify, http1=http1, http2=http2, limits=limits)


pickling.adapt({("httpx", "Client"): _client, ("httpx", "AsyncClient"): _client})
