/**
 * Checks that exactly the sampled tokens are trained on. A conversation that is shown differently from how it was written begins another
 * datum.
 */
import { Advantage } from "@effect-rl/core"
import type { Trajectory } from "@effect-rl/core/environments"
import { Signal, TrainingData } from "@effect-rl/core/program"
import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import * as Samples from "./Samples.ts"

const Token = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))

/** A change to a conversation between two turns, at a position given as a share of its length. */
const Edit = Schema.Struct({
  kind: Schema.Literals(["kept", "kept", "kept", "removed", "replaced", "inserted", "cut"]),
  at: Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  token: Token,
  reads: Schema.Array(Token),
  writes: Schema.NonEmptyArray(Token)
})

const Conversation = Schema.NonEmptyArray(Edit)

const edited = (tokens: ReadonlyArray<number>, { at, kind, token }: typeof Edit.Type): ReadonlyArray<number> => {
  const place = Math.floor(at * Math.max(0, tokens.length - 1))
  switch (kind) {
    case "kept":
      return tokens
    case "removed":
      return tokens.toSpliced(place, 1)
    case "replaced":
      return tokens.toSpliced(place, 1, token)
    case "inserted":
      return tokens.toSpliced(place, 0, token)
    case "cut":
      return tokens.slice(place)
  }
}

/** The turns of a conversation. Each turn's log-probabilities are unique numbers. */
const played = (edits: typeof Conversation.Type): ReadonlyArray<Trajectory.Transition> => {
  let conversation: ReadonlyArray<number> = [7, 8]
  return edits.map((edit, index) => {
    const observation = [...edited(conversation, edit), ...edit.reads]
    conversation = [...observation, ...edit.writes]
    return Samples.turn(observation, edit.writes, edit.writes.map((_, t) => -(index + 1) - t / 64))
  })
}

const assembled = (turns: ReadonlyArray<Trajectory.Transition>) => {
  const members = [Samples.trajectory(...turns), Samples.trajectory()].map(Option.some)
  return Signal.informative([Samples.group([1, 0], { members })]).flatMap((group) =>
    TrainingData.assemble(group, Advantage.centered).data
  )
}

const textOf = ({ chunks }: Trajectory.Transition["observation"]) =>
  chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : [...chunk.tokens])

/** All tokens of a datum. The last one is only a target. */
const whole = ({ inputs, modelInput }: TrainingData.TrainingDatum) => [
  ...textOf(modelInput),
  ...inputs.targetTokens.slice(-1)
]

const startsWith = (tokens: ReadonlyArray<number>, prefix: ReadonlyArray<number>) =>
  prefix.every((token, index) => tokens[index] === token)

/** Turns whose prompt does not begin with what was read and written before. */
const rewrites = (turns: ReadonlyArray<Trajectory.Transition>) =>
  turns.flatMap(({ observation }, index) => {
    const before = turns[index - 1]
    const written = before === undefined ? [] : [...textOf(before.observation), ...before.action.tokens]
    return startsWith(textOf(observation), written) ? [] : [index]
  })

describe("token identity", () => {
  it.prop("every datum contains exactly the tokens that its turns read and wrote", [Conversation], ([edits]) => {
    const turns = played(edits)
    for (const datum of assembled(turns)) {
      const own = turns.filter((_, index) => datum.origin.turns.includes(index))
      const last = own.at(-1)
      assert.isDefined(last)
      if (last === undefined) return
      assert.deepStrictEqual(whole(datum), [...textOf(last.observation), ...last.action.tokens])
      for (const { action, observation } of own) {
        const start = observation.length
        const end = start + action.tokens.length
        assert.deepStrictEqual(whole(datum).slice(start, end), [...action.tokens])
        assert.deepStrictEqual(datum.inputs.logprobs.slice(start - 1, end - 1), action.logprobs)
      }
      const trained = own.reduce((total, { action }) => total + action.tokens.length, 0)
      assert.strictEqual(datum.inputs.mask.reduce((total, counts) => total + counts, 0), trained)
    }
  })

  it.prop(
    "another datum begins exactly where a prompt rewrites sampled tokens",
    [Conversation],
    ([edits]) => {
      const turns = played(edits)
      const data = assembled(turns)
      const begun = data.filter(TrainingData.isBranch).map(({ origin }) => origin.turns[0])
      assert.deepStrictEqual(begun, rewrites(turns).filter((turn) => turn > 0))
      assert.strictEqual(data.reduce((total, { origin }) => total + origin.turns.length, 0), turns.length)
    },
    { arbitrary: { seed: 2 } }
  )
})
