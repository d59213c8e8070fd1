"""Fixtures: each test has a folder, and every process it starts ends with it."""

import contextlib

import pytest

from tests.lib.activescale import Activescale
from tests.lib.envoy import Envoy, EnvoyOptions, Pod
from tests.lib.push import PushChannel
from tests.lib.traffic import HeldLoad, HoldingBackend


class Lab:
    """Starts the parts of a test and ends them in reverse order."""

    def __init__(self, folder, stack: contextlib.ExitStack):
        self.folder = folder
        self._stack = stack

    def activescale(self, *args: str, **options) -> Activescale:
        server = Activescale(self.folder, *args, **options).start()
        self._stack.callback(server.stop)
        return server

    def backend(self, hold_seconds: float | None = None) -> HoldingBackend:
        return self._stack.enter_context(
            contextlib.closing(HoldingBackend(hold_seconds=hold_seconds))
        )

    def envoy(
        self, pod: Pod, receivers: list[int], backend: int, options: EnvoyOptions | None = None
    ) -> Envoy:
        envoy = Envoy(pod, receivers, backend, self.folder, options).start()
        self._stack.callback(envoy.stop)
        return envoy

    def load(self, port: int) -> HeldLoad:
        return self._stack.enter_context(contextlib.closing(HeldLoad(port)))

    def channel(self, port: int, **options) -> PushChannel:
        return self._stack.enter_context(PushChannel(port, **options))


@pytest.fixture
def lab(tmp_path):
    with contextlib.ExitStack() as stack:
        yield Lab(tmp_path, stack)
