from __future__ import annotations

import pytest
from ouroboros.trace.plan_file import write_plan
from ouroboros.trace.store import PlanStore, default_folder

KEY = {"problem": "builtin:softmax", "shape": [64, 64], "dtype": "float16", "kind": "compile"}
PLAN = write_plan({"launches": []}, [b"cubin"])


def test_what_was_put_is_found_under_an_equal_key(tmp_path):
    store = PlanStore(tmp_path / "plans")
    assert store.get(KEY) is None
    store.put(KEY, PLAN)
    assert store.get(dict(reversed(KEY.items()))) == PLAN
    for change in ({"kind": "eager"}, {"shape": [64, 65]}, {"gpu": "another"}):
        assert store.get(KEY | change) is None


@pytest.mark.parametrize("damage", [lambda p: p[:-1], lambda p: p[:-1] + b"?", lambda p: b""])
def test_a_damaged_entry_is_none_and_can_be_written_anew(tmp_path, damage):
    store = PlanStore(tmp_path)
    store.put(KEY, PLAN)
    store.path(KEY).write_bytes(damage(PLAN))
    assert store.get(KEY) is None
    store.put(KEY, PLAN)
    assert store.get(KEY) == PLAN


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    store = PlanStore(tmp_path)

    def fail(_):
        raise OSError("no space")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space"):
        store.put(KEY, PLAN)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_follows_the_xdg_rules(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "ouroboros" / "plans"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() == tmp_path / "home" / ".cache" / "ouroboros" / "plans"
