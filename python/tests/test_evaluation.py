"""Evaluation tasks give the records of the command line, and its words where they refuse."""

from __future__ import annotations

import signal
import sys
import textwrap

import pytest

import espalier
from espalier import _native, tasks

from conftest import ROOT, TINY, program


def test_a_task_gives_the_record_of_the_command_line(tiny, folders, trainer):
    flags = ["--checkpoint", TINY, "--no-cache", "--data", folders]
    [known] = trainer("eval", "--task", "zero-shot", *flags)
    found = espalier.evaluate(tiny, "zero-shot", folders, no_cache=True)
    assert found == known
    assert found["n"] == 6 and set(found["metrics"]) >= {"acc1", "acc5", "chance"}
    assert tasks.zero_shot(tiny, [folders], no_cache=True) == known


def test_options_are_the_flags_with_underscores(tiny, folders, trainer, tmp_path):
    names = tmp_path / "names.tsv"
    names.write_text("red_house\tred house\ngreen_house\tgreen house\nblue_house\tblue house\n")
    flags = ["--class-names", names, "--resize", "squeeze", "--change", "blur", "--batch-size", "2"]
    data = ["--checkpoint", TINY, "--no-cache", "--data", folders]
    [known] = trainer("eval", "--task", "zero-shot", *data, *flags)
    found = tasks.zero_shot(
        tiny,
        folders,
        class_names=names,
        resize="squeeze",
        change="blur",
        batch_size=2,
        no_cache=True,
        classifier=None,
        drop_first=False,
    )
    assert found == known


def test_there_is_a_function_for_every_task():
    named = {name.replace("-", "_") for name, _, _ in _native.tasks()}
    assert set(tasks.__all__) == named | {"evaluate"}
    assert "Data: " in (tasks.heat_map.__doc__ or "")
    assert {"k", "prompts", "no_cache", "walk_steps"} <= set(_native.options())
    assert not {"checkpoint", "json", "out", "help"} & set(_native.options())


def test_refusals_have_the_words_of_the_command_line(tiny, folders, words):
    flags = ["--checkpoint", TINY, "--no-cache"]
    missing = ROOT / "no/such/folder"
    said = words("eval", "--task", "retrieval", *flags, "--data", missing)
    with pytest.raises(espalier.Error) as caught:
        tasks.retrieval(tiny, missing, no_cache=True)
    assert str(caught.value) == said and caught.value.exit_code == 2
    said = words("eval", "--task", "zero-shot", *flags, "--data", folders, "--k", "x")
    with pytest.raises(espalier.UsageError) as caught:
        tasks.zero_shot(tiny, folders, k="x")
    assert said.startswith(str(caught.value)) and "--k" in str(caught.value)
    with pytest.raises(espalier.UsageError, match="'no-task' for '--task"):
        espalier.evaluate(tiny, "no-task", folders)
    with pytest.raises(espalier.UsageError, match="options: expected some of taxonomy, .* found speed"):
        tasks.zero_shot(tiny, folders, speed=3)
    with pytest.raises(espalier.UsageError, match="expected --checkpoint"):
        tasks.zero_shot(None, folders)


def test_ctrl_c_stops_between_two_batches(folders):
    """The signal arrives while a batch is computed; the exception is raised, and the process goes on."""
    script = f"""
        import os, signal, espalier
        # A process that was started in the background ignores the signal, and so do its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        model = espalier.open({str(TINY)!r})
        def photos():
            for at in range(1000):
                if at == 40:
                    os.kill(os.getpid(), signal.SIGINT)
                yield {str(ROOT / "static/samples/small/cat.jpg")!r}
        for work in (model.encode_image, model.caption):
            try:
                work(photos(), batch_size=4)
            except KeyboardInterrupt:
                print("interrupted")
        print(len(model.caption([{str(ROOT / "static/samples/small/cat.jpg")!r}])))
    """
    done = program(sys.executable, "-c", textwrap.dedent(script))
    assert done.stdout.split() == ["interrupted", "interrupted", "1"], done.stderr


def test_ctrl_c_stops_an_evaluation(folders):
    """The alarm rings while the tasks of one call after another compute."""
    script = f"""
        import espalier, signal
        model = espalier.open({str(TINY)!r})
        def stop(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        try:
            for _ in range(1000):
                espalier.tasks.zero_shot(model, {str(folders)!r}, no_cache=True, batch_size=1)
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = program(sys.executable, "-c", textwrap.dedent(script))
    assert done.stdout.split() == ["interrupted"], done.stderr


def test_a_signal_is_a_python_signal_again_after_a_task(tiny, folders):
    before = signal.getsignal(signal.SIGINT)
    tasks.zero_shot(tiny, folders, no_cache=True)
    assert signal.getsignal(signal.SIGINT) is before
