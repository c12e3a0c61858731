// The head of the page, what is done now, what waits for a person, and the
// smaller parts: knowledge, events, settings.

const places = [["overview", "Overview"], ["tasks", "Tasks"], ["timeline", "Timeline"], ["knowledge", "Knowledge"],
  ["events", "Events"], ["settings", "Settings"]];
let place = "overview";

function go(name) {
  place = name;
  history.replaceState(null, "", "#" + name);
  for (const [key] of places) {
    $(key).hidden = key !== name;
    $("tab-" + key).setAttribute("aria-selected", key === name);
  }
  $("tab-" + name).scrollIntoView({inline: "nearest", block: "nearest"});
  window.scrollTo(0, 0);
  drawPlace();
}

// drawPlace draws the part of the page that is looked at; the others wait.
function drawPlace() {
  switch (place) {
    case "tasks": drawGraph(); return drawTasks();
    case "knowledge": return drawKnown();
    case "events": return drawEvents();
    case "settings": return drawSettings();
  }
}

show("tabs", places.map(([key, word], i) => h("button", {type: "button", role: "tab", id: "tab-" + key,
  "aria-controls": key, "aria-selected": key === place, title: word + " (" + (i + 1) + ")", onclick: () => go(key)},
word, h("span", {class: "badge", id: "badge-" + key, hidden: true}))));

function badge(key, n) {
  const el = $("badge-" + key);
  el.hidden = !n;
  el.textContent = n || "";
}

const isRunning = () => Boolean(run.state.running);

function statusWord() {
  const s = run.state;
  if (frozen) return words(s.status);
  if (s.asked && isRunning()) return s.asked;
  if (s.paused) return isRunning() ? "pausing" : "paused";
  return words(s.status);
}

function drawHead() {
  const s = run.state;
  document.title = (s.tasks && s.tasks.total ? s.percent_complete + " % " : "") + (s.repository || "git ralph") + ", " +
    statusWord();
  show("repo", s.repository);
  show("branch", s.branch);
  const pill = show("pill", statusWord());
  pill.className = "pill " + (s.paused || s.asked && isRunning() ? "paused" : s.status);
  const facts = [words(s.phase), s.session > 0 && "session " + s.session,
    s.iteration > 0 && "iteration " + s.iteration, [s.driver, s.model].filter(Boolean).join(" ")];
  show("headline", facts.filter(Boolean).join("  ·  "));
  drawControls();
}

function drawControls() {
  const s = run.state;
  if (frozen || s.read_only) {
    show("controls", h("span", {class: "muted"}, frozen ? "an export" : "read-only"));
    return;
  }
  const b = (id, word, title, f, kind) => h("button", {type: "button", id, class: kind || "", title, onclick: f}, word);
  const key = [s.paused, isRunning(), s.asked, s.task, s.breaker && s.breaker.state, s.status].join("|");
  if ($("controls").dataset.key === key) return;
  $("controls").dataset.key = key;
  const open = s.breaker && s.breaker.state === "open";
  show("controls",
    s.paused || open ? b("resume", "Resume", "Go on (p)", () => command("resume"), "primary")
      : b("pause", "Pause", "Let the iteration end, then wait (p)", () => command("pause")),
    isRunning() && b("stop", "Stop", "End the run after this iteration, or now", askStop),
    isRunning() && s.task && b("skip", "Skip task", "Skip the task at work", () => ask("Skip " + s.task + "?", {
      label: "Skip", needed: null, hint: "The agent is stopped and its attempt kept as evidence."},
    () => command("skip", [s.task]))),
    b("note", "Note…", "Tell the agent something (n)", askNote));
}

const askNote = () => ask("A note for the agent", {hint: "It is added to the next prompt and stays there until that " +
  "task is finished."}, (text) => command("inject", [text]));

function askStop() {
  const box = $("ask");
  const end = async (args) => { if (await command("stop", args)) box.close(); };
  show(box, h("form", {method: "dialog"}, h("h2", {id: "ask-title"}, "Stop the run?"),
    h("p", {class: "muted"}, "After this iteration nothing is lost. Now ends the agent at once: its attempt is kept " +
      "as evidence and the files are put back."),
    h("div", {class: "row end"}, h("button", {type: "button", onclick: () => box.close()}, "Cancel"),
      h("button", {type: "button", id: "stop-now", class: "danger", onclick: () => end(["--now"])}, "Stop now"),
      h("button", {type: "button", id: "stop-after", class: "primary", onclick: () => end([])},
        "After this iteration"))));
  box.showModal();
}

// drawAttention lists what only a person can do.
function drawAttention() {
  const s = run.state;
  const box = $("attention");
  if (box.contains(document.activeElement) && document.activeElement.value) return; // somebody is typing
  const cards = (s.questions || []).map(questionCard);
  const aside = (s.plan || []).filter((t) => t.set_aside);
  if (s.status === "needs_review" || aside.length && !isRunning()) cards.push(approvalCard(s, aside));
  else if (s.halt_reason) {
    cards.push(h("article", {class: "card alert " + s.status}, h("h2", {}, words(s.status)), h("p", {}, s.halt_reason),
      h("p", {class: "muted"}, "next: ", h("code", {}, s.next))));
  }
  badge("overview", cards.length);
  show(box, cards);
}

function questionCard(q) {
  const field = h("input", {type: "text", "aria-label": "Your answer to " + q.id, placeholder: "your answer"});
  const answer = async (text) => {
    if (text.trim() && await command("answer", [q.id, text.trim()])) field.value = "";
  };
  return h("article", {class: "card alert question", "data-question": q.id}, h("h2", {}, "Question " + q.id),
    h("p", {class: "prose"}, q.question),
    steerable() && [h("div", {class: "row"}, (q.options || []).map((o) => h("button", {type: "button",
      onclick: () => answer(o)}, o))),
    h("form", {class: "row", onsubmit: (ev) => { ev.preventDefault(); answer(field.value); }}, field,
      h("button", {type: "submit", class: "primary"}, "Answer"))]);
}

function approvalCard(s, aside) {
  return h("article", {class: "card alert needs_review", id: "approval"}, h("h2", {}, "Waits for your word"),
    h("p", {class: "prose"}, s.halt_reason || "agents left out " + plural(aside.length, "task")),
    aside.length > 0 && bullets(aside, (t) => [h("b", {class: "mono"}, t.id), " ", t.title, ": ", t.waits]),
    s.report && section("The report", bullets(s.report.specs.flatMap((x) => x.criteria), (c) => [h("span",
      {class: "tag " + (c.verdict === "pass" ? "keep" : "reject")}, c.mark || c.verdict), " ", c.text])),
    steerable() && h("div", {class: "row"},
      h("button", {type: "button", id: "approve", class: "primary", onclick: () => command("approve")}, "Approve"),
      s.status === "needs_review" && h("button", {type: "button", id: "reject", onclick: () => ask("What is wrong?",
        {hint: "The next agent is told.", label: "Reject", danger: true}, (why) => command("reject", [why]))},
      "Reject…")));
}

function drawFigures() {
  const s = run.state;
  const n = s.tasks || {};
  const cost = s.cost_usd || {};
  const l = s.limits || {};
  const kept = run.rows.filter((r) => r.verdict === "keep").length;
  const tile = (name, value, more) => h("div", {class: "figure"}, h("span", {class: "muted"}, name), h("b", {}, value),
    h("small", {class: "muted"}, more || " "));
  show("figures",
    tile("Done", (s.percent_complete || 0) + " %", n.total ? n.done + " of " + (n.total - (n.skipped || 0)) +
      (n.failed ? ", " + n.failed + " failed" : "") + (n.blocked ? ", " + n.blocked + " blocked" : "") : "no task yet"),
    tile("This session", money(cost.session), Number(l.session_usd) ? "of at most " + money(l.session_usd) :
      money(cost.total) + " in all"),
    tile("Tokens", count((s.tokens || {}).total), count((s.tokens || {}).output) + " written by agents"),
    tile("Iterations", String(s.iteration || 0), run.rows.length ? kept + " of " + run.rows.length +
      (run.next ? " newest" : "") + " kept" : "none has ended"),
    tile(isRunning() ? "Running for" : "Last sign", isRunning() && s.started_at ? since(s.started_at)
      : s.last_activity_at ? when(s.last_activity_at) : "never", isRunning() ? "process " + s.running.pid :
      words(s.status)));
}

function drawNow() {
  const s = run.state;
  const box = $("now");
  if (!isRunning()) {
    show(box, h("header", {}, h("h2", {}, "No loop is running")),
      h("p", {}, "Next: ", h("code", {}, s.next || "")),
      s.last_task && h("p", {class: "muted"}, "last task: " + s.last_task),
      guidanceOf(s));
    return;
  }
  const team = (s.workers || []).filter((w) => w.worker);
  if (team.length) {
    show(box, h("header", {}, h("h2", {}, plural(team.length, "worker") + " at work")), team.map(workerLine), logOf(),
      guidanceOf(s));
    return drawLive();
  }
  const t = (s.plan || []).find((x) => x.id === s.task);
  const pct = s.context_percent || 0;
  const soft = (s.limits || {}).handoff_percent || 60;
  show(box, h("header", {}, h("h2", {}, s.task ? [h("span", {class: "mono"}, s.task), " ", t ? t.title : ""]
    : s.iteration_since ? words(s.phase) : s.status === "waiting" ? "Waiting" : "Between iterations"),
  s.iteration_since && h("span", {class: "muted"}, s.attempt > 1 && "attempt " + s.attempt + ", ",
    since(s.iteration_since))),
  s.waiting_until && h("p", {class: "reason reject"}, "waits until " + when(s.waiting_until) + ": " + s.waiting_for),
  s.iteration_since && h("div", {class: "meter",
    title: pct + " % of the window; the best zone is 40 to " + soft + " %"},
    h("i", {class: "zone", css: {left: "40%", width: soft - 40 + "%"}}),
    h("i", {class: "used" + (pct > soft ? " warm" : ""), css: {width: Math.min(100, pct) + "%"}}),
    h("span", {}, pct ? "context " + pct + " %" : "context not known yet",
      pct > 0 && s.context_at && [", ", since(s.context_at), " ago"])),
  logOf(), guidanceOf(s));
  drawLive();
}

const logOf = () => h("div", {class: "live", id: "live", tabindex: 0, "aria-label": "What the agent says and does"});

// workerLine is what one of several workers does: its task, and what was heard of its agent last.
function workerLine(w) {
  const t = (run.state.plan || []).find((x) => x.id === w.task);
  const heard = run.live.findLast((l) => l.worker === w.worker && l.iteration === w.iteration && l.message);
  const does = heard ? heard.message : w.activity ? w.activity.text : "";
  return h("p", {class: "worker", "data-worker": w.worker}, h("span", {class: "tag"}, String(w.worker)), " ",
    h("span", {class: "mono"}, w.task), " ", t ? t.title : "", " ", h("span", {class: "muted"},
      w.attempt > 1 && "attempt " + w.attempt + ", ", since(w.since)),
    h("span", {class: "does", title: does}, does || "nothing heard yet"));
}

const guidanceOf = (s) => (s.guidance || []).length > 0 && h("details", {class: "notes"}, h("summary", {},
  plural(s.guidance.length, "note") + " for the agent"), bullets(s.guidance, (g) => [g.text, " ",
  h("span", {class: "muted"}, g.shown ? "in the prompt" : "not shown yet")]));

function liveLine(l) {
  const kind = l.event === "check" ? "check" : l.data && l.data.tool ? "tool" : l.data && l.data.denied ? "denied" :
    l.event === "agent" ? "text" : "note";
  const text = l.data && l.data.text ? l.data.text : l.message;
  return h("p", {class: "say " + kind}, h("time", {}, clock(new Date(l.time))),
    l.worker > 0 && h("span", {class: "tag"}, String(l.worker)),
    l.data && l.data.agent && h("span", {class: "tag"}, l.data.agent), " ", text);
}

function drawLive() {
  const log = $("live");
  if (!log) return;
  const lines = run.live.filter((l) => l.worker || !run.state.iteration || !l.iteration ||
    l.iteration === run.state.iteration);
  show(log, lines.length ? lines.slice(-120).map(liveLine) : h("p", {class: "empty"}, run.state.activity ?
    run.state.activity.text : "nothing was heard of the agent yet"));
  log.scrollTop = log.scrollHeight;
}

function drawKnown() {
  const find = $("known-search").value.trim().toLowerCase();
  const all = run.state.knowledge || [];
  const list = all.filter((k) => !find ||
    (k.id + " " + k.text + " " + (k.tags || []).join(" ")).toLowerCase().includes(find));
  show("known", list.length ? list.slice().reverse().map((k) => h("article", {class: "card known" +
    (k.status === "active" ? "" : " past")}, h("header", {}, h("span", {class: "tag " + k.type}, k.type), h("b",
    {class: "mono"}, k.id), k.status !== "active" && h("span", {class: "tag"}, k.status), h("span", {class: "grow"}),
  (k.source || []).map((n) => h("button", {class: "link", type: "button", onclick: () => openIteration(n)}, "#" + n))),
  h("p", {class: "prose"}, k.text), (k.tags || []).map((t) => h("span", {class: "tag"}, t)))) :
    h("p", {class: "empty"}, all.length ? "nothing is like that" : "nothing is known yet"));
}
$("known-search").addEventListener("input", drawKnown);

function drawEvents() {
  const find = $("event-search").value.trim().toLowerCase();
  const list = run.entries.filter((e) => !find || JSON.stringify(e).toLowerCase().includes(find));
  show("event-list", list.length ? list.map((e) => h("div", {class: "event", "data-entry": e.entry},
    h("time", {class: "muted"}, when(e.time)), h("span", {class: "tag " + (e.verdict || e.event)}, words(e.event)),
    h("div", {class: "what"}, h("div", {}, e.task && h("span", {class: "mono"}, e.task + " "), e.summary),
      e.reason && e.reason !== e.summary && h("div", {class: "muted"}, clip(e.reason, 300)),
      e.by && h("div", {class: "muted"}, "asked by " + e.by + (e.via ? ", from the " + e.via : ""))),
    e.event === "iteration" && h("button", {class: "link", type: "button", onclick: () => openIteration(e.iteration)},
      "#" + e.iteration))) : h("p", {class: "empty"}, "no event is like that"));
  $("older-events").hidden = Boolean(frozen) || run.noOlder;
}
$("event-search").addEventListener("input", drawEvents);
$("older-events").addEventListener("click", async () => {
  try {
    const last = run.entries[run.entries.length - 1];
    const page = await get("/api/log?limit=100" + (last ? "&before=" + last.entry : ""));
    run.entries.push(...page.entries);
    run.noOlder = page.entries.length < 100;
  } catch (e) { toast(e.message, e.hint, true); }
  drawEvents();
});

function drawSettings() {
  if ($("settings").contains(document.activeElement) && document.activeElement.tagName !== "BUTTON") return;
  show("setting-list", (run.state.settings || []).map((x) => {
    const text = x.value === null || x.value === undefined ? "" : String(x.value);
    const id = "set-" + x.key;
    const field = x.choices.length ? h("select", {id, disabled: !steerable()}, x.choices.map((c) => h("option",
      {selected: c === text}, c))) : h("input", {id, type: "text", value: text, disabled: !steerable()});
    return h("form", {class: "setting", onsubmit: (ev) => {
      ev.preventDefault();
      command("set", [x.key, field.value]).then((ok) => { if (ok) field.blur(); });
    }}, h("label", {for: id}, h("b", {class: "mono"}, x.key), h("small", {class: "muted"}, x.help),
      h("small", {class: "muted"}, "from " + x.origin)), field,
    steerable() && h("button", {type: "submit", "data-set": x.key}, "Set"));
  }));
}
