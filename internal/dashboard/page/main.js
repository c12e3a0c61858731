// Putting it together: the stream of events, the keys, and what is drawn when.

// What depends on which parts of the state; everything else is drawn each time.
const painters = [[drawHead], [drawAttention], [drawFigures], [drawNow],
  [drawPlanBrief, "plan", "tasks", "goal", "pace"],
  [drawPlace, "plan", "knowledge", "settings", "read_only"], [drawCost], [drawContext], [drawStrip]];

let waiting = null;

function changed(parts) {
  const asked = waiting !== null; // for a frame, which draws what comes until then
  waiting = {...waiting, ...parts};
  if (asked) return;
  requestAnimationFrame(() => {
    const now = waiting;
    waiting = null;
    for (const [draw, ...keys] of painters) if (!keys.length || keys.some((k) => k in now)) draw();
    badge("tasks", (run.state.plan || []).filter((t) => t.status === "failed" || t.status === "blocked").length);
  });
}

function drawOverview() { drawFigures(); drawCost(); drawContext(); drawStrip(); }

function tookEntry(e) {
  if (run.entries.some((x) => x.entry === e.entry)) return;
  run.entries.unshift(e);
  if (run.entries.length > 2000) run.entries.length = 2000;
  if (e.event === "iteration") freshRow(e);
}

function follow() {
  const stream = new EventSource("/api/events");
  let many = 0;
  stream.addEventListener("state", (ev) => {
    const parts = JSON.parse(ev.data);
    Object.assign(run.state, parts);
    run.ready = true;
    document.body.classList.remove("away");
    changed(parts);
  });
  stream.addEventListener("entry", (ev) => {
    tookEntry(JSON.parse(ev.data));
    cancelAnimationFrame(many);
    many = requestAnimationFrame(() => {
      if (place === "events") drawEvents();
      drawOverview();
    });
  });
  stream.addEventListener("live", (ev) => {
    run.live.push(JSON.parse(ev.data));
    if (run.live.length > 400) run.live.splice(0, 200);
    const log = $("live");
    if (log) drawLive();
  });
  stream.onerror = () => {
    document.body.classList.add("away");
    show("pill", "not connected").className = "pill halted";
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, 3000);
  };
  stream.onopen = () => { run.live.length = 0; };
}

function theme(next) {
  const now = document.documentElement.dataset.theme ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const want = next || (now === "dark" ? "light" : "dark");
  document.documentElement.dataset.theme = want;
  try { localStorage.setItem("git-ralph-theme", want); } catch { /* kept for this page alone */ }
}
$("theme").addEventListener("click", () => theme());
try {
  const kept = localStorage.getItem("git-ralph-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch { /* as the system has it */ }

function keysHelp() {
  const list = [["1 … 6", "the parts of the page"], ["/", "search the iterations"], ["j, k", "next and previous row"],
    ["Enter", "open it"], ["← →", "the iteration before or after, when one is open"], ["p", "pause or resume"],
    ["n", "a note for the agent"], ["Esc", "close"], ["?", "this list"]];
  show("ask", h("form", {method: "dialog"}, h("h2", {id: "ask-title"}, "Keys"),
    h("dl", {}, list.map(([k, what]) => [h("dt", {}, h("kbd", {}, k)), h("dd", {}, what)])),
    h("div", {class: "row end"}, h("button", {type: "submit", class: "primary"}, "Close"))));
  $("ask").showModal();
}
$("keys").addEventListener("click", keysHelp);

function moveFocus(by) {
  const rows = [...document.querySelectorAll("main section:not([hidden]) [tabindex='0'].iteration, " +
    "main section:not([hidden]) tr.open")];
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(rows.length - 1, at + by))].focus();
}

document.addEventListener("keydown", (ev) => {
  if (ev.ctrlKey || ev.metaKey || ev.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(ev.target.tagName)) return;
  if ($("ask").open) return;
  if ($("detail").open) {
    if (shown.n && ev.key === "ArrowLeft" && shown.n > 1) openIteration(shown.n - 1);
    else if (shown.n && ev.key === "ArrowRight") openIteration(shown.n + 1);
    return;
  }
  const n = Number(ev.key);
  if (n >= 1 && n <= places.length) go(places[n - 1][0]);
  else if (ev.key === "/") { ev.preventDefault(); go("timeline"); $("find").focus(); }
  else if (ev.key === "?") keysHelp();
  else if (ev.key === "j") moveFocus(1);
  else if (ev.key === "k") moveFocus(-1);
  else if (ev.key === "p" && steerable()) command(run.state.paused ? "resume" : "pause");
  else if (ev.key === "n" && steerable()) { ev.preventDefault(); askNote(); }
});

function begin() {
  const at = location.hash.slice(1);
  // The token has done its work and does not belong into the history.
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
  if (places.some(([key]) => key === at)) go(at);
  if (frozen) {
    run.state = frozen.state;
    frozen.loaded = 0;
    run.ready = true;
    run.entries = frozen.entries;
    changed(run.state);
  } else follow();
  fetchRows(false).then(drawOverview);
  const m = /^iteration-(\d+)$/.exec(at);
  if (m) openIteration(Number(m[1]));
}
begin();
