"""The layout of the page in a browser: it fits on a phone, and its text can be read."""

from __future__ import annotations

import html
import json
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from linmax.cli import app
from tests.helpers.examples import EVERYTHING
from tests.report.test_page import PAGES, page_of

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--allow-file-access-from-files", "--enable-logging=stderr", "--v=0",
)  # fmt: skip
LEAST = 9.0  # pixels of a letter's height
MEASURE = """
<body><script>
const seen = {};
function measure(frame) {
  const page = frame.contentDocument, found = {size: Infinity, texts: 0, outside: [], over: []};
  found.width = page.documentElement.scrollWidth;
  for (const svg of page.querySelectorAll("svg")) {
    if (!svg.getClientRects().length) continue;
    const whole = svg.getBoundingClientRect(), scale = whole.width / svg.viewBox.baseVal.width, boxes = [];
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect(), size = parseFloat(getComputedStyle(text).fontSize) * scale;
      found.texts++;
      found.size = Math.min(found.size, size);
      if (box.left < whole.left - 4 || box.right > whole.right + 4 || box.top < whole.top - 4
          || box.bottom > whole.bottom + 4) found.outside.push(text.textContent);
      const middle = (box.top + box.bottom) / 2;  // letters fill about half of their box
      boxes.push([box.left + 1, box.right - 1, middle - size * 0.34, middle + size * 0.34, text.textContent]);
    }
    for (let i = 0; i < boxes.length; i++) for (let j = 0; j < i; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      if (a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3]) found.over.push([b[4], a[4]]);
    }
  }
  return found;
}
const all = FRAMES.map(([name, width]) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style = "border:0;height:800px;width:" + width + "px";
  frame.onload = () => { seen[name + " " + width] = measure(frame); done(); };
  frame.src = name + ".html";
  document.body.append(frame);
}));
Promise.all(all).then(() => {
  document.body.textContent = "";
  const out = document.createElement("pre");
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
</script></body>
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("chromium is not installed: the page was not checked in a browser")
    folder = tmp_path_factory.mktemp("pages")
    for name in PAGES:
        (folder / f"{name}.html").write_text(page_of(name), encoding="utf-8")
    return folder


def browse(folder: Path, page: str, *options: str) -> tuple[str, str]:
    """What the browser prints for a page, and what it says of it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    home = folder / f"home-{page}-{len(list(folder.iterdir()))}"
    home.mkdir()
    done = subprocess.run(
        [browser, *QUIET, f"--user-data-dir={home}", *options, (folder / page).as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def test_no_text_is_too_small_outside_its_figure_or_over_other_text(pages: Path) -> None:
    frames = [[name, width] for name in PAGES for width in (1280, 720, 390, 360)]
    (pages / "measure.html").write_text(MEASURE.replace("FRAMES", json.dumps(frames)), encoding="utf-8")
    dom, console = browse(pages, "measure.html", "--virtual-time-budget=20000", "--dump-dom")
    assert not console
    text = re.search(r"<pre>(.*)</pre>", dom, re.DOTALL)
    assert text is not None
    seen: dict[str, Any] = json.loads(html.unescape(text[1]))
    assert len(seen) == len(frames)
    for name, found in seen.items():
        assert found["width"] <= int(name.split()[1]), name
        assert found["texts"] > 50, name
        assert found["size"] >= LEAST, name
        assert not found["outside"], name
        assert not found["over"], name


def test_a_browser_shows_and_prints_the_page_without_messages(pages: Path) -> None:
    for width in (1280, 390) if EVERYTHING else (390,):
        picture = pages / f"{width}.png"
        _, console = browse(pages, "usual.html", f"--window-size={width},900", f"--screenshot={picture}")
        assert not console
        assert struct.unpack(">II", picture.read_bytes()[16:24]) == (width, 900)
    paper = pages / "usual.pdf"
    _, console = browse(pages, "usual.html", "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    assert not console
    assert paper.read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_a_panel_of_language_models_fits_on_its_page(pages: Path) -> None:
    """29 models answer the first 1000 questions of a benchmark; the screenshot is left for inspection."""
    data = Path(__file__).parents[3] / "shared" / "data" / "mmlu_pro_votes" / "mmlu_pro_votes.npz"
    if not data.exists():
        pytest.skip("../shared/data is missing: the page of 29 language models was not checked")
    with np.load(data, allow_pickle=False) as panel:
        votes, truth, names = panel["votes"][:1000], panel["y"][:1000], panel["voter_names"].tolist()
    letters = np.array([*"ABCDEFGHIJ", ""])
    table = np.column_stack((letters[votes], letters[truth])).tolist()
    file = pages / "models.csv"
    file.write_text("\n".join(",".join(row) for row in [[*names, "truth"], *table]), encoding="utf-8")
    done = CliRunner().invoke(app, ["fuse", str(file), "--report", str(pages / "models.html")])
    assert done.exit_code == 0, done.output
    picture = pages / "models.png"
    _, console = browse(pages, "models.html", "--window-size=1280,2400", f"--screenshot={picture}")
    assert not console
    assert struct.unpack(">II", picture.read_bytes()[16:24]) == (1280, 2400)
