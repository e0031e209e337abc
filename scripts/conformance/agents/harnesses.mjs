// Agents that work in a folder with their own tools. Each reads one file and writes another, in its own working and home folder.
import { TinkerError } from "@effect-rl/core"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { busyModel, model } from "./episode.mjs"
import * as Install from "./install.mjs"
import * as Plans from "./plans.mjs"
import * as Process from "./process.mjs"

const task = "Read the file in.txt and write the word that it has to the file out.txt."
const word = "heron"
const timeout = 180_000

const write = (file, content) => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
}

/** A folder with the task's file, and an empty home folder. */
const place = (content = `${word}\n`) => {
  const root = mkdtempSync(join(tmpdir(), "effect-rl-agent-"))
  const [cwd, home] = [join(root, "work"), join(root, "home")]
  mkdirSync(cwd)
  mkdirSync(home)
  write(join(cwd, "in.txt"), content)
  return { root, cwd, home, input: join(cwd, "in.txt"), output: join(cwd, "out.txt") }
}

/**
 * The features of a harness. `start` says how it is started in a place, `steps` which calls read and write, if it can write there; `more`
 * are other features, each with its own steps and the model's name.
 */
const features = (start, steps, more = {}) => {
  const all = { ...(steps !== undefined && { "reads and writes a file": { steps } }), ...more }
  return Object.entries(all).map(
    ([name, { asModel = model, content, contextLength, ending, plan, settings = {}, steps, ...rest }]) => {
      const where = place(content)
      const { cwd, home, output, root } = where
      return {
        ...rest,
        name,
        contextLength,
        names: asModel === busyModel ? [] : [asModel],
        plan: plan?.(where) ?? Plans.steps(steps(where)),
        run: async (session) => {
          const { argv, before, env = {}, files = {} } = start({ ...session, ...where, asModel, settings })
          for (const [file, content] of Object.entries(files)) write(join(home, file), content)
          const variables = { PATH: Install.path, HOME: home, LANG: "C.UTF-8", TERM: "dumb", ...env }
          if (before !== undefined) await Process.run(before, { cwd, env: variables, timeout })
          return await Process.run(argv, { cwd, env: variables, timeout })
        },
        problem: (episode) => {
          const { result } = episode
          if (result.timedOut) return `no end within ${timeout / 1000} s`
          if (ending !== undefined) return ending(episode)
          const written = existsSync(output) ? readFileSync(output, "utf8").trim() : undefined
          if (written !== word) return `out.txt is ${JSON.stringify(written)}: ${result.stderr.trim().slice(-200)}`
          return undefined
        },
        close: () => rmSync(root, { recursive: true, force: true })
      }
    }
  )
}

/** Text that does not fit into the context together with an agent's prompt. */
const long = `${word}\n${"reeds and rushes and water\n".repeat(1500)}`

/** The summary that the model writes when an agent compacts its conversation. */
const summary = "I read in.txt: its word is heron. What is left is to write it to out.txt."

/** Matches the words in which agents ask for a summary. */
const asksForSummary =
  /detailed summary of|checkpoint compaction|context checkpoint|summarize (?:the|our|this) conversation|continuing our conversation/i

/** Reads the file, gives a summary if asked for one, and writes once the summary is quoted or the file was read. */
const compacting = ([read, write]) => ({ shown, tools }) => {
  const last = shown.slice(shown.lastIndexOf("<|im_start|>user"))
  if (tools.size === 0 || asksForSummary.test(last)) return { text: summary }
  if (!shown.includes(summary)) return read
  return Plans.results(shown.slice(shown.lastIndexOf(summary))) === 0 ? write : { text: "It is done." }
}

/** A conversation that becomes too long, so the gateway refuses it with the dialect's error. */
const overflowing = (steps, contextLength) => ({
  content: long,
  contextLength,
  plan: (place) => compacting(steps(place)),
  isRefused: ({ answer, status }) => status === 400 && /prompt is too long|context_length_exceeded/.test(answer),
  note: ({ seen }) => `; ${seen.filter(({ status }) => status === 400).length} requests were too long`
})

const limited = new TinkerError.RateLimited({ retryAfterMillis: 1000 })
const down = new TinkerError.Unavailable({ detail: "restarting" })

/** A backend that is busy for two requests, which the agent must repeat. */
const waiting = (steps) => ({
  asModel: busyModel,
  reasons: [limited, down],
  steps,
  isRefused: ({ status }) => [429, 503, 529].includes(status),
  note: ({ seen }) =>
    `; told ${seen.filter(({ answer }) => /rate_limit|overloaded/.test(answer)).length} times to come later`
})

const call = (name, input) => ({ calls: [{ name, input }] })

const harness = (name, packages, make) => ({
  name,
  open: async () => {
    const files = ["scripts/conformance/agents/clients/claude_agent_sdk.mjs", "examples/agents/harness-agent.mjs"]
    const installed = await Install.npm(name.toLowerCase().replaceAll(/[^a-z]+/g, "-"), packages, files)
    const bin = (program) => join(installed.folder, "node_modules/.bin", program)
    return { version: installed.version, features: make({ ...installed, bin }) }
  }
})

const claudeSteps = ({ input, output }) => [
  { text: "I read it.", ...call("Read", { file_path: input }) },
  call("Write", { file_path: output, content: `${word}\n` })
]

/** Environment variables for Claude Code, which also uses a second model for small requests. */
const claudeEnv = ({ anthropicBaseUrl, apiKey, asModel, settings }) => ({
  ANTHROPIC_BASE_URL: anthropicBaseUrl,
  ANTHROPIC_API_KEY: apiKey,
  ANTHROPIC_DEFAULT_HAIKU_MODEL: asModel,
  ...settings
})

const claude = ({ bin }) =>
  features(
    (session) => ({
      argv: [bin("claude"), "-p", task, "--model", session.asModel, "--allowedTools", "Read,Write"],
      env: claudeEnv(session)
    }),
    claudeSteps,
    {
      "finds a tool by search": {
        steps: (place) => [call("ToolSearch", { query: "select:WebFetch" }), ...claudeSteps(place)]
      },
      "starts a sub-agent": {
        steps: (place) => [
          call("Agent", { description: "reads", prompt: "Say hi.", subagent_type: "general-purpose" }),
          ...claudeSteps(place)
        ]
      },
      "is told that its conversation is too long": overflowing(claudeSteps, 70_000),
      "waits for a busy backend": waiting(claudeSteps),
      "asks as claude-sonnet-4-5": { steps: claudeSteps, asModel: "claude-sonnet-4-5" }
    }
  )

const codexSteps = () => [
  { text: "I read it.", ...call("exec_command", { cmd: "cat in.txt" }) },
  call("exec_command", { cmd: `echo ${word} > out.txt` })
]

const patch = `*** Begin Patch\n*** Add File: out.txt\n+${word}\n*** End Patch`

const codexConfig = ({ asModel, baseUrl, settings }) =>
  Object.entries({ model: asModel, model_provider: "policy", ...settings }).map(([key, value]) =>
    `${key} = ${JSON.stringify(value)}\n`
  ).join("") +
  `[model_providers.policy]\nname = "policy"\nbase_url = "${baseUrl}"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n`

const codex = ({ bin }) =>
  features(
    (session) => ({
      argv: [bin("codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", task],
      env: { OPENAI_API_KEY: session.apiKey },
      files: { ".codex/config.toml": codexConfig(session) }
    }),
    codexSteps,
    {
      "writes by a freeform patch, as gpt-5.5": {
        asModel: "gpt-5.5",
        steps: () => [call("exec_command", { cmd: "cat in.txt" }), call("apply_patch", { input: patch })]
      },
      "is told that its conversation is too long": {
        ...overflowing(codexSteps, 50_000),
        isCut: true,
        ending: ({ result }) =>
          result.stderr.includes("ran out of room in the model's context window")
            ? undefined
            : "it does not report that its context is full",
        note: () => ": it reports that its context is full, and ends"
      },
      "compacts before its context is full": {
        content: long,
        plan: (place) => compacting(codexSteps(place)),
        settings: { model_context_window: 60_000, model_auto_compact_token_limit: 50_000 }
      },
      "waits for a busy backend": waiting(codexSteps),
      "starts a sub-agent": {
        steps:
          () => [call("multi_agent_v1__spawn_agent", { message: "Say hi.", agent_type: "default" }), ...codexSteps()]
      }
    }
  )

const opencode = ({ bin }) => {
  const steps = ({ input, output }) => [
    { text: "I read it.", ...call("read", { filePath: input }) },
    call("write", { filePath: output, content: `${word}\n` })
  ]
  const files = (npm) => ({ apiKey, asModel, baseUrl: baseURL }) => ({
    ".config/opencode/opencode.json": {
      autoupdate: false,
      provider: {
        local: { npm, name: "local", options: { baseURL, apiKey }, models: { [asModel]: { name: "policy" } } }
      }
    }
  })
  return features(
    (session) => ({
      argv: [bin("opencode"), "run", "--model", `local/${session.asModel}`, task],
      files: files(session.settings.npm ?? "@ai-sdk/openai-compatible")(session)
    }),
    steps,
    {
      "is told that its conversation is too long": overflowing(steps, 50_000),
      "waits for a busy backend": waiting(steps)
    }
  )
}

const pi = ({ bin }) => {
  const steps = ({ input, output }) => [
    { text: "I read it.", ...call("read", { path: input }) },
    call("write", { path: output, content: `${word}\n` })
  ]
  /** Reads twice, which exceeds the context; summarizes what was read when asked; and then writes. */
  const reading = (place) => {
    const [read, write] = steps(place)
    return ({ shown, tools }) => {
      if (tools.size === 0) return { text: summary }
      const [, after] = shown.split(summary)
      if (after === undefined) return read
      return after.includes(`"name": "write"`) ? { text: "It is done." } : write
    }
  }
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  const one = { name: "policy", reasoning: false, input: ["text"], cost, contextWindow: 128_000, maxTokens: 4096 }
  return features(
    ({ anthropicBaseUrl, apiKey, asModel, baseUrl, settings: { api = "openai-completions", ...settings } }) => ({
      argv: [bin("pi"), "-p", "--provider", "local", "--model", asModel, task],
      env: { PI_OFFLINE: "1" },
      files: {
        ".pi/agent/settings.json": settings,
        ".pi/agent/models.json": {
          providers: {
            local: {
              baseUrl: api === "anthropic-messages" ? anthropicBaseUrl : baseUrl,
              api,
              apiKey,
              models: [{ id: asModel, ...one }]
            }
          }
        }
      }
    }),
    steps,
    {
      "reads and writes a file, by Responses": { steps, settings: { api: "openai-responses" } },
      "reads and writes a file, by Messages": { steps, settings: { api: "anthropic-messages" } },
      "is told that its conversation is too long": {
        ...overflowing(steps, 30_000),
        content: long.slice(0, 14_000),
        plan: reading,
        // In tokens as Pi estimates them: Pi keeps the last of the two files beside the summary.
        settings: { compaction: { keepRecentTokens: 2000 } }
      },
      "waits for a busy backend": waiting(steps)
    }
  )
}

const qwen = ({ bin }) =>
  features(
    ({ apiKey, asModel, baseUrl }) => ({
      argv: [bin("qwen"), "--yolo", "--auth-type", "openai", "-p", task],
      env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, OPENAI_MODEL: asModel }
    }),
    ({ input, output }) => [
      { text: "I read it.", ...call("read_file", { file_path: input }) },
      call("write_file", { file_path: output, content: `${word}\n` })
    ]
  )

const cline = ({ bin }) =>
  features(
    ({ apiKey, asModel, baseUrl, cwd, home }) => {
      const folder = ["-c", cwd, "--data-dir", join(home, "data")]
      const provider = ["-p", "openai-compatible", "-k", apiKey, "-m", asModel, "-b", baseUrl]
      return {
        before: [bin("cline"), "auth", ...folder, ...provider],
        argv: [bin("cline"), "--json", ...folder, "-P", "openai-compatible", "-m", asModel, task]
      }
    },
    ({ input, output }) => [
      { text: "I read it.", ...call("read_files", { files: [{ path: input }] }) },
      call("editor", { path: output, new_text: `${word}\n` })
    ]
  )

const cn = ({ bin }) =>
  features(
    ({ apiKey, asModel, baseUrl, home }) => ({
      argv: [bin("cn"), "--auto", "-p", "--config", join(home, "config.yaml"), task],
      files: {
        "config.yaml": {
          name: "policy",
          version: "1.0.0",
          schema: "v1",
          models: [{
            name: "policy",
            provider: "openai",
            model: asModel,
            apiBase: baseUrl,
            apiKey,
            roles: ["chat"],
            capabilities: ["tool_use"]
          }]
        }
      }
    }),
    ({ input, output }) => [
      { text: "I read it.", ...call("Read", { filepath: input }) },
      call("Write", { filepath: output, content: `${word}\n` })
    ]
  )

const sdk = ({ folder, program }) =>
  features(
    (session) => ({
      argv: [program, join(folder, "claude_agent_sdk.mjs")],
      env: { ...claudeEnv(session), MODEL: session.asModel, TASK: task }
    }),
    claudeSteps
  )

/** Its sandbox has a copy of the file, and nothing that it writes comes back. */
const harnessAgent = ({ folder, program }) =>
  features(
    ({ apiKey, asModel, baseUrl }) => ({
      argv: [program, join(folder, "harness-agent.mjs"), "in.txt", "Read the file in.txt and say which word it has."],
      env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, OPENAI_MODEL: asModel }
    }),
    undefined,
    {
      "reads a file in its sandbox": {
        steps: () => [{ text: "I read it.", ...call("read", { file_path: "in.txt" }) }],
        ending: ({ log, result }) =>
          log.at(-1)?.prompt.includes(word) && result.stdout.trim() === "It is done."
            ? undefined
            : `it did not read the file: ${result.stderr.trim().slice(-200)}`
      }
    }
  )

export const all = [
  harness("Claude Code", ["@anthropic-ai/claude-code"], claude),
  harness("Claude Code by claude-agent-sdk", ["@anthropic-ai/claude-agent-sdk"], sdk),
  harness("Codex CLI", ["@openai/codex"], codex),
  harness("OpenCode", ["opencode-ai"], opencode),
  harness("Pi", ["@earendil-works/pi-coding-agent"], pi),
  harness("HarnessAgent (AI SDK)", [
    "@ai-sdk/harness",
    "@ai-sdk/harness-pi",
    "@ai-sdk/sandbox-just-bash",
    "ai",
    "ws",
    "zod"
  ], harnessAgent),
  harness("Qwen Code", ["@qwen-code/qwen-code"], qwen),
  harness("Cline CLI", ["cline"], cline),
  harness("Continue CLI", ["@continuedev/cli"], cn)
]

/** Agents that cannot use the gateway's address, or that no registry offers. */
export const absent = [
  ["Gemini CLI", "it speaks only Google's dialect, which the gateway lacks"],
  ["Crush", "its npm package downloads a binary from another host during installation"]
]
