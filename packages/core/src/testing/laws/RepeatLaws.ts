/** Laws of reproducibility: equal seeds and replies give equal episodes. */
import * as Effect from "effect/Effect"
import { expect } from "../contract/Case.ts"
import * as Law from "./Law.ts"
import * as Play from "./Play.ts"
import * as ShownPrompt from "./ShownPrompt.ts"

/** An episode as readable texts: its first prompt, then each turn and the prompt after it. */
const readable = ({ tokenizer }: Play.Options, { ending, overflow, shown, turns }: Play.Played) => {
  const textAt = (index: number) => ShownPrompt.ending(ShownPrompt.text(tokenizer, shown[index]?.tokens ?? []))
  const { reward, ...rest } = overflow ?? { reward: 0 }
  const first = overflow === undefined ? textAt(0) : `reward ${reward}, ${JSON.stringify(rest)}`
  const steps = turns.map(({ step: { _tag, logs = {}, metrics = {}, reward, trainable = true } }, index) =>
    `${_tag}, reward ${reward}, ${JSON.stringify({ metrics, logs, trainable })}, then ${textAt(index + 1)}`
  )
  return [first, ...steps, ending]
}

/** The first readable text in which two episodes differ, from both episodes. */
const apart = (options: Play.Options, once: Play.Played, again: Play.Played) => {
  const [left, right] = [readable(options, once), readable(options, again)]
  const at = left.findIndex((part, index) => part !== right[index])
  return at === -1
    ? { at: "somewhere", left: "the same", right: "other tokens of the same text" }
    : { at: at === 0 ? "at first" : `at turn ${at - 1}`, left: left[at], right: right[at] ?? "nothing" }
}

const spellStep = ({ sent, step }: Play.Turn, shown: string | undefined) => {
  const { _tag, logs = {}, metrics = {}, reward, toolCalls = 0, trainable = true } = step
  return JSON.stringify([sent, _tag, String(reward), metrics, logs, trainable, toolCalls, shown])
}

/** The first prompt and everything after it, as texts for comparison. */
const spell = ({ ending, overflow, shown, turns }: Play.Played) => ({
  first: overflow === undefined ? shown[0]?.spelled ?? ending : JSON.stringify(overflow),
  later: [...turns.map((turn, index) => spellStep(turn, shown[index + 1]?.spelled)), ending].join("\n")
})

const whole = (played: Play.Played) => {
  const { first, later } = spell(played)
  return `${first}\n${later}`
}

/** The first episode on the left that differs from the one on the right; undefined if there is none. */
const difference = (left: ReadonlyArray<Play.Played>, right: ReadonlyArray<Play.Played>) =>
  left.find((played, index) => {
    const other = right[index]
    return other === undefined || whole(played) !== whole(other)
  })

export const laws = <E, R>(makeEnv: Play.MakeEnv<E, R>, options: Play.Options) => {
  const lines = Play.lines(options)
  const play = (line: Play.Line) => Play.episode(makeEnv, line, options)
  const twice = (name: string, part: "first" | "later", expected: string) =>
    Law.make(
      name,
      Effect.forEach(lines, (line) =>
        Effect.gen(function*() {
          const [once, again] = [yield* play(line), yield* play(line)]
          const { at, left, right } = apart(options, once, again)
          yield* expect(
            spell(once)[part] === spell(again)[part],
            `${expected}, ${left} ${at}`,
            `${right}, ${Law.describe(line)}`
          )
        }), { discard: true })
    )
  return [
    twice("seeds: the same seed shows the same first prompt", "first", "the first prompt again"),
    twice("seeds: the same actions have the same consequences", "later", "the same steps again"),
    Law.make(
      "order: the order of episodes does not matter",
      Effect.gen(function*() {
        const once = yield* Effect.forEach(lines, play)
        const again = yield* Effect.forEach(lines, play)
        const backwards = yield* Effect.forEach(lines.toReversed(), play)
        if (difference(once, again) !== undefined) return
        const found = difference(again, backwards.toReversed())
        yield* expect(
          found === undefined,
          "episodes alike in any order",
          `another, ${found && Law.describe(found.line)}`
        )
      })
    ),
    Law.make(
      "siblings: concurrent episodes do not affect each other",
      Effect.gen(function*() {
        const alone = yield* Effect.forEach(lines, play)
        const again = yield* Effect.forEach(lines, play)
        const together = yield* Effect.forEach(lines, play, { concurrency: "unbounded" })
        if (difference(alone, again) !== undefined) return
        const found = difference(again, together)
        yield* expect(found === undefined, "an episode as if alone", `another, ${found && Law.describe(found.line)}`)
      })
    )
  ]
}
