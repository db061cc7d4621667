"""A simulation in the browser, drawn here: a server on this machine that only this machine sees."""

from __future__ import annotations

import json
import threading
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from scratch_embed.lesson.play.frames import Frame, frame
from scratch_embed.lesson.play.page import live_page
from scratch_embed.lesson.play.values import read_values
from scratch_embed.simulations import Scene

HOST = "127.0.0.1"


class Server(ThreadingHTTPServer):
    """Serves one scene: the page at /, and any state at /frame?control=value&...

    port: 0 takes one that is free; `address` tells which. A browser opens connections in advance
    and keeps them, so each has its thread; drawing is done by one at a time.
    """

    daemon_threads = True

    def __init__(self, scene: Scene, port: int = 0):
        super().__init__((HOST, port), _Handler)
        self.scene, self.lock = scene, threading.Lock()
        self.opens = dict(scene.values)  # moves change those of the scene

    @property
    def address(self) -> str:
        """What to type into the browser."""
        return f"http://{HOST}:{self.server_port}/"

    def draw(self, **values) -> Frame:
        """One state, drawn while no other is."""
        with self.lock:
            return frame(self.scene, **values)

    def handle_error(self, request, client_address) -> None:
        """A browser that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        """The page, a state, or a sentence."""
        own = self.headers.get("Host", "").partition(":")[0] in (HOST, "localhost")
        if not own:  # a page from elsewhere that points its name at this machine
            return self._send(403, "text/plain", "This server answers only its own machine.")
        try:
            where = urlsplit(self.path)
        except ValueError as error:
            return self._send(400, "text/plain", f"That is no address: {error}.")
        if where.path == "/":
            simulation, opens = self.server.scene.simulation, self.server.opens
            text = live_page(simulation, self.server.draw(**opens), **opens)
            return self._send(200, "text/html", text)
        if where.path != "/frame":
            return self._send(404, "text/plain", "There is no such page here.")
        try:
            controls = self.server.scene.simulation.controls
            values = read_values(controls, parse_qsl(where.query, keep_blank_values=True))
            shown = self.server.draw(**values)
        except (TypeError, ValueError) as error:
            return self._send(400, "application/json", json.dumps({"error": str(error)}))
        found = {"svg": shown.svg, "numbers": list(shown.numbers.items())}
        return self._send(200, "application/json", json.dumps(found))

    def _send(self, code: int, kind: str, text: str) -> None:
        body = text.encode("utf-8")
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said) -> None:
        """A line for every move would only be noise."""


def serve(scene: Scene, port: int = 0, browser: bool = True) -> None:
    """Serve until Ctrl-C. OSError when the port is taken."""
    with Server(scene, port) as server:
        print(f"{scene.simulation.title}\n  {server.address}   (Ctrl-C ends it)", flush=True)
        if browser:
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
