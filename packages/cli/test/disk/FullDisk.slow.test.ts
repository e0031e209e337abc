/**
 * Fills the disk at each of a run's writes in turn. The run must report it and keep what it saved, and must end normally once there is
 * space.
 */
import { ChatModel, Env, type InvalidOption, Rl, RLDataset, RunRecord, Tinker } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Engine } from "@effect-rl/engine"
import { RunDirectory } from "@effect-rl/files"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, FileSystem, Stream } from "effect"
import * as FaultyFileSystem from "../../../files/test/support/FaultyFileSystem.ts"
import { outcome } from "../kill/Outcome.ts"

/** An environment that rewards any response by its tokens, so there is a training signal. */
const anything: Env.Env = {
  initialObservation: Effect.succeed(Env.prompt(ModelInput.fromTokens([40, 41, 42]), [])),
  step: ({ tokens }) => Effect.succeed({ _tag: "Done", reward: tokens.reduce((sum, token) => sum + token, 0) % 5 })
}

/** Options for two iterations of one group, each saved. */
const options = Effect.map(
  ChatModel.resolve("effect-rl/tiny-64"),
  (model): Rl.Options<InvalidOption.InvalidOption> => ({
    model,
    dataset: RLDataset.fromArray(["first", "second"], {
      groupsPerBatch: 1,
      group: (key) => ({ key, size: 4, tags: [], open: Effect.succeed({ makeEnv: () => Effect.succeed(anything) }) })
    }),
    lora: { rank: 2 },
    sampling: { maxTokens: 4 },
    update: { learningRate: 1e-2 },
    run: { saveEvery: 1 }
  })
)

const engine = (folder: string) => Engine.layerOptions({ checkpoints: `${folder}/checkpoints`, workers: 0 })

/** Trains a whole run, and adds the checkpoints that it reports as saved to `saved`. */
const train = (folder: string, saved: Array<string>) =>
  Stream.unwrap(Effect.map(options, (options) => Rl.run(options))).pipe(
    Stream.runForEach((record) =>
      Effect.sync(() => {
        if (record._tag === "Updated") assert.lengthOf(record.updates, 1)
        if (record._tag === "Saved") saved.push(record.statePath)
      })
    ),
    Effect.provide(RunDirectory.layer(folder), { local: true })
  )

const run = (folder: string, saved: Array<string> = []) =>
  Effect.provide(train(folder, saved), engine(folder), { local: true })

const runWith = (fault: FaultyFileSystem.Fault, folder: string, saved: Array<string>) =>
  Effect.provide(run(folder, saved), [FaultyFileSystem.layer(fault), NodePath.layer], { local: true })

/** The recorded checkpoints. Each must be loadable for training and for sampling. */
const usable = Effect.fnUntraced(function*(folder: string) {
  const tinker = yield* Tinker.Tinker
  const { read } = yield* RunDirectory.open(folder)
  const saves = (yield* Stream.runCollect(read)).filter(RunRecord.guards.Saved)
  return yield* Effect.forEach(saves, ({ samplerPath, statePath }) =>
    Effect.gen(function*() {
      yield* tinker.createTrainingClientFromState(statePath)
      yield* tinker.createSamplingClient({ modelPath: samplerPath ?? "" })
      return statePath
    }))
}, Effect.scoped)

const temporaryFolder = FileSystem.FileSystem.use((fs) => fs.makeTempDirectoryScoped())

const namesIn = (folder: string) => FileSystem.FileSystem.use((fs) => fs.readDirectory(folder, { recursive: true }))

/** Trains on a disk that is full at the given write; returns false if the run has fewer writes. */
const survives = Effect.fnUntraced(function*(at: number, lasts: boolean, expected: ReturnType<typeof outcome>) {
  const folder = yield* temporaryFolder
  const saved: Array<string> = []
  let isHit = false
  const onFault = () => void (isHit = true)
  const exit = yield* Effect.exit(runWith({ at, lasts, onFault }, folder, saved))
  if (!isHit) return false
  // Files derived from the records may be incomplete for a while: that is a warning, not a failure.
  if (Exit.isFailure(exit)) {
    assert.include(Cause.pretty(exit.cause), "free some disk space and start again", `write ${at}`)
  }
  const halfWritten = (yield* namesIn(folder)).filter((name) => /partial|replaced/.test(name))
  assert.deepStrictEqual(halfWritten, [], `write ${at}`)
  yield* Effect.gen(function*() {
    if (saved.length > 0) assert.includeMembers(yield* usable(folder), saved, `write ${at}`)
    yield* train(folder, [])
  }).pipe(Effect.provide(engine(folder), { local: true }))
  assert.deepStrictEqual(outcome(folder), expected, `write ${at}`)
  return true
}, Effect.scoped)

describe("a run resumes like an undisturbed run, with every checkpoint that it reported, after a disk that was full", () => {
  const faults = [
    { name: "from any write on", lasts: true, every: 2 },
    { name: "at any single write", lasts: false, every: 3 }
  ]
  for (const { every, lasts, name } of faults) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const whole = yield* temporaryFolder
        yield* run(whole)
        const expected = outcome(whole)
        let at = 1
        while (yield* survives(at, lasts, expected)) at += every
        assert.isAbove(at, 40, "a run has many writes")
      }).pipe(Effect.provide(NodeServices.layer)), 120_000)
  }
})
