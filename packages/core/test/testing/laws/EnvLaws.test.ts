import { EnvLaws } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Dialogue from "./Dialogue.ts"
import * as Mutants from "./Mutants.ts"

const names = EnvLaws.envLaws(Dialogue.make, Dialogue.options).map(({ name }) => name)

/** The laws that environments break, each tried on environments of its own. */
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

/** All of them take turns on one processor. */
const patience = 60_000

describe("an environment that keeps the laws", () => {
  for (const { check, name } of EnvLaws.envLaws(Dialogue.make, Dialogue.options)) it.effect(name, () => check, patience)
})

describe("the law is broken, and no other, by an environment that", () => {
  for (const { breaks, make, rule } of Mutants.all) {
    it.effect(
      `${rule}: ${breaks}`,
      () => Effect.map(broken(make), (found) => assert.deepStrictEqual(found, [breaks])),
      patience
    )
  }

  it("stands here for every law", () => {
    assert.deepStrictEqual(Mutants.all.map(({ breaks }) => breaks).toSorted(), names.toSorted())
  })
})
