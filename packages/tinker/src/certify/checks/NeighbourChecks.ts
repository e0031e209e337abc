/** Operations on one checkpoint among many with similar names must leave the others unchanged. */
import * as Effect from "effect/Effect"
import { RestClient } from "../../client/RestClient.ts"
import * as Check from "../Check.ts"
import * as Dialect from "../Dialect.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"

const { listAt, textAt } = Dialect

/** Similar names: prefixes, suffixes and parts of each other, or the same with another case or punctuation. */
const names = ["a", "aa", "ab", "a1", "a-b", "a.b", "a_b", "ba", "b-a-b", "A", "step-1", "step-10", "step-01", "step"]

/** The checkpoints that are changed; each name contains or is part of others. */
const chosen = ["a", "step-1", "b-a-b", "A"]

type Rest = RestClient["Service"]

/** Operations on a checkpoint; deletion comes last. */
const acts: ReadonlyArray<
  readonly [what: string, act: (rest: Rest, path: string) => Effect.Effect<void, Check.Failure>]
> = [
  ["published", (rest, path) => rest.publishCheckpoint(path)],
  ["taken back", (rest, path) => rest.unpublishCheckpoint(path)],
  ["given a lifetime", (rest, path) => rest.setCheckpointTtl(path, "3 hours")],
  ["deleted", (rest, path) => rest.deleteCheckpoint(path)]
]

/** The listed checkpoints of a run, by path. */
const listed = Effect.fnUntraced(function*(run: string) {
  const { get } = yield* RawRequests
  const { body } = yield* get(`/training_runs/${run}/checkpoints`)
  return new Map(
    listAt(body, "checkpoints").map((one) => [textAt(one, "tinker_path"), JSON.stringify(one)])
  )
})

const without = (all: ReadonlyMap<string, string>, path: string) =>
  [...all].filter(([one]) => one !== path).map(([, shown]) => shown).toSorted().join("; ")

const saveAll = Effect.fnUntraced(function*(model: NumberedModel.NumberedModel) {
  for (const path of names) {
    yield* model.ask("/save_weights", { path, overwrite: false, type: "save_weights" })
    yield* model.ask("/save_weights_for_sampler", { path, kind: "snapshot", type: "save_weights_for_sampler" })
  }
})

export const listedApart: Check.Check = {
  theme: "archive",
  name: "an operation on a checkpoint changes no other checkpoint of any run, however similar the names",
  why: "Names share prefixes. If deleting step-1 also deletes step-10, days of work are lost.",
  run: Effect.gen(function*() {
    const rest = yield* RestClient
    const [model, other] = [yield* NumberedModel.make, yield* NumberedModel.make]
    yield* saveAll(model)
    yield* saveAll(other)
    const foreign = yield* listed(other.id)
    yield* Check.expect(foreign.size === 2 * names.length, `${2 * names.length} checkpoints`, foreign.size)
    for (const name of chosen) {
      for (const kind of ["weights", "sampler_weights"]) {
        const path = [...(yield* listed(model.id)).keys()].find((one) => one.endsWith(`/${kind}/${name}`)) ?? ""
        for (const [what, act] of acts) {
          const before = yield* listed(model.id)
          yield* act(rest, path)
          const after = yield* listed(model.id)
          const isRight = without(after, path) === without(before, path) && after.has(path) === (what !== "deleted")
          const gone = [...before.keys()].filter((one) => !after.has(one)).join(", ")
          yield* Check.expect(isRight, `${path} alone ${what}`, gone === "" ? "others as well" : `${gone} gone`)
        }
      }
    }
    const [found, expected] = [without(yield* listed(other.id), ""), without(foreign, "")]
    yield* Check.expect(found === expected, `the checkpoints of the other run, ${expected}`, found)
  })
}

export const overwrittenAlone: Check.Check = {
  theme: "checkpoints",
  name: "overwriting a state leaves the weights of similarly named states unchanged",
  why: "A rolling checkpoint that replaces other states destroys what should be kept.",
  run: Effect.gen(function*() {
    const model = yield* NumberedModel.make
    const save = (path: string, overwrite: boolean) =>
      Effect.map(
        model.ask("/save_weights", { path, overwrite, type: "save_weights" }),
        ({ body }) => textAt(body, "path")
      )
    yield* model.learn()
    const old = yield* model.logprobs
    const alike = ["step-1", "step-10", "step-01", "step", "Step-1", "step-1-"]
    const paths = yield* Effect.forEach(alike, (name) => save(name, false))
    // Moves back past the state before the first step.
    for (let round = 0; round < 4; round++) yield* model.learn([-2, -2, -2, -2, -2, -2, -2])
    const now = yield* model.logprobs
    yield* save("step-1", true)
    const tolerance = 0.01 + 0.006 * Math.max(...old.map(Math.abs), ...now.map(Math.abs))
    yield* Check.expect(Check.distance(old, now) > 2 * tolerance, "a step that changes the model", "none")
    for (const [at, path] of paths.entries()) {
      yield* model.ask("/load_weights", { path, optimizer: false, type: "load_weights" })
      yield* Check.expectClose(`logprobs of ${path}`, yield* model.logprobs, at === 0 ? now : old, tolerance)
    }
  })
}

export const all = [listedApart, overwrittenAlone]
