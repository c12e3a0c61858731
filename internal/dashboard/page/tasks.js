// The plan: a graph of what waits on what, and a list.

const boxWide = 178;
const boxHigh = 44;
const mostBoxes = 240;

// layers puts each task one column to the right of the last that it waits on.
function layers(plan) {
  const byID = new Map(plan.map((t) => [t.id, t]));
  const depth = new Map();
  const deep = (id, path) => {
    if (depth.has(id)) return depth.get(id);
    if (path.has(id)) return 0;
    path.add(id);
    let d = 0;
    for (const on of byID.get(id).depends_on) if (byID.has(on)) d = Math.max(d, deep(on, path) + 1);
    path.delete(id);
    depth.set(id, d);
    return d;
  };
  const columns = [];
  for (const t of plan) {
    const d = deep(t.id, new Set());
    (columns[d] = columns[d] || []).push(t);
  }
  return columns.map((c) => c || []);
}

function drawGraph() {
  let plan = run.state.plan || [];
  const all = plan.length;
  if (plan.length > mostBoxes) {
    plan = plan.filter((t) => t.status !== "done" && t.status !== "skipped").slice(0, mostBoxes);
    show("graph-note", plan.length + " unfinished of " + plural(all, "task"));
  } else show("graph-note", "");
  if (!plan.length) {
    show("graph", h("p", {class: "empty"}, "the plan is empty: git ralph import FILE, or git ralph add \"a task\""));
    return;
  }
  let columns = layers(plan);
  const linked = columns.length > 1;
  if (!linked) { // nothing waits on anything: rows that fill the width
    const across = Math.max(1, Math.floor(($("graph").clientWidth || 900) / (boxWide + 16)));
    columns = Array.from({length: across}, (_, i) => plan.filter((_, k) => k % across === i));
  }
  const at = new Map();
  const tall = Math.max(...columns.map((c) => c.length));
  const gapX = linked ? 56 : 16;
  columns.forEach((c, x) => c.forEach((t, y) => at.set(t.id, {x: 4 + x * (boxWide + gapX),
    y: 4 + (y + (linked ? (tall - c.length) / 2 : 0)) * (boxHigh + 14)})));
  const edges = [];
  for (const t of plan) for (const on of t.depends_on) {
    const a = at.get(on);
    const b = at.get(t.id);
    if (!a || !b) continue;
    const x1 = a.x + boxWide, y1 = a.y + boxHigh / 2, x2 = b.x, y2 = b.y + boxHigh / 2, m = (x1 + x2) / 2;
    edges.push(svg("path", {class: "edge" + (t.status === "done" ? " past" : ""),
      d: `M${x1} ${y1}C${m} ${y1} ${m} ${y2} ${x2} ${y2}`}));
  }
  const boxes = plan.map((t) => {
    const p = at.get(t.id);
    const open = () => openTask(t.id);
    return svg("g", {class: "node " + t.status + (t.next ? " next" : ""), transform: `translate(${p.x} ${p.y})`,
      tabindex: 0, role: "button", "aria-label": t.id + " " + t.title + ", " + words(t.status), onclick: open,
      onkeydown: onEnter(open)},
    svg("rect", {width: boxWide, height: boxHigh, rx: 8}),
    svg("rect", {class: "edgebar", width: 4, height: boxHigh, rx: 2}),
    svg("text", {class: "id", x: 14, y: 18}, (marks[t.status] || "·") + " " + clip(t.id, 18)),
    svg("text", {x: 14, y: 34}, clip(t.title, 23)), svg("title", {}, t.title + (t.waits ? "\n" + t.waits : "")));
  });
  const wide = columns.length * (boxWide + gapX) - gapX + 8;
  const high = tall * (boxHigh + 14) - 6;
  show("graph", svg("svg", {width: wide, height: high, viewBox: `0 0 ${wide} ${high}`}, edges, boxes));
}

const states = ["in_progress", "pending", "blocked", "failed", "done", "skipped"];
for (const s of states) $("task-filter").append(h("option", {value: s}, words(s)));

function taskButtons(t) {
  if (!steerable()) return null;
  const b = (word, f) => h("button", {class: "small", type: "button", "data-act": word.toLowerCase() + ":" + t.id,
    onclick: (ev) => { ev.stopPropagation(); f(); }}, word);
  switch (t.status) {
    case "pending": case "in_progress":
      return b("Skip", () => ask("Skip " + t.id, {label: "Skip", needed: false,
        hint: t.status === "in_progress" ? "The agent is stopped and its attempt kept as evidence." :
          "What waits on it goes on waiting. A reason is optional."},
      (why) => command("skip", why ? {id: t.id, reason: why} : [t.id])));
    case "failed": return b("Retry", () => command("retry", [t.id]));
    case "blocked": return b("Unblock", () => command("unblock", [t.id]));
    case "skipped": return b("Retry", () => command("retry", [t.id]));
  }
  return null;
}

function drawTasks() {
  const find = $("task-search").value.trim().toLowerCase();
  const only = $("task-filter").value;
  const plan = run.state.plan || [];
  const list = plan.filter((t) => (!only || t.status === only) &&
    (!find || (t.id + " " + t.title).toLowerCase().includes(find)));
  show("task-list", list.length ? h("table", {class: "list"},
    h("thead", {}, h("tr", {}, ["", "Task", "", "Attempts", "Cost", ""].map((s, i) =>
      h("th", {scope: "col", class: i === 3 || i === 4 ? "num" : ""}, s)))),
    h("tbody", {}, list.slice(0, 1000).map((t) => h("tr", {class: "open", tabindex: 0, "data-task": t.id,
      onclick: () => openTask(t.id), onkeydown: onEnter(() => openTask(t.id))},
    h("td", {class: "tight"}, mark(t.status)),
    h("td", {}, h("b", {class: "mono"}, t.id), " ", t.title,
      t.waits && h("div", {class: "muted"}, (t.set_aside ? "left out by an agent: " : "") + t.waits)),
    h("td", {class: "tight"}, h("span", {class: "tag " + t.status}, words(t.status)), t.next && h("span",
      {class: "tag next"}, "next")),
    h("td", {class: "num"}, t.attempts || ""), h("td", {class: "num"}, Number(t.cost_usd) ? money(t.cost_usd) : ""),
    h("td", {class: "tight"}, taskButtons(t)))))) : h("p", {class: "empty"}, "no such task"));
}
$("task-search").addEventListener("input", drawTasks);
$("task-filter").addEventListener("change", drawTasks);

// drawPlanBrief is the bar and the tasks around the one at work.
function drawPlanBrief() {
  const s = run.state;
  const n = s.tasks || {total: 0};
  const wanted = Math.max(0, n.total - (n.skipped || 0)) || 1;
  show("plan-note", n.total ? n.done + " of " + (n.total - (n.skipped || 0)) + " done" : "");
  const part = (key) => n[key] > 0 && h("i", {class: key, css: {width: (100 * n[key]) / wanted + "%"},
    title: n[key] + " " + words(key)});
  const plan = s.plan || [];
  let at = plan.findIndex((t) => t.status === "in_progress");
  if (at < 0) at = plan.findIndex((t) => t.next);
  const from = Math.max(0, Math.min(at < 0 ? plan.length : at - 2, plan.length - 6));
  show("plan-brief", s.goal && h("p", {class: "goal"}, clip(s.goal, 200)), s.pace && h("p", {class: "muted"}, s.pace),
    h("div", {class: "progress", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100,
      "aria-valuenow": s.percent_complete || 0, "aria-label": "tasks done"},
    part("done"), part("in_progress"), part("failed"), part("blocked")),
    h("ul", {class: "plain"}, plan.slice(from, from + 6).map((t) => h("li", {},
      h("button", {class: "link line", type: "button", onclick: () => openTask(t.id)}, mark(t.status),
        h("b", {class: "mono"}, t.id), h("span", {class: "cut"}, t.title))))),
    plan.length > 6 && h("button", {class: "link", type: "button", onclick: () => go("tasks")},
      "all " + plural(plan.length, "task")));
}
