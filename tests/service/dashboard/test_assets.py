"""The files of the dashboard: small, typed, in the package, and those of others unchanged."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from linmax.service.dashboard.assets import FOLDER, load_assets

FIRST_VIEW, ANY_VIEW = 60_000, 100_000  # bytes, compressed
PLOT = {"vendor/uPlot.iife.min.js", "vendor/uPlot.min.css"}
IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""")


def needed(name: str) -> set[str]:
    """The files that a module loads at once, and those it needs."""
    found, queue = set(), [name]
    while queue:
        one = queue.pop()
        if one not in found:
            found.add(one)
            text = (FOLDER / one).read_text()
            text = re.sub(r"\(\) => import\([^)]*\)|await import\([^)]*\)", "", text)
            folder = (FOLDER / one).parent
            queue += [
                (folder / path).resolve().relative_to(FOLDER).as_posix() for path in IMPORT.findall(text)
            ]
    return found | (PLOT if "chart.js" in found else set())


def size(names: set[str]) -> int:
    return sum(len(load_assets()[name].compressed) for name in names)


def test_every_view_is_small() -> None:
    frame = {"index.html", "style.css", "theme.js", "icon.svg"} | needed("main.js")
    views = {path.name: needed(f"views/{path.name}") for path in (FOLDER / "views").glob("*.js")}
    assert size(frame | needed("views/sign_in.js") | views["overview.js"] | PLOT) < FIRST_VIEW
    for name, files in views.items():
        assert size(frame | files) < ANY_VIEW, name


def test_what_is_from_others_is_unchanged_and_has_its_licence() -> None:
    source = (FOLDER / "vendor" / "uPlot-SOURCE.txt").read_text()
    for name in PLOT:
        content = (FOLDER / name).read_bytes()
        assert f"{hashlib.sha256(content).hexdigest()}  {Path(name).name}" in source
    assert "MIT License" in (FOLDER / "vendor" / "uPlot-LICENSE.txt").read_text()


def test_nothing_is_loaded_from_elsewhere() -> None:
    for path in [*FOLDER.glob("*"), *(FOLDER / "views").glob("*")]:
        if path.is_file():
            text = path.read_text().replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|//cdn|eval\(|innerHTML|style=", text), path.name


def test_every_file_of_the_folder_is_served() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    assert files == set(load_assets())


def test_the_wheel_has_every_file_of_the_page_and_both_licences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = pytest.importorskip("hatchling.build", reason="the wheel is built with hatchling")
    root = Path(__file__).parents[3]
    if not (root / "pyproject.toml").exists():
        pytest.skip("the sources of the project are not here")
    monkeypatch.chdir(root)
    name = backend.build_wheel(str(tmp_path))
    with zipfile.ZipFile(tmp_path / name) as wheel:
        packed = {one.filename: one.file_size for one in wheel.infolist()}
    place = "linmax/service/dashboard/static/"
    files = [path for path in FOLDER.rglob("*") if path.is_file()]
    assert {place + path.relative_to(FOLDER).as_posix(): path.stat().st_size for path in files} == {
        path: size for path, size in packed.items() if path.startswith(place)
    }
    assert any(path.endswith(".dist-info/licenses/LICENSE") for path in packed)
    assert place + "vendor/uPlot-LICENSE.txt" in packed


def test_the_types_are_right() -> None:
    tsc = shutil.which("tsc")
    if tsc is None:
        pytest.skip("there is no tsc: npm install --global typescript")
    config = Path(__file__).with_name("tsconfig.json")
    done = subprocess.run([tsc, "--project", str(config)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
