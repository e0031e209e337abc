// One episode of a client or agent that others wrote: it reaches a scripted model through a gateway, over HTTP, and what it was told is
// compared with what the model said.
import { AgentGateway } from "@effect-rl/agent"
import { Rollout, TinkerError } from "@effect-rl/core"
import { Renderers } from "@effect-rl/core/renderers"
import { Script } from "@effect-rl/core/testing"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import * as Plans from "./plans.mjs"
import * as Recorder from "./recorder.mjs"

/** The name of the scripted model, and an alias for clients that treat the text before a slash as a provider's name. */
export const alias = "policy"
export const model = "Qwen/Qwen3-4B-Instruct-2507"

/** The name of untrained weights that refuse their first requests as busy. */
export const busyModel = "busy"

const specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>"]
const pattern = new RegExp(`${specials.map((text) => text.replaceAll("|", "\\|")).join("|")}|[^]`, "gu")

/** One token per character. */
const tokenizer = {
  encode: (text, { splitSpecialTokens = false } = {}) =>
    splitSpecialTokens
      ? Int32Array.from(text, (one) => one.codePointAt(0) + specials.length)
      : Int32Array.from(text.match(pattern) ?? [], (one) => {
        const special = specials.indexOf(one)
        return special < 0 ? one.codePointAt(0) + specials.length : special
      }),
  decode: (tokens) =>
    Array.from(tokens, (token) => specials[token] ?? String.fromCodePoint(token - specials.length)).join(""),
  specialToken: (text) => specials.includes(text) ? specials.indexOf(text) : undefined,
  bosToken: undefined,
  eosTokenId: 0,
  fingerprint: "conformance:characters"
}

const opening = "<|im_start|>assistant\n"

const textOf = ({ chunks }) => tokenizer.decode(chunks.flatMap(({ tokens }) => [...tokens]))

/** The tools that a prompt offers, by name. Instructions may contain a list with the same mark. */
const toolsOf = (prompt) =>
  new Map(
    [...prompt.matchAll(/<tools>\n([^]*?)\n<\/tools>/g)].flatMap(([, listed]) => listed.split("\n")).flatMap((line) => {
      if (!line.startsWith("{")) return []
      const { function: tool } = JSON.parse(line)
      return [[tool.name, tool]]
    })
  )

const callOf = ({ name, input }) =>
  `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${
    JSON.stringify(input, null, 1).replaceAll("\n", " ")
  }}\n</tool_call>`

const written = ({ calls = [], text = "" }) => [text, ...calls.map(callOf)].filter((one) => one !== "").join("\n")

/** A sampling client that fails once with each of `reasons`, and then samples what the plan returns. */
const busy = (reasons, plan) => {
  const waiting = [...reasons]
  const { policy } = scripted(plan)
  return {
    modelPath: "busy",
    sample: ({ params: { maxTokens }, prompt }) =>
      Effect.suspend(() => {
        const reason = waiting.shift()
        return reason === undefined
          ? Effect.map(policy.act({ maxTokens, prompt }), (sequence) => ({ sequences: [sequence] }))
          : Effect.fail(new TinkerError.TinkerError({ operation: "sample", reason }))
      }),
    computeLogprobs: () => Effect.die("not asked")
  }
}

/** Samples what the plan returns for a prompt, and logs it. */
const scripted = (plan) => {
  const log = []
  const act = ({ maxTokens, prompt }) =>
    Effect.sync(() => {
      const shown = textOf(prompt)
      const turns = shown.split(opening).length - 2
      const step = plan({ shown, tools: toolsOf(shown), turns })
      const whole = tokenizer.encode(`${written(step)}<|im_end|>`)
      const said = tokenizer.encode(shown.slice(shown.lastIndexOf(opening) + opening.length)).length
      const tokens = whole.slice(said, said + (maxTokens ?? whole.length))
      const logprobs = Float32Array.from(tokens, (_, index) => -(log.length + 1) - index / 65_536)
      const sampled = { tokens, logprobs, stopReason: said + tokens.length < whole.length ? "length" : "stop" }
      log.push({ prompt: textOf(prompt), sampled, calls: step.isAnswer ? [] : step.calls ?? [] })
      return sampled
    })
  return { log, policy: { act } }
}

const listening = (server) =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`)))

const equal = (left, right) => left.length === right.length && left.every((one, index) => one === right[index])

/** Differences between what was sampled and what was captured. */
const problems = (log, transitions) => {
  if (log.length !== transitions.length) return [`${log.length} responses were sampled, ${transitions.length} captured`]
  return log.flatMap(({ prompt, sampled }, index) => {
    const { action, observation, trainable } = transitions[index]
    const isKept = textOf(observation) === prompt && equal(action.tokens, sampled.tokens) &&
      equal(action.logprobs, sampled.logprobs)
    return [
      ...(isKept ? [] : [`turn ${index} differs from what was sampled`]),
      ...(trainable ? [] : [`turn ${index} is in no answer`])
    ]
  })
}

/** Tool calls without a result in a later prompt. */
const unanswered = (log) =>
  log.flatMap(({ calls, prompt }, index) => {
    const expected = Plans.results(prompt) + calls.length
    return log.slice(index + 1).some((later) => Plans.results(later.prompt) >= expected) ||
        expected === Plans.results(prompt)
      ? []
      : [`a call of ${calls[0].name} has no result`]
  })

const branchesOf = (transitions) => {
  const counts = {}
  for (const { branch } of transitions) {
    if (branch !== undefined) counts[branch.reason] = (counts[branch.reason] ?? 0) + 1
  }
  return counts
}

const server = NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 })
const gateway = Layer.provide(AgentGateway.AgentGateway.layer, server)

/**
 * Plays one episode.
 *
 * `run` gets the session and returns what the client said of itself; it may throw. `plan` says for a prompt what the model samples.
 */
export const play = ({ contextLength = 4_000_000, names = [], plan, reasons = [], run }) => {
  const { log, policy } = scripted(plan)
  const seen = []
  let result
  let error
  const program = Effect.gen(function*() {
    const renderer = yield* Renderers.byName("qwen3_instruct", tokenizer)
    const chatModel = {
      name: model,
      tokenizer,
      renderer,
      capabilities: { ...Script.defaultCapabilities, contextLength }
    }
    const env = yield* AgentGateway.env({
      model: chatModel,
      names: [alias, ...names],
      frozen: { [busyModel]: { model: chatModel, client: busy(reasons, plan) } },
      run: async (session) => {
        const recorder = Recorder.make(new URL(session.baseUrl).origin, seen)
        const address = await listening(recorder)
        const root = `${address}/s/${session.session}`
        try {
          result = await run({ ...session, address, anthropicBaseUrl: root, baseUrl: `${root}/v1` })
        } catch (cause) {
          error = cause
        } finally {
          recorder.closeAllConnections()
          recorder.close()
        }
        return 0
      }
    })
    return yield* Rollout.episode(env, policy, { iteration: 0, group: "conformance", member: 0, attempt: 0 })
  })
  return Effect.runPromise(Effect.provide(Effect.scoped(program), gateway)).then(({ transitions }) => ({
    result,
    error,
    seen,
    log,
    transitions,
    captured: problems(log, transitions),
    unanswered: unanswered(log),
    branches: branchesOf(transitions),
    notes: transitions.flatMap(({ logs }) => Object.entries(logs))
  }))
}
