// Runs in the client before the client itself: settings, commands, skills,
// policies, memory and variables that the repository contains are not there for it.
const fs = require("node:fs")
const path = require("node:path")

const own = path.resolve(process.env.GEMINI_CLI_HOME)
const names = new Set([".gemini", ".agents", ".env", "GEMINI.md"])

function hidden(file) {
  if (file instanceof URL) file = file.pathname
  if (typeof file !== "string") return false
  const full = path.resolve(file)
  if (full === own || full.startsWith(own + path.sep)) return false
  return full.split(path.sep).some((part) => names.has(part))
}

const missing = (call, file) =>
  Object.assign(new Error(`ENOENT: no such file or directory, ${call} '${file}'`), { code: "ENOENT", errno: -2, syscall: call, path: String(file) })

for (const call of ["readFile", "readdir", "stat", "lstat", "access", "open", "opendir", "realpath"]) {
  const [later, now, promised] = [fs[call], fs[call + "Sync"], fs.promises[call]]
  fs[call] = Object.assign(function (file, ...rest) {
    if (hidden(file)) return process.nextTick(rest.at(-1), missing(call, file))
    return later.call(this, file, ...rest)
  }, later)
  fs[call + "Sync"] = Object.assign(function (file, ...rest) {
    if (!hidden(file)) return now.call(this, file, ...rest)
    if (rest[0]?.throwIfNoEntry === false) return undefined
    throw missing(call, file)
  }, now)
  if (promised) fs.promises[call] = async function (file, ...rest) {
    if (hidden(file)) throw missing(call, file)
    return promised.call(this, file, ...rest)
  }
}

// The client tries refused requests again for minutes and says nothing of it. What
// the provider answered is told beside the client's own lines.
const write = fs.writeSync
const say = (type, line) => { try { write(1, JSON.stringify({ type, ...line }) + "\n") } catch {} }
const fetched = globalThis.fetch
globalThis.fetch = Object.assign(async (...request) => {
  let answer
  try {
    answer = await fetched(...request)
  } catch (e) {
    if (e?.name !== "AbortError") say("ralph_refused", { code: 0, message: String(e?.cause?.message || e?.message || e).slice(0, 300) })
    throw e
  }
  if (answer.status === 429 || answer.status >= 500) {
    const body = await answer.clone().text().catch(() => "")
    say("ralph_refused", { code: answer.status, body: body.slice(0, 4000), headers: Object.fromEntries(answer.headers) })
  }
  return answer
}, fetched)

// That the hook was asked about a call, and what it answered, is told as well. It is
// started with the command of our settings and nothing more.
const child_process = require("node:child_process")
const { hooks } = JSON.parse(fs.readFileSync(path.join(own, ".gemini", "settings.json"), "utf8"))
const hook = hooks.BeforeTool[0].hooks[0].command
const spawn = child_process.spawn
child_process.spawn = function (...words) {
  const child = spawn.apply(this, words)
  if (!Array.isArray(words[1]) || words[1].at(-1) !== hook || !child.stdin) return child
  let event = ""
  const put = child.stdin.write
  child.stdin.write = function (data, ...rest) {
    event += data
    return put.call(this, data, ...rest)
  }
  return child.once("close", (code) => {
    let about = {}
    try { about = JSON.parse(event) } catch {}
    if (about.hook_event_name === "BeforeTool") say("ralph_asked", { tool_name: about.tool_name, code: code ?? -1 })
  })
}

const exists = fs.existsSync
fs.existsSync = (file) => !hidden(file) && exists(file)
require("node:module").syncBuiltinESMExports()
