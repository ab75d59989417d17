"""The frames of WebSocket (RFC 6455), as pure functions of bytes."""

import base64
import hashlib
import os
import secrets
from dataclasses import dataclass, field

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def handshake(path: str, host: str, token: str) -> tuple[bytes, str]:
    """The request that opens a WebSocket, and the value that its answer must have."""
    key = base64.b64encode(secrets.token_bytes(16)).decode()
    lines = (
        f"GET {path} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        f"Authorization: Bearer {token}",
    )
    accept = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
    return ("\r\n".join(lines) + "\r\n\r\n").encode(), accept


def frame(payload: bytes, opcode: int = TEXT) -> bytes:
    """A frame of a client, whose content is masked."""
    size, mask = len(payload), os.urandom(4)
    if size < 126:
        head = bytes((0x80 | opcode, 0x80 | size))
    elif size < 65536:
        head = bytes((0x80 | opcode, 0x80 | 126)) + size.to_bytes(2)
    else:
        head = bytes((0x80 | opcode, 0x80 | 127)) + size.to_bytes(8)
    key = int.from_bytes((mask * (size // 4 + 1))[:size])
    return head + mask + (int.from_bytes(payload) ^ key).to_bytes(size)


@dataclass(slots=True)
class Frames:
    """Finds the messages in the bytes that a server sends."""

    buffer: bytearray = field(default_factory=bytearray)
    message: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Adds bytes. Returns the messages that are now complete, with their opcodes."""
        self.buffer += data
        found = []
        while (one := self.next_frame()) is not None:
            is_last, opcode, payload = one
            if opcode >= CLOSE:
                found.append((opcode, payload))
                continue
            self.message += payload
            if is_last:
                found.append((TEXT, bytes(self.message)))
                self.message.clear()
        return found

    def next_frame(self) -> tuple[bool, int, bytes] | None:
        if len(self.buffer) < 2:
            return None
        first, size = self.buffer[0], self.buffer[1] & 0x7F
        extra = {126: 2, 127: 8}.get(size, 0)
        if len(self.buffer) < 2 + extra:
            return None
        if extra:
            size = int.from_bytes(self.buffer[2 : 2 + extra])
        end = 2 + extra + size
        if len(self.buffer) < end:
            return None
        payload = bytes(self.buffer[2 + extra : end])
        del self.buffer[:end]
        return bool(first & 0x80), first & 0x0F, payload
