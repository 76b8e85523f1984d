#!/usr/bin/python3
"""The viewer in a real browser: what it shows first, what is told under the mouse, zoom, pan,
search.

A script at the end of the page plays the user with events and writes what it saw into the page,
which headless Chromium prints. Without Chromium the test is skipped, which CTest says.

  viewer_test.py --cgc build/release/cgc
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import expectations  # noqa: E402
from expectations import expect  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
KINDS = ["graph", "schedule", "timeline", "transports", "memory"]

USER = """
<script>
const seen = {errors: []};
addEventListener('error', event => seen.errors.push(event.message));
const report = document.createElement('pre');
report.id = 'report';
document.body.append(report);
try {
  const at = (type, target, more) => target.dispatchEvent(
      new (type === 'wheel' ? WheelEvent : PointerEvent)(
          type, {bubbles: true, cancelable: true, ...more}));
  const picture = () => shown.querySelector('svg');
  seen.kinds = [...byId('tabs').children].map(b => b.textContent);
  seen.first = shown.dataset.name;
  for (const kind of seen.kinds) {
    [...byId('tabs').children].find(b => b.textContent === kind).click();
    const box = picture().getBoundingClientRect();
    const nodes = [...shown.querySelectorAll('g.node')];
    const item = nodes.find(i => (told.get(i) || '').includes('hidden'));
    if (item) at('pointermove', item, {clientX: 300, clientY: 300});
    seen[kind] = {width: box.width, height: box.height, told: byId('told').textContent,
                  visible: byId('told').style.display};
    at('pointerleave', shown, {});
  }
  seen.hidden_again = byId('told').style.display;
  show('timeline');
  const before = views.get(shown).scale;
  const point = {clientX: 400, clientY: 300}, room = shown.getBoundingClientRect();
  const under = () => (400 - room.x - views.get(shown).x) / views.get(shown).scale;
  const under_before = under();
  at('wheel', shown, {deltaY: -400, ...point});
  seen.zoomed = views.get(shown).scale / before;
  seen.kept_under_mouse = Math.abs(under() - under_before) < 0.01;
  const x = views.get(shown).x;
  at('pointermove', shown, {buttons: 1, movementX: 40, movementY: 0});
  seen.panned = views.get(shown).x - x;
  byId('search').value = 'first.hidden';
  at('input', byId('search'), {});
  seen.found = byId('found').textContent;
  seen.marked = shown.querySelectorAll('.found').length;
  seen.address = location.hash;
  byId('search').value = 'no such thing';
  at('input', byId('search'), {});
  seen.found_nothing = byId('found').textContent;
  seen.titles = document.querySelectorAll('g.node title').length;
} catch (error) {
  seen.errors.push(String(error));
}
report.textContent = JSON.stringify(seen);
</script>
"""


def browse(chromium, address, folder):
    done = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu",
                           f"--user-data-dir={folder}/profile", "--window-size=1200,800",
                           "--dump-dom", address], capture_output=True, text=True, timeout=120)
    expect(done.returncode == 0, f"chromium exits with {done.returncode}\n{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cgc", required=True, type=lambda p: pathlib.Path(p).resolve())
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("SKIPPED: chromium is not installed; on Debian it is in the package chromium")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "viewer.html"
        subprocess.run([str(options.cgc), "viz", "-q", "examples/digits/digits.cgraph", "--what",
                        "timeline", "-o", str(page)], check=True, cwd=ROOT, timeout=120)
        html = page.read_text()
        played = pathlib.Path(folder) / "played.html"
        played.write_text(html.replace("</body>", USER + "</body>"))
        dom = browse(chromium, played.as_uri(), folder)
        report = re.search(r'<pre id="report">(.*?)</pre>', dom, re.S)
        expect(report is not None, "the page has no report")
        seen = json.loads(report[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
        check(seen)
        # An address says what to show.
        dom = browse(chromium, page.as_uri() + "#memory/first.w", folder)
        expect(re.search(r'<section id="timeline"[^>]* hidden', dom), "#memory hides the timeline")
        expect(not re.search(r'<section id="memory"[^>]* hidden', dom), "#memory shows the memory")
        expect(re.search(r'id="found">[1-9]\d* found<', dom), "#memory/first.w finds something")
    print(f"viewer: {expectations.checks} checks")


def check(seen):
    expect(seen["errors"] == [], f"errors: {seen['errors']}")
    expect(seen["kinds"] == KINDS, f"kinds: {seen['kinds']}")
    expect(seen["first"] == "timeline", f"shows {seen['first']} first")
    for kind in KINDS:
        box = seen[kind]
        expect(box["width"] > 100 and box["height"] > 50, f"{kind} is {box}")
        expect(box["width"] <= 1200 or box["height"] <= 800, f"{kind} is not fitted: {box}")
    for kind in ["graph", "schedule", "timeline", "memory"]:
        told = seen[kind]["told"]
        expect(seen[kind]["visible"] == "block" and "first.hidden" in told,
               f"{kind} tells `{told}`")
        expect("digits.cgraph:25:11\n    let h = first.hidden(x) via auto" in told,
               f"{kind} tells no line of the source: `{told}`")
    expect(seen["hidden_again"] == "none", "what is told stays when the mouse has left")
    expect(2 < seen["zoomed"] < 4 and seen["kept_under_mouse"], f"zoom: {seen['zoomed']}")
    expect(seen["panned"] == 40, f"pan: {seen['panned']}")
    expect(seen["found"] == f"{seen['marked']} found" and seen["marked"] > 0,
           f"found {seen['found']}")
    expect(seen["address"] == "#timeline/first.hidden", f"address: {seen['address']}")
    expect(seen["found_nothing"] == "0 found", f"found {seen['found_nothing']}")
    expect(seen["titles"] == 0, "the browser would tell titles, too")


if __name__ == "__main__":
    main()
