/**
 * Damages files of a killed run. The resumed run must end with the same weights and rewards, bit for bit, or refuse to continue. Damaged
 * data must never be trained on.
 */
import { Draw } from "@effect-rl/core/testing"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Array as Arr, Cause, Effect, Exit, FileSystem, Layer, Logger, Predicate, Stream } from "effect"
import { cpSync, mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as Damage from "./Damage.ts"
import * as Outcome from "./Outcome.ts"
import * as Subjects from "./Subjects.ts"

const { EFFECT_RL_SEED: replayed, EFFECT_RL_SOAK: soak, EFFECT_RL_DAMAGES: damages = "1000" } = process.env

const subjects: ReadonlyArray<readonly [name: string, few: number, subject: Subjects.Subject]> = [
  ["a scripted backend", 60, Subjects.scripted],
  ["the engine", 40, Subjects.engine]
]

const seedsOf = (few: number) =>
  replayed === undefined
    ? Array.from({ length: soak === undefined ? few : Number(damages) }, (_, seed) => seed)
    : [Number(replayed)]

/** The possible outcomes of a resume after damage. */
type Verdict = "the same" | "the same, with groups sampled again" | `refused as ${string}`

const refusals = ["RunError", "ResumeError"]

const tagOf = (error: unknown) => Predicate.hasProperty(error, "_tag") ? String(error._tag) : "a defect"

const resumed = (subject: Subjects.Subject, seed: number, folder: string) =>
  Stream.runDrain(subject.run(seed)).pipe(
    Effect.provide(Layer.fresh(RunDirectory.layer(folder))),
    Effect.provide(Logger.layer([]))
  )

interface Bench {
  readonly at: (name: string) => string
  readonly checkpoints: string
  /** The outcome of a run that was neither killed nor damaged. */
  readonly whole: Outcome.Outcome
}

/** Passes three finished runs on one backend to `use`: a run, a second run with the same seed, and a run with another seed. */
const withRuns = <A, E, R>(subject: Subjects.Subject, use: (bench: Bench) => Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.makeTempDirectoryScoped({ prefix: "effect-rl-damage-" })
    const at = (name: string) => join(root, name)
    const checkpoints = at("checkpoints")
    mkdirSync(checkpoints)
    return yield* Effect.gen(function*() {
      for (const [name, seed] of [["whole", 1], ["twin", 1], ["other", 2]] as const) {
        yield* resumed(subject, seed, at(name))
      }
      return yield* use({ at, checkpoints, whole: yield* Outcome.read(at("whole"), checkpoints) })
    }).pipe(Effect.provide(subject.backend(checkpoints)))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

const verdictOf = Effect.fnUntraced(
  function*(subject: Subjects.Subject, { checkpoints, whole }: Bench, folder: string) {
    const exit = yield* Effect.exit(resumed(subject, 1, folder))
    if (Exit.isFailure(exit)) {
      const error = Cause.squash(exit.cause)
      const verdict: Verdict = `refused as ${tagOf(error)}`
      return { verdict, problem: refusals.includes(tagOf(error)) ? undefined : `it fails: ${String(error)}` }
    }
    const outcome = yield* Outcome.read(folder, checkpoints)
    const verdict: Verdict = outcome.warnings.length > 0 ? "the same, with groups sampled again" : "the same"
    return { verdict, problem: Outcome.difference(whole, outcome) }
  }
)

it.live.each(subjects)(
  "a damaged run on %s resumes to a bit-identical outcome, or is refused",
  ([name, few, subject]) =>
    withRuns(subject, (bench) =>
      Effect.gen(function*() {
        const { at, checkpoints } = bench
        cpSync(checkpoints, at("kept"), { recursive: true })
        const kinds = Object.entries(Damage.kinds(subject.hasFiles))
        const verdicts: Array<string> = []
        const failed: Array<string> = []
        for (const seed of seedsOf(few)) {
          const draw = Draw.make(seed, "damage")
          const [kind, change] = kinds[seed % kinds.length] ?? []
          assert.isDefined(change)
          const folder = at("damaged")
          Damage.kill(draw, at("whole"), folder)
          change(draw, {
            folder,
            other: at(draw.oneOf(["twin", "other"])),
            checkpoints: subject.hasFiles ? checkpoints : undefined
          })
          const { problem, verdict } = yield* verdictOf(subject, bench, folder)
          verdicts.push(`${kind}: ${verdict}`)
          if (problem !== undefined) failed.push(`EFFECT_RL_SEED=${seed}, ${kind}: ${problem.slice(0, 600)}`)
          rmSync(folder, { recursive: true })
          rmSync(checkpoints, { recursive: true })
          cpSync(at("kept"), checkpoints, { recursive: true })
        }
        if (soak !== undefined) {
          const counts = Object.entries(Arr.groupBy(verdicts, (verdict) => verdict)).map(([verdict, all]) =>
            `${all.length} × ${verdict}`
          )
          yield* Effect.log([name, ...counts].join("\n"))
        }
        assert.isEmpty(failed, `${failed.length} of ${verdicts.length}:\n${failed.slice(0, 5).join("\n\n")}`)
      })),
  7_200_000
)

it.live.each(subjects)(
  "damage on %s that the checksums do not reveal changes the outcome",
  ([, , subject]) =>
    withRuns(subject, (bench) =>
      Effect.gen(function*() {
        const folder = bench.at("damaged")
        const moments = [(from: number, to: number) => Math.floor((from + to) / 2), (_: number, to: number) => to]
        const problems: Array<string> = []
        for (const [index, moment] of moments.entries()) {
          Damage.kill(Draw.make(index), bench.at("whole"), folder, moment)
          Damage.changeLogprobs(folder)
          Damage.forgeSums(folder)
          problems.push((yield* verdictOf(subject, bench, folder)).problem ?? "none")
          rmSync(folder, { recursive: true })
        }
        assert.include(problems.join("\n"), `["Updated"`)
      })),
  60_000
)
