// The part of git ralph that runs inside the client. Every tool call is put to
// the guard before it runs, and what the client does not print by itself is
// printed as JSON lines.
import { spawnSync } from "node:child_process"

const { hook, secrets } = JSON.parse(process.env.GIT_RALPH_PLUGIN)
for (const name of [...secrets, "GIT_RALPH_PLUGIN", "OPENCODE_CONFIG_CONTENT"]) delete process.env[name]
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n")

// What a provider answers to a refused request is said nowhere else.
let refusal = {}
const fetched = globalThis.fetch
globalThis.fetch = Object.assign(async (...request) => {
  const answer = await fetched(...request)
  if (answer.status >= 400) {
    const body = await answer.clone().text().catch(() => "")
    refusal = { status: answer.status, body: body.slice(0, 4000), headers: Object.fromEntries(answer.headers) }
  }
  return answer
}, fetched)

export const ralph = async ({ directory }) => {
  say({ type: "ralph_ready" })
  return {
    "tool.execute.before": async (call, { args }) => {
      const cwd = args?.workdir || directory
      const asked = spawnSync(hook[0], hook.slice(1), {
        input: JSON.stringify({ hook_event_name: "PreToolUse", tool_name: call.tool, tool_input: args ?? {}, cwd }),
        encoding: "utf8", maxBuffer: 1 << 20, timeout: 60000,
      })
      if (asked.status === 0) {
        say({ type: "ralph_judged", call: call.callID })
        return
      }
      const reason = (asked.stderr || "").trim() || "the guard of git ralph gave no verdict"
      say({ type: "ralph_denied", call: call.callID, tool: call.tool, reason, verdict: asked.status === 2 })
      throw new Error(reason)
    },
    "chat.params": async ({ model }) => {
      say({ type: "ralph_model", model: model.providerID + "/" + model.id, window: model.limit?.context ?? 0 })
    },
    event: async ({ event: { type, properties: p } }) => {
      if (type === "session.created") say({ type: "ralph_session", version: p.info?.version, parent: p.info?.parentID })
      if (type === "session.status" && p.status?.type === "retry")
        say({ type: "ralph_retry", session: p.sessionID, attempt: p.status.attempt, message: p.status.message, next: p.status.next, ...refusal })
      if (type === "message.part.updated" && p.part?.type === "step-finish")
        say({ type: "ralph_usage", part: p.part })
      if (type === "message.part.updated" && p.part?.type === "tool" && p.part.state?.status === "running")
        say({ type: "ralph_running", call: p.part.callID, tool: p.part.tool, input: p.part.state.input })
    },
  }
}
