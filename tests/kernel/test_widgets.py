"""Tests of the messages between widgets and the page, and of `Output` widgets."""

import json
import math
import pickle

import comm
import pytest

from ratoon_kernel import outputs, shell, widgets

ipywidgets = pytest.importorskip("ipywidgets")


class Channel:
    """Stands in for the connection to the server."""

    def __init__(self):
        self.sent = []

    def report(self, text):
        self.sent.append(json.loads(text)["widget"])

    def of(self, widget):
        return [one for one in self.sent if one["model"] == widget.model_id]


@pytest.fixture
def channel(booted, monkeypatch):
    channel = Channel()
    before = comm.create_comm, comm.get_comm_manager
    monkeypatch.setattr(outputs, "channel", channel)
    monkeypatch.setattr(widgets, "_comms", {})
    output = ipywidgets.Output
    entered = output.__enter__, output.__exit__
    widgets.connect(comm)
    widgets.capture_here(ipywidgets.widgets.widget_output)
    yield channel
    ipywidgets.Widget.close_all()
    comm.create_comm, comm.get_comm_manager = before
    output.__enter__, output.__exit__ = entered


def handle(widget, **message):
    widgets.handle(json.dumps({"model": widget.model_id, **message}))


def test_a_widget_sends_its_state_its_changes_and_its_end(channel):
    slider = ipywidgets.IntSlider(value=3)
    slider.value = 4
    slider.send({"hello": 1}, [b"\x01\x02"])
    slider.close()
    opened, changed, custom, closed = [
        one for one in channel.sent if one["model"] == opened_id(channel)
    ]
    assert (opened["method"], opened["state"]["value"]) == ("open", 3)
    assert changed["state"] == {"value": 4}
    assert (custom["content"], custom["buffers"]) == ({"hello": 1}, ["AQI="])
    assert closed["method"] == "close"


def opened_id(channel):
    models = [one for one in channel.sent if "state" in one]
    return next(
        one["model"] for one in models if one["state"].get("_model_name") == "IntSliderModel"
    )


def test_binary_data_and_numbers_that_are_not_json(channel):
    image = ipywidgets.Image(value=b"\x89PNG")
    [opened] = [one for one in channel.of(image) if one["method"] == "open"]
    assert opened["buffers"] == [{"path": ["value"], "data": "iVBORw=="}]
    number = ipywidgets.FloatText(value=math.nan)
    assert channel.of(number)[0]["state"]["value"] is None


def test_an_update_of_the_page_runs_the_observers_and_is_echoed(channel):
    slider, seen = ipywidgets.IntSlider(), []
    slider.observe(lambda change: seen.append(change["new"]), "value")
    assert widgets.has(slider.model_id) == "true" and widgets.has("other") == "false"
    handle(slider, method="update", state={"value": 7}, echo="e1")
    assert (slider.value, seen) == (7, [7])
    [echo] = [one for one in channel.of(slider) if one.get("echo")]
    assert (echo["method"], echo["state"], echo["echo"]) == ("update", {"value": 7}, "e1")
    # The process corrects a value that is out of range.
    handle(slider, method="update", state={"value": 700}, echo="e2")
    assert channel.of(slider)[-1]["state"] == {"value": 100}


def test_a_click_runs_its_handlers_and_errors_are_shown(channel, monkeypatch):
    button, shown = ipywidgets.Button(), []
    button.on_click(lambda _: 1 / 0)
    monkeypatch.setattr(shell.shell, "showtraceback", lambda *_, **__: shown.append(True))
    handle(button, method="custom", content={"event": "click"})
    assert shown
    assert not shell.running.allow_stdin, "there is nobody to ask"


def test_an_output_widget_takes_what_is_printed_and_shown(channel):
    out = ipywidgets.Output()
    stream = {"output_type": "stream", "name": "stdout"}
    shown = {"output_type": "display_data", "data": {"text/plain": "1"}, "metadata": {}}
    with out:
        outputs.report({"output": {**stream, "text": "a"}})
        outputs.report({"output": {**stream, "text": "b"}})
        outputs.report({"output": {**shown, "display_id": "d"}})
        outputs.report({"update": {"display_id": "d", "data": {"text/plain": "2"}, "metadata": {}}})
    assert outputs.sink is None
    assert out.outputs[0] == {**stream, "text": "ab"}
    assert out.outputs[1]["data"] == {"text/plain": "2"}
    with out:
        outputs.report({"clear": {"wait": True}})
        assert len(out.outputs) == 2, "it is cleared when the next output comes"
        outputs.report({"output": {**stream, "text": "c"}})
    assert out.outputs == ({**stream, "text": "c"},)


def test_captures_nest_show_errors_and_end_with_the_cell(channel, monkeypatch):
    shown = []
    monkeypatch.setattr(shell.shell, "showtraceback", lambda *_, **__: shown.append(True))
    outer, inner = ipywidgets.Output(), ipywidgets.Output()
    item = {"output_type": "stream", "name": "stdout", "text": "x"}
    with outer:
        with inner:
            outputs.report({"output": dict(item)})
            raise ZeroDivisionError
        outputs.report({"output": dict(item)})
    assert shown and (inner.outputs, outer.outputs) == ((item,), (item,))
    outer.__enter__()
    widgets.end_captures()
    assert outputs.sink is None


def test_what_an_output_widget_captures_is_limited(channel, monkeypatch):
    monkeypatch.setattr(widgets, "MAX_CAPTURED_CHARACTERS", 10)
    out = ipywidgets.Output()
    with out:
        for _ in range(5):
            outputs.report({"output": {"output_type": "stream", "name": "stdout", "text": "12345"}})
    assert "captures no more output" in out.outputs[-1]["text"]
    assert sum(len(one["text"]) for one in out.outputs) < 100


def test_a_saved_comm_has_its_widget_again(channel):
    slider = ipywidgets.IntSlider()
    made = widgets.restored(slider.model_id, widgets.TARGET)
    function, arguments, state, *_, setter = slider.comm.__reduce__()
    assert (function, arguments) == (widgets.restored, (slider.model_id, widgets.TARGET))
    setter(made, state)
    handle(slider, method="update", state={"value": 5})
    assert slider.value == 5
    pickle.dumps(arguments)
