// What the other parts are made of: elements, words, and the way to the server.
// Text only ever becomes a text node, whoever wrote it.

const $ = (id) => document.getElementById(id);

function put(el, key, value) {
  if (key.startsWith("aria-") && value !== undefined) value = String(value);
  if (value === null || value === undefined || value === false) return;
  if (key === "class") el.setAttribute("class", value);
  else if (key.startsWith("on")) el.addEventListener(key.slice(2), value);
  else if (key === "css") for (const [name, v] of Object.entries(value)) el.style.setProperty(name, v);
  else if (key === "value" || key === "checked") el[key] = value;
  else el.setAttribute(key, value === true ? "" : String(value));
}

function fill(el, children) {
  for (const c of children.flat(9)) {
    if (c === null || c === undefined || c === false) continue;
    el.append(c instanceof Node ? c : document.createTextNode(String(c)));
  }
  return el;
}

function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) put(el, key, value);
  return fill(el, children);
}

function svg(tag, props, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(props || {})) put(el, key, value);
  return fill(el, children);
}

function show(id, ...children) {
  const el = typeof id === "string" ? $(id) : id;
  el.replaceChildren();
  return fill(el, children);
}

// onEnter handles the key and nothing that it would do to what has the focus then.
const onEnter = (f) => (ev) => {
  if (ev.key !== "Enter" || ev.target !== ev.currentTarget) return;
  ev.preventDefault();
  f();
};

// Words and figures.

const plural = (n, word) => n + " " + word + (n === 1 ? "" : "s");
const clip = (s, n) => (s.length > n ? s.slice(0, n - 1) + "…" : s);
const words = (s) => String(s || "").replaceAll("_", " ");
const money = (x) => "$" + Number(x || 0).toFixed(2);

function count(n) {
  if (n < 1000) return String(n || 0);
  if (n < 1e6) return (n / 1e3).toFixed(n < 1e4 ? 1 : 0) + "k";
  return (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + "M";
}

function span(ms) {
  if (ms > 0 && ms < 9950) return (ms / 1000).toFixed(1) + "s";
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return s + "s";
  if (s < 3600) return Math.floor(s / 60) + "m " + String(s % 60).padStart(2, "0") + "s";
  return Math.floor(s / 3600) + "h " + String(Math.floor((s % 3600) / 60)).padStart(2, "0") + "m";
}

const clock = (t) => t.toLocaleTimeString([], {hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false});

function when(time) {
  const t = new Date(time);
  const today = new Date().toDateString() === t.toDateString();
  return today ? clock(t) : t.toLocaleDateString([], {month: "short", day: "numeric"}) + " " + clock(t);
}

// since is a clock that goes on by itself.
function since(time) {
  return h("span", {class: "clock", "data-since": time}, ago(time));
}
const ago = (time) => span(1000 * Math.max(0, Math.round((Date.now() - new Date(time)) / 1000)));
setInterval(() => {
  for (const el of document.querySelectorAll("[data-since]")) {
    el.textContent = ago(el.dataset.since);
  }
}, 1000);

const marks = {keep: "✓", reject: "✗", halt: "■", done: "✓", in_progress: "▸", failed: "✗", blocked: "!",
  skipped: "–", pending: "·"};
const mark = (kind) => h("span", {class: "mark " + kind, "aria-hidden": "true"}, marks[kind] || "·");

// The run: what the server said last. Each key of the state is a part.

const run = {state: {}, rows: [], entries: [], live: [], next: undefined, ready: false};
const frozen = $("snapshot") ? JSON.parse($("snapshot").textContent) : null;

async function get(path) {
  if (frozen) return fromExport(path);
  const res = await fetch(path, {credentials: "same-origin"});
  const text = await res.text();
  if (!res.ok) throw problem(text, res.status);
  return (res.headers.get("Content-Type") || "").startsWith("application/json") ? JSON.parse(text) : text;
}

function problem(text, status) {
  let doc = {};
  try { doc = JSON.parse(text); } catch { doc = {error: text || "the server answered " + status}; }
  const e = new Error(doc.error);
  e.hint = doc.hint;
  return e;
}

// An export has its documents in files beside it, each a script that hands one over.
const arrived = {};
window.ralphData = (name, value) => { arrived[name] = value; };

function load(file) {
  if (file in arrived) return Promise.resolve(arrived[file]);
  return new Promise((resolve, reject) => {
    const s = h("script", {src: "data/" + file.replace("/", "-") + ".js"});
    s.onload = () => resolve(arrived[file]);
    s.onerror = () => reject(new Error("the export has no file for " + file));
    document.head.append(s);
  });
}

async function fromExport(path) {
  const m = /^\/api\/(iterations\/\d+|tasks\/[A-Za-z0-9._-]+)(?:\/(\w+)(?:\?name=(.*))?)?$/.exec(path);
  if (!m) throw new Error("the export does not hold this");
  const file = await load(m[1]);
  if (!m[2]) return file.doc;
  const key = m[2] + (m[3] ? ":" + decodeURIComponent(m[3]) : "");
  if (key in file.parts) return file.parts[key];
  throw new Error("its evidence was pruned before the export");
}

// command asks the run to do something and says what came of it.
async function command(name, args) {
  try {
    const res = await fetch("/api/command", {method: "POST", credentials: "same-origin",
      headers: {"Content-Type": "application/json"}, body: JSON.stringify({command: name, args: args || []})});
    const text = await res.text();
    if (!res.ok) throw problem(text, res.status);
    toast(JSON.parse(text).message || "done");
    return true;
  } catch (e) {
    toast(e.message, e.hint, true);
    return false;
  }
}

function toast(text, hint, bad) {
  const el = h("div", {class: "toast" + (bad ? " bad" : "")}, text, hint && h("small", {}, hint));
  $("toasts").append(el);
  while ($("toasts").children.length > 3) $("toasts").firstChild.remove();
  setTimeout(() => el.remove(), bad ? 9000 : 5000);
}

const steerable = () => !frozen && run.ready && !run.state.read_only;

// ask opens a small form; done gets its text and says whether it went well.
function ask(title, {text = "", hint = "", label = "Send", needed = true, danger = false}, done) {
  const box = $("ask");
  const field = needed === null ? null : h("textarea", {rows: 4, "aria-label": title}, text);
  const send = async (ev) => {
    ev.preventDefault();
    const said = field ? field.value.trim() : "";
    if (needed && !said) { field.focus(); return; }
    if (await done(said)) box.close();
  };
  show(box, h("form", {method: "dialog", onsubmit: send},
    h("h2", {id: "ask-title"}, title), hint && h("p", {class: "muted"}, hint), field,
    h("div", {class: "row end"},
      h("button", {type: "button", onclick: () => box.close()}, "Cancel"),
      h("button", {type: "submit", class: danger ? "danger" : "primary"}, label))));
  if (field) field.addEventListener("keydown", (ev) => {
    if (ev.key === "Enter" && (ev.ctrlKey || ev.metaKey)) send(ev);
  });
  box.showModal();
}
