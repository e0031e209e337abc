import type { Env } from "@effect-rl/core"
import { EnvLaws } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Dialogue from "./Dialogue.ts"
import * as Mutants from "./Mutants.ts"

const names = EnvLaws.envLaws(Dialogue.make, Dialogue.options).map(({ name }) => name)

/** The laws that an environment breaks. Each law is checked on new environments. */
const broken = <E>(make: () => EnvLaws.MakeEnv<E, never>) =>
  Effect.gen(function*() {
    const found: Array<string> = []
    for (let index = 0; index < names.length; index++) {
      const law = EnvLaws.envLaws(make(), Dialogue.options)[index]
      const violation = yield* Effect.option(Effect.flip(law?.check ?? Effect.void))
      if (Option.isSome(violation)) found.push(violation.value.law)
    }
    return found
  })

/** A generous timeout in milliseconds, since all tests share one processor. */
const patience = 60_000

describe("an environment that satisfies the laws", () => {
  for (const { check, name } of EnvLaws.envLaws(Dialogue.make, Dialogue.options)) it.effect(name, () => check, patience)
})

describe("only this law is broken by an environment that", () => {
  for (const { breaks, make, rule } of Mutants.all) {
    it.effect(
      `${rule}: ${breaks}`,
      () => Effect.map(broken(make), (found) => assert.deepStrictEqual(found, [breaks])),
      patience
    )
  }

  it("breaks any one of the laws", () => {
    assert.deepStrictEqual(Mutants.all.map(({ breaks }) => breaks).toSorted(), names.toSorted())
  })
})

describe("the message of a violation", () => {
  const violationOf = <E>(makeEnv: EnvLaws.MakeEnv<E, never>, name: string) =>
    Effect.flip(
      EnvLaws.envLaws(makeEnv, Dialogue.options).find((law) => law.name === name)?.check ?? Effect.void
    ).pipe(Effect.map(({ message }) => message))

  const mutant = (rule: string): EnvLaws.MakeEnv<Dialogue.Rude, never> => {
    const found = Mutants.all.find((mutant) => mutant.rule === rule)
    assert(found !== undefined, rule)
    return found.make()
  }

  it.effect("contains the start of the other prompt", () =>
    Effect.gen(function*() {
      const name = "prompts: begin with the prompt and the action before, or declare a branch"
      const message = yield* violationOf(mutant("forgets how the dialogue began"), name)
      assert.include(message, `with "topic 0.please go on<|im_end|>" at token 0, or a declared branch, found "`)
      assert.include(message, `at turn 1, seed 0, "please go on"`)
    }))

  it.effect("contains the text of a first prompt that differed", () =>
    Effect.gen(function*() {
      const name = "seeds: the same seed shows the same first prompt"
      const message = yield* violationOf(mutant("draws another first question in each episode"), name)
      assert.include(message, `expected the first prompt again, "question 0" at first, found "question 1"`)
    }))

  it.effect("tells whether an environment sleeps in real time or never answers", () =>
    Effect.gen(function*() {
      const sleepy = (seed: number) =>
        Effect.map(Dialogue.make(seed), (env) => ({
          ...env,
          step: (action: Env.Action) =>
            Effect.andThen(Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 1))), env.step(action))
        }))
      const message = yield* violationOf(sleepy, "steps: end with an answer in time")
      assert.include(message, "found one in real time alone: what waits for a timer or a promise outside of Effect")
      const hung = yield* violationOf(mutant("waits forever after a question"), "steps: end with an answer in time")
      assert.include(hung, "expected an answer by the deadline, found none, at turn 0")
    }))
})
