/** Which turn an agent's request continues, and why it starts a new conversation otherwise. */
import * as EpisodeTree from "@effect-rl/agent/episode/EpisodeTree"
import { Message } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Talk from "./Talk.ts"

const folder = Message.user("The folder is /work.")
const task = Message.user("Fix the parser of dates.")
const fix = Message.assistant("The parser reads months from zero.")
const next = Message.user("Test it.")

/** The branch reason of a request after one whose response was `fix`. */
const reasonOf = Effect.fnUntraced(function*(
  before: ReadonlyArray<Message.Message>,
  after: ReadonlyArray<Message.Message>
) {
  const tree = EpisodeTree.make()
  const { renderer } = yield* Talk.modelOf("qwen3_instruct")
  const first = yield* tree.place({ renderer, messages: before, prefill: "", arrived: 0 })
  tree.add(first, {
    response: Talk.tokenizer.encode(`${Message.text(fix)}${Talk.end}`),
    parsed: { message: fix, termination: "eos" }
  })
  const placed = yield* tree.place({ renderer, messages: after, prefill: "", arrived: 1 })
  return placed.branch?.reason
})

const code = Message.system("You write code.")
const title = Message.system("You name conversations.")

const cases = [
  ["another task after the same messages", [code, folder, task], [code, folder, next], "subagent"],
  ["the same task under other instructions, such as the title of a conversation", [title, task], [
    code,
    task
  ], "subagent"],
  ["a summary that quotes what was said", [code, folder, task], [
    code,
    Message.user(`So far: ${Message.text(fix)} Go on.`)
  ], "compaction"],
  ["a summary followed by the last messages", [code, folder, task], [
    code,
    Message.user(`So far: ${Message.text(fix)} Go on.`),
    fix,
    next
  ], "compaction"],
  ["a history without one of its messages", [code, folder, task], [code, task], "compaction"],
  ["a message that was rewritten", [code, folder, task], [code, Message.user("Fix dates."), fix, next], "edit"]
] as const

describe("a request that starts a new conversation", () => {
  for (const [name, before, after, reason] of cases) {
    it.effect(`${reason}: ${name}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* reasonOf(before, after), reason)
      }))
  }
})

describe("a request after a response whose call could not be read", () => {
  it.effect("continues a response that was sampled directly after another one", () =>
    Effect.gen(function*() {
      const tree = EpisodeTree.make()
      const { renderer } = yield* Talk.modelOf("qwen3_instruct")
      const rawText = "<tool_call>\nlook\n</tool_call>"
      const unread = { ...Message.assistant("I look."), unparsedToolCalls: [{ rawText, error: "no JSON" }] }
      const told = [code, task, Message.assistant(`I look. ${rawText}`), next, fix]
      const requests = [[code, task], told.slice(0, 4), told, [...told, fix, next]]
      for (const [arrived, messages] of requests.entries()) {
        const placed = yield* tree.place({ renderer, messages, prefill: "", arrived })
        assert.strictEqual(placed.branch?.reason, undefined, `turn ${arrived}`)
        const text = arrived === 0 ? `I look. ${rawText}` : Message.text(fix)
        tree.add(placed, {
          response: Talk.tokenizer.encode(`${text}${Talk.end}`),
          parsed: { message: arrived === 0 ? unread : fix, termination: "stop_sequence" }
        })
      }
    }))

  it.effect("continues the conversation if the client sends the call back as text, and so do the requests after it", () =>
    Effect.gen(function*() {
      const tree = EpisodeTree.make()
      const { renderer } = yield* Talk.modelOf("qwen3_instruct")
      const rawText = "<tool_call>\nlook\n</tool_call>"
      const unread = { ...Message.assistant("I look."), unparsedToolCalls: [{ rawText, error: "no JSON" }] }
      let messages = [code, task]
      for (const [arrived, response] of [unread, fix, fix].entries()) {
        const placed = yield* tree.place({ renderer, messages, prefill: "", arrived })
        assert.strictEqual(placed.branch?.reason, undefined, `turn ${arrived}`)
        tree.add(placed, {
          response: Talk.tokenizer.encode(
            `${Message.text(response)}${response === unread ? ` ${rawText}` : ""}${Talk.end}`
          ),
          parsed: { message: response, termination: "stop_sequence" }
        })
        const told = response === unread ? Message.assistant(`I look. ${rawText}`) : response
        messages = [...messages, told, next]
      }
    }))
})
