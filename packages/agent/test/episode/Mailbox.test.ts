import * as Mailbox from "@effect-rl/agent/episode/Mailbox"
import { Message } from "@effect-rl/core"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

const sampled = { tokens: Int32Array.of(1), logprobs: Float32Array.of(-1), stopReason: "stop" } as const

const requestOf = (turn: number, isRepeated: boolean): Mailbox.Request => ({
  asked: { messages: [Message.user(`question ${turn}`)], tools: [] },
  settings: { stops: [] },
  key: `key ${turn}`,
  isRepeated
})

/** Asks, and answers. The conversation is reachable only through the mailbox afterwards. */
const answered = Effect.fnUntraced(function*({ answer, ask, take }: Mailbox.Mailbox, turn: number) {
  const request = requestOf(turn, false)
  yield* ask(request)
  const question = yield* take
  if (question !== undefined) yield* answer(question, sampled)
  return new WeakRef(request.asked.messages)
}, Effect.scoped)

describe("a mailbox", () => {
  it.live("keeps the answers for later retries, but not the conversations that were asked about", () =>
    Effect.gen(function*() {
      const mailbox = Mailbox.make(() => 0)
      const conversations: Array<WeakRef<object>> = []
      for (let turn = 0; turn < 20; turn++) conversations.push(yield* answered(mailbox, turn))
      yield* Effect.sleep(1)
      collect()
      // The last question may still be referenced by the fiber that took it.
      assert.isAtMost(conversations.filter((one) => one.deref() !== undefined).length, 1)
      for (let turn = 0; turn < 20; turn++) {
        const [first] = yield* Effect.scoped(mailbox.ask(requestOf(turn, true)))
        assert.strictEqual(first === undefined ? undefined : yield* Deferred.await(first.sampled), sampled)
      }
    }))
})
