import { Message } from "@effect-rl/core"
import { Trajectory } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"

const [system, question, answer, reply] = [
  Message.system("Be brief."),
  Message.user("2 + 2?"),
  Message.assistant("5"),
  Message.user("Too high.")
]

/** Conversations as an environment shows them, each with the following response. */
const cases: Readonly<Record<string, ReadonlyArray<ReadonlyArray<Message.Message>>>> = {
  "continues": [[system, question], [system, question, answer, reply]],
  "continues with copies of its messages": [[system], [{ ...system }, answer, { ...reply }]],
  "is shown again after a response that could not be read": [[system, question], [system, question]],
  "leaves the response out": [[question], [question, reply]],
  "gives the response another role": [[question], [question, { role: "player", content: "5" }, reply]],
  "is rewritten": [[system, question, answer, reply], [system, reply]],
  "starts again": [[question], [reply]]
}

describe("Trajectory.addedMessages", () => {
  it.each(Object.entries(cases))("reproduce a conversation that %s", (_, conversations) => {
    let said: ReadonlyArray<Message.Message> = []
    let before: ReadonlyArray<Message.Message> | undefined
    for (const [index, conversation] of conversations.entries()) {
      const shown = Trajectory.addedMessages(before, conversation)
      assert.deepStrictEqual(Trajectory.conversation(said, shown), conversation)
      before = conversation
      const next = conversations[index + 1]?.[conversation.length]
      said = [...conversation, next ?? answer]
    }
  })

  it("leave out the policy's own responses", () => {
    assert.deepStrictEqual(Trajectory.addedMessages([question], [question, answer, reply]), { messages: [reply] })
    assert.deepStrictEqual(Trajectory.addedMessages(undefined, [question]), { messages: [question] })
    assert.deepStrictEqual(Trajectory.addedMessages([system, question], [system, question]), { kept: 2, messages: [] })
  })
})
