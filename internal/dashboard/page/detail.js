// One iteration, or one task, in a dialog over the page.

const shown = {n: 0, part: "summary"};

function dialog(title, ...children) {
  const box = $("detail");
  show(box, h("div", {class: "sheet"}, h("header", {}, h("h2", {id: "detail-title"}, title),
    h("button", {class: "icon", type: "button", "aria-label": "Close", onclick: () => box.close()}, "✕")), children));
  if (!box.open) box.showModal();
}

const section = (title, ...children) => h("section", {class: "block"}, h("h3", {}, title), children);
const facts = (pairs) => h("dl", {}, pairs.filter(([, v]) => v).map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
const bullets = (list, f) => h("ul", {}, list.map((x) => h("li", {}, f ? f(x) : x)));

async function openIteration(n) {
  shown.n = n;
  history.replaceState(null, "", "#iteration-" + n);
  dialog("Iteration " + n, h("p", {class: "empty"}, "loading"));
  let doc;
  try { doc = await get("/api/iterations/" + n); } catch (e) {
    dialog("Iteration " + n, h("p", {class: "empty"}, e.message, h("br"), e.hint));
    return;
  }
  if (shown.n !== n) return;
  drawIteration(doc);
}

const partNames = [["summary", "Summary"], ["handoff", "Handoff"], ["checks", "Checks"], ["diff", "Difference"],
  ["transcript", "Transcript"], ["prompt", "Prompt"]];

function drawIteration(d) {
  const body = h("div", {class: "body", id: "detail-body", tabindex: 0});
  const tabs = h("div", {class: "parts", role: "tablist"}, partNames.map(([key, word]) => h("button", {type: "button",
    role: "tab", id: "part-" + key, "aria-selected": shown.part === key, onclick: () => {
      shown.part = key;
      for (const b of tabs.children) b.setAttribute("aria-selected", b.id === "part-" + key);
      drawPart(d, body);
    }}, word)));
  const step = (by, word, sign) => h("button", {class: "icon", type: "button", "aria-label": word, title: word,
    onclick: () => openIteration(d.iteration + by), disabled: d.iteration + by < 1}, sign);
  dialog(["Iteration " + d.iteration, " ", d.verdict ? h("span", {class: "tag " + d.verdict}, marks[d.verdict], " ",
    d.verdict, d.partial && ", a step") : h("span", {class: "tag in_progress"}, "at work")],
  h("p", {class: "sub"}, d.task && h("button", {class: "link mono", type: "button", onclick: () => openTask(d.task)},
    d.task), " ", d.title || "", d.attempt > 1 && ", attempt " + d.attempt,
  h("span", {class: "steps"}, step(-1, "The one before", "‹"), step(1, "The one after", "›"))), tabs, body);
  drawPart(d, body);
}

function drawPart(d, body) {
  switch (shown.part) {
    case "summary": return show(body, summaryOf(d));
    case "handoff": return show(body, d.handoff ? handoffOf(d.handoff)
      : h("p", {class: "empty"}, "there is no handoff"));
    case "checks": return show(body, checksOf(d));
  }
  const key = shown.part;
  show(body, h("p", {class: "empty"}, "loading"));
  get("/api/iterations/" + d.iteration + "/" + key).then((text) => {
    if (shown.n !== d.iteration || shown.part !== key) return;
    show(body, key === "diff" ? diffOf(text) : key === "transcript" ? transcriptOf(text) : h("pre", {}, text));
  }, (e) => show(body, h("p", {class: "empty"}, e.message, h("br"), e.hint)));
}

function summaryOf(d) {
  const t = d.tokens || {};
  return [
    d.reason && h("p", {class: "reason " + d.verdict}, d.reason, d.detail && !d.reason.includes(d.detail) &&
      " (" + d.detail + ")"),
    d.summary && h("p", {}, d.summary),
    facts([["ended", d.verdict && when(d.time)], ["took", d.duration_ms > 0 && span(d.duration_ms)],
      ["agent", d.agent && d.agent + (d.outcome ? ": " + words(d.outcome) : "")], ["turns", d.turns || ""],
      ["used", t.total > 0 && count(t.total) + " tokens, " +
        (d.cost_usd === null ? "unknown cost" : money(d.cost_usd))],
      ["window", d.context_peak > 0 && d.context_peak + " % at most"],
      ["prompt", d.prompt_tokens > 0 && count(d.prompt_tokens) + " tokens" + (d.dropped_sections.length ?
        "; left out: " + d.dropped_sections.join(", ") : "")],
      ["commit", d.commit && h("code", {}, d.commit)], ["evidence", d.evidence ? h("code", {}, d.evidence)
        : d.verdict && "pruned"], ["sandbox", d.sandbox], ["entry", h("code", {}, d.entry)]]),
    d.criteria.length > 0 && section("Criteria", bullets(d.criteria, (c) => [h("span", {class: "tag"}, c.mark), " ",
      c.text])),
    d.files.length > 0 && section("Files", h("ul", {class: "files"}, d.files.slice(0, 100).map((f) => h("li", {},
      h("span", {class: "tag"}, f.kind), h("span", {class: "mono"}, f.path)))),
    d.files.length > 100 && h("p", {class: "muted"}, "and " + (d.files.length - 100) + " more")),
    d.agents.length > 1 && section("Agents", bullets(d.agents, (g) => g.role + " " + (g.model || "") + ": " +
      words(g.outcome) + ", " + span(g.duration_ms) + ", " + count(g.tokens.total) + " tokens")),
    d.put_back.length > 0 && section("Put back", bullets(d.put_back)),
    d.notices.length > 0 && section("Notices", bullets(d.notices)),
    d.passes.map((p) => section("Findings of " + p.name, h("pre", {}, p.findings || "none"))),
    (d.same_number || []).map((x) => section("The same number, given by another machine", summaryOf(x))),
  ];
}

function handoffOf(f) {
  const some = (title, list, how) => list && list.length > 0 && section(title, bullets(list, how));
  return [
    h("p", {}, f.summary), f.freeform && f.freeform !== f.summary && h("p", {class: "prose"}, f.freeform),
    facts([["says about its task", f.task_completed && (f.task_completed.fully_complete ? "complete: " :
      "not complete: ") + (f.task_completed.summary || "")], ["confidence", f.confidence_level],
    ["asks for a person", f.request_human_review && f.request_human_review.needed &&
      (f.request_human_review.reason || "yes")]]),
    some("Unfinished", f.unfinished_business, (x) => x.item + (x.reason ? ": " + x.reason : "")),
    some("Deviations", f.deviations, (x) => x.planned + " → " + x.actual + (x.reason ? " (" + x.reason + ")" : "")),
    some("Bugs met", f.bugs_encountered, (x) => x.description + (x.resolution ? ": " + x.resolution : "")),
    some("Recommendations", f.recommendations), some("Architecture", f.architectural_notes),
    some("Constraints", f.constraints_discovered, (x) => x.constraint + (x.impact ? ": " + x.impact : "")),
    some("Tests added", f.tests_added, (x) => [h("code", {}, x.file || ""), " ",
      Array.isArray(x.test_names) ? x.test_names.join(", ") : ""]),
  ];
}

function checksOf(d) {
  if (!d.checks.length) return h("p", {class: "empty"}, "no check was run");
  return d.checks.map((k) => {
    const [kind, word] = k.skipped ? ["skipped", "skipped, " + k.skipped]
      : k.already_red ? ["blocked", "already red"] : k.tolerated ? ["blocked", "failed, and may"]
      : k.timeout ? ["halt", "timeout"] : k.limit ? ["halt", "limit: " + k.limit] : k.no_tests ? ["halt", "no test ran"]
      : k.passed ? ["keep", k.flaky ? "flaky" : ""] : ["halt", "exit " + k.exit_code];
    const out = h("pre", {hidden: k.passed || !k.output}, k.output || "");
    const all = h("button", {class: "small", type: "button", onclick: async () => {
      try {
        show(out, await get("/api/iterations/" + d.iteration + "/output?name=" + encodeURIComponent(k.name)));
        out.hidden = false;
        all.remove();
      } catch (e) { toast(e.message, e.hint, true); }
    }}, "whole output");
    return h("section", {class: "check"}, h("div", {class: "line"}, mark(kind === "halt" ? "failed" : kind),
      h("b", {}, k.name), k.command !== k.name && h("code", {class: "cut"}, k.command), h("span", {class: "grow"}),
      k.tests !== undefined && h("span", {class: "muted"}, plural(k.tests, "test")),
      h("span", {class: "muted"}, span(k.duration_ms)), word && h("span", {class: "tag " + kind}, word),
      !k.skipped && all), out);
  });
}

const mostLines = 3000;

function diffOf(text) {
  if (!text.trim()) return h("p", {class: "empty"}, "nothing was changed");
  const files = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("diff --git ") || !files.length) files.push([]);
    files[files.length - 1].push(line);
  }
  let left = mostLines;
  return files.map((lines) => {
    let first = lines.findIndex((l) => l.startsWith("@@")) - 1; // what stands before it is the head
    if (first < 0) first = lines.length;
    const content = lines.slice(first + 1);
    const plus = content.filter((l) => l.startsWith("+")).length;
    const minus = content.filter((l) => l.startsWith("-")).length;
    const part = lines.slice(0, Math.max(0, left));
    left -= lines.length;
    return h("details", {class: "diff", open: files.length < 30 && part.length > 0},
      h("summary", {}, h("span", {class: "mono"}, lines[0].replace(/^diff --git a\/(.*) b\/\1$/, "$1")),
        h("span", {class: "plus"}, "+" + plus), h("span", {class: "minus"}, "−" + minus)),
      h("pre", {}, part.slice(1).map((l, i) => [l, i < first]).filter(([l, head]) =>
        !head || !/^(index |--- |\+\+\+ )/.test(l)).map(([l, head]) => h("span", {class: head ? "at"
        : {"+": "add", "-": "del", "@": "at"}[l[0]] || ""}, l + "\n"))),
      part.length < lines.length && h("p", {class: "muted"}, "the rest: git ralph diff " + shown.n));
  });
}

// said finds what people read in a line of a client's stream, whichever client it was.
function said(x) {
  const out = [];
  const visit = (v) => {
    if (Array.isArray(v)) return v.forEach(visit);
    if (!v || typeof v !== "object") return;
    if (v.type === "tool_use" || v.type === "tool_call" || v.tool || v.name && v.input) {
      const given = JSON.stringify(v.input || v.args || v.text || "");
      out.push(["tool", (v.name || v.tool || "tool") + " " + clip(given, 600)]);
      return;
    }
    if (typeof v.text === "string" && v.text.trim()) out.push([v.type === "tool_result" ? "result" : "text", v.text]);
    if (typeof v.content === "string" && v.content.trim()) out.push(["result", v.content]);
    for (const key of ["message", "content", "item", "part", "delta"]) {
      if (typeof v[key] === "object") visit(v[key]);
    }
  };
  visit(x);
  return out;
}

function transcriptOf(text) {
  const lines = text.split("\n").filter((l) => l.trim()).slice(0, 5000);
  return h("div", {class: "transcript"}, lines.flatMap((line) => {
    let x;
    try { x = JSON.parse(line); } catch { return [h("p", {class: "say"}, line)]; }
    const parts = said(x);
    return parts.length ? parts.map(([kind, t]) => h("p", {class: "say " + kind}, clip(t, 4000)))
      : [h("p", {class: "say raw"}, clip(line, 300))];
  }));
}

async function openTask(id) {
  shown.n = 0;
  dialog(id, h("p", {class: "empty"}, "loading"));
  let doc;
  try { doc = await get("/api/tasks/" + encodeURIComponent(id)); } catch (e) {
    dialog(id, h("p", {class: "empty"}, e.message, h("br"), e.hint));
    return;
  }
  const t = doc.task;
  const brief = (run.state.plan || []).find((x) => x.id === t.id) || {};
  const one = (list) => list && list.length ? list.join(", ") : "";
  dialog([h("span", {class: "mono"}, t.id), " ", h("span", {class: "tag " + t.status}, words(t.status))],
    h("div", {class: "body"}, h("p", {class: "sub"}, t.title, h("span", {class: "steps"}, taskButtons(brief))),
      brief.waits && h("p", {class: "reason reject"}, brief.waits),
      t.description && h("p", {class: "prose"}, t.description),
      facts([["depends on", one(t.depends_on)], ["priority", String(t.priority)], ["attempts", t.attempts || ""],
        ["verify", t.verify && t.verify.length ? bullets(t.verify, (v) => h("code", {}, v)) : ""],
        ["skills", one(t.skills)], ["spec", t.spec],
        ["used", t.actual_tokens ? count(t.actual_tokens) + " tokens, " + money(t.cost_usd) : ""]]),
      t.criteria && t.criteria.length > 0 && section("Criteria", bullets(t.criteria)),
      t.notes && section("Notes", h("p", {class: "prose"}, t.notes)),
      t.failure && section("Why the last attempt failed", h("pre", {}, t.failure)),
      doc.iterations.length > 0 && section("Iterations", doc.iterations.map(rowOf))));
}

$("detail").addEventListener("close", () => {
  shown.n = 0;
  if (location.hash.startsWith("#iteration-")) history.replaceState(null, "", "#" + place);
});
for (const id of ["detail", "ask"]) {
  $(id).addEventListener("click", (ev) => { if (ev.target === $(id)) $(id).close(); });
}
