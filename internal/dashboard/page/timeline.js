// The iterations: a strip of verdicts, and rows that are fetched by pages.

function rowOf(r) {
  const open = () => openIteration(r.iteration);
  return h("div", {class: "iteration", tabindex: 0, role: "button", "data-iteration": r.iteration, onclick: open,
    onkeydown: onEnter(open)},
  mark(r.verdict),
  h("b", {class: "n"}, "#" + r.iteration),
  h("div", {class: "what"},
    h("div", {class: "cut"}, r.task && h("span", {class: "mono"}, r.task + " "), r.title || words(r.event)),
    h("div", {class: "muted cut"}, r.verdict === "keep"
      ? (r.partial ? "a step, not finished. " : "") + (r.summary || "") : r.reason || r.summary || r.outcome)),
  h("div", {class: "figs"}, r.attempt > 1 && h("span", {}, "attempt " + r.attempt),
    r.duration_ms > 0 && h("span", {}, span(r.duration_ms)), Number(r.cost_usd) > 0 && h("span", {}, money(r.cost_usd)),
    h("span", {class: "muted"}, when(r.time))));
}

function drawStrip() {
  const list = run.rows.slice(0, 160).reverse();
  const kept = list.filter((r) => r.verdict === "keep").length;
  show("strip-note", list.length ? kept + " kept, " + (list.length - kept) + " rejected" +
    (run.next ? " of the newest " + list.length : "") : "");
  const s = run.state;
  show("strip", list.map((r) => h("button", {class: "cell " + r.verdict + (r.partial ? " partial" : ""), type: "button",
    role: "listitem", title: `#${r.iteration} ${r.task} ${r.verdict}${r.reason ? ": " + r.reason : ""}`,
    "aria-label": `iteration ${r.iteration}: ${r.verdict}`, onclick: () => openIteration(r.iteration)},
  marks[r.verdict])),
  s.running && s.iteration_since && h("span", {class: "cell now", title: "#" + s.iteration + " is at work"}));
  show("recent", run.rows.length ? run.rows.slice(0, 6).map(rowOf)
    : h("p", {class: "empty"}, "no iteration has ended yet"),
  run.rows.length > 6 && h("button", {class: "link", type: "button", onclick: () => go("timeline")}, "all iterations"));
}

// What the rows of the timeline show: everything, or what a search found.
const looking = {q: "", verdict: "", rows: [], next: undefined, busy: false};

const searching = () => looking.q !== "" || looking.verdict !== "";

// drawRows draws the list; more = rows were put behind those that stand there.
function drawRows(more) {
  const list = searching() ? looking.rows : run.rows;
  const next = searching() ? looking.next : run.next;
  const there = $("rows").querySelectorAll(".iteration").length;
  if (more && there > 0) fill($("rows"), list.slice(there).map(rowOf));
  else {
    show("rows", list.length ? list.map(rowOf) : h("p", {class: "empty"},
      looking.busy ? "looking" : searching() ? "no iteration is like that" : "no iteration has ended yet"));
  }
  $("older").hidden = !next;
}

async function fetchRows(more) {
  const target = searching() ? looking : run;
  if (looking.busy) return;
  looking.busy = true;
  const q = looking.q;
  const verdict = looking.verdict;
  try {
    let path = "/api/iterations?limit=100";
    if (more && target.next) path += "&before=" + target.next;
    if (q) path += "&q=" + encodeURIComponent(q);
    if (verdict) path += "&verdict=" + verdict;
    const page = frozen ? await pageOfExport(target, more, q, verdict) : await get(path);
    target.rows = more ? target.rows.concat(page.iterations) : page.iterations;
    target.next = page.next || undefined;
  } catch (e) {
    toast(e.message, e.hint, true);
  } finally {
    looking.busy = false;
  }
  if (q !== looking.q || verdict !== looking.verdict) return fetchRows(false);
  drawRows(more);
  if (target === run) drawOverview();
}

// pageOfExport is a page of the list that an export has inside, or in the files
// of older iterations beside it.
async function pageOfExport(target, more, q, verdict) {
  const from = more ? target.rows.length : 0;
  const wanted = () => frozen.iterations.filter((r) => (!verdict || r.verdict === verdict) &&
    (!q || JSON.stringify(r).toLowerCase().includes(q.toLowerCase())));
  let list = wanted();
  while (list.length <= from + 100 && frozen.loaded < frozen.older) {
    frozen.iterations.push(...await load("older/" + (frozen.loaded + 1)));
    frozen.loaded++;
    list = wanted();
  }
  return {iterations: list.slice(from, from + 100), next: from + 100 < list.length ? from + 100 : null};
}

let typing = 0;
$("find").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => { looking.q = $("find").value.trim(); looking.rows = []; fetchRows(false); }, 200);
});
$("verdict").addEventListener("change", () => {
  looking.verdict = $("verdict").value;
  looking.rows = [];
  fetchRows(false);
});
$("older").addEventListener("click", () => fetchRows(true));
new IntersectionObserver((seen) => {
  if (seen.some((s) => s.isIntersecting) && !$("older").hidden && !$("timeline").hidden) fetchRows(true);
}).observe($("older"));

// freshRow puts an iteration that has just ended in front.
function freshRow(r) {
  if (run.rows.some((x) => x.entry === r.entry)) return;
  run.rows.unshift(r);
  if (searching()) return;
  if ($("rows").querySelector(".iteration")) $("rows").prepend(rowOf(r));
  else drawRows();
}
