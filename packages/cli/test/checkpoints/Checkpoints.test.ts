import * as NamedCheckpoint from "@effect-rl/cli/checkpoints/NamedCheckpoint"
import { RunStore } from "@effect-rl/core"
import { StoryReader } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem } from "effect"
import { dirname } from "node:path"
import * as Records from "../../../files/test/support/Records.ts"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, short } = CommandLine

const json = (out: ReadonlyArray<string>): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  out.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))

describe("effect-rl checkpoints", () => {
  /** A run on the engine with two checkpoints. */
  const saved = Effect.gen(function*() {
    const folder = yield* runFolder
    const engine = short.map((arg) => arg === "mock" ? "engine" : arg)
    yield* run(
      ...engine,
      "--model",
      "effect-rl/tiny-64",
      "--iterations",
      "2",
      "--save-every",
      "1",
      "--log-path",
      folder
    )
    return folder
  })

  it.effect("lists the checkpoints of a run, deletes one, and refuses to delete the newest", () =>
    Effect.gen(function*() {
      const folder = yield* saved
      const list = Effect.map(run("checkpoints", "list", folder, "--json"), ({ out }) => json(out))
      const [first, ...later] = yield* list
      assert.isAbove(Number(first?.["bytes"]), 10_000)
      const [oldest, newest] = [String(first?.["path"]), String(later.at(-1)?.["path"])]
      assert.isTrue(Exit.isSuccess((yield* run("checkpoints", "delete", oldest, "--yes", "--run", folder)).exit))
      const again = (yield* list).findLast(({ path }) => path === oldest)
      assert.strictEqual(again?.["state"], "gone")
      const { errors, exit } = yield* run("checkpoints", "delete", newest, "--yes", "--run", folder)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.at(-1), "expected a checkpoint other than the newest, from which the run would resume")
    }))

  it.effect("lists a service's checkpoints without a state, and refuses to delete them as files of the run", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* Effect.provide(
        RunStore.RunStore.use(({ append }) => Effect.forEach([1, 2], (iteration) => append(Records.saved(iteration)))),
        RunDirectory.layer(folder)
      )
      const { out } = yield* run("checkpoints", "list", folder, "--json")
      assert.deepStrictEqual(json(out).map(({ path, state }) => [path, state]), [
        ["tinker://run/weights/1", ""],
        ["tinker://run/weights/2", ""]
      ])
      const { errors, exit } = yield* run("checkpoints", "delete", "tinker://run/weights/1", "--yes", "--run", folder)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(
        errors.join("\n"),
        "expected a checkpoint on this machine; without --run, one of a service is deleted"
      )
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("samples from and merges checkpoints that are named by run and iteration", () =>
    Effect.gen(function*() {
      const folder = yield* saved
      const sample = (checkpoint: string) =>
        run("sample", "2 + 2?", "--checkpoint", checkpoint, "--max-tokens", "4", "--workers", "0")
      const sampled = yield* sample(`${folder}@1`)
      assert.isTrue(Exit.isSuccess(sampled.exit), sampled.errors.join("\n"))
      const missing = yield* sample(`${folder}@7`)
      assert.include(
        missing.errors.at(-1),
        `the run has no checkpoint after iteration 7; it has ${folder}@1, ${folder}@2`
      )
      const merged = yield* run("merge", `${folder}@1`, "--out", `${folder}/merged`)
      assert.isTrue(Exit.isSuccess(merged.exit), merged.errors.join("\n"))
      assert.strictEqual(merged.out.at(-1), `written: ${folder}/merged`)
      const nameless = yield* run("merge", `${folder}/merged`, "--out", `${folder}/again`)
      assert.include(nameless.errors.at(-1), "--model is absent, expected the model that the adapter was trained on")
    }))

  it.effect("gives the checkpoint with the best evaluation the name @best", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const evaluating = short.with(short.indexOf("--eval-every") + 1, "1")
      const args = ["--iterations", "4", "--save-every", "1", "--patience", "9", "--log-path", folder]
      const trained = yield* run(...evaluating, ...args)
      assert.isTrue(Exit.isSuccess(trained.exit), trained.errors.join("\n"))
      const [first, ...others] = (yield* StoryReader.read(yield* RunDirectory.open(folder))).records.flatMap((record) =>
        record._tag === "Evaluated" && record.iteration > 0
          ? [{ iteration: record.iteration, value: record.score?.value ?? NaN }]
          : []
      )
      const best = others.reduce((best, one) => best !== undefined && one.value > best.value ? one : best, first)
      const found = yield* NamedCheckpoint.find(`${folder}@best`)
      assert.isDefined(best)
      assert.strictEqual(found?.saved.iteration, best?.iteration)
      const refused = yield* run("export", `${folder}@best`, "unused")
      assert.include(refused.errors.at(-1), `expected the folder of a whole run, such as ${folder}`)
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("has no @best checkpoint if no evaluated iteration was saved", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "2", "--log-path", folder, "--save-every", "1")
      const { message } = yield* Effect.flip(NamedCheckpoint.find(`${folder}@best`))
      assert.include(message, "train with --eval-every and --save-every at the same iterations")
    }).pipe(Effect.provide(NodeServices.layer)))

  it.effect("finds a checkpoint by its recorded address, unless several runs recorded it", () =>
    Effect.gen(function*() {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* saved
      const copy = `${dirname(folder)}/copy`
      const listed = yield* run("checkpoints", "list", folder, "--json")
      const address = String(json(listed.out)[0]?.["path"])
      const sampler = address.replace("/weights/", "/sampler_weights/")
      const among = Effect.provideService(NamedCheckpoint.Searched, dirname(folder))
      const sample = among(run("sample", "2 + 2?", "--checkpoint", sampler, "--max-tokens", "4", "--workers", "0"))
      const sampled = yield* sample
      assert.isTrue(Exit.isSuccess(sampled.exit), sampled.errors.join("\n"))
      const merged = yield* among(run("merge", address, "--out", `${folder}/merged`))
      assert.isTrue(Exit.isSuccess(merged.exit), merged.errors.join("\n"))
      const engine = short.map((arg) => arg === "mock" ? "engine" : arg)
      const next = ["--iterations", "1", "--load-checkpoint-path", address, "--log-path", `${dirname(folder)}/next`]
      const trained = yield* among(run(...engine, "--model", "effect-rl/tiny-64", ...next))
      assert.isTrue(Exit.isSuccess(trained.exit), trained.errors.join("\n"))
      yield* fs.remove(`${dirname(folder)}/next`, { recursive: true })
      yield* fs.copy(folder, copy)
      const several = yield* sample
      assert.include(
        several.errors.at(-1),
        `several runs have saved a checkpoint there: name one of ${copy}@1, ${folder}@1`
      )
    }).pipe(Effect.provide(NodeServices.layer)))

  const places: ReadonlyArray<readonly [verb: string, args: ReadonlyArray<string>, message: string]> = [
    [
      "merge",
      ["engine://tiny-128-9/weights/000010", "--out", "unused"],
      "adapter engine://tiny-128-9/weights/000010: no run under runs has saved it on this machine: name the run that has"
    ],
    [
      "serve",
      ["--port", "0", "--checkpoint", "tinker://run/sampler_weights/final"],
      "of a service, checkpoints download fetches the adapter, and merge joins it with its model"
    ],
    [
      "export",
      ["tinker://run/weights/000010", "unused"],
      "run is tinker://run/weights/000010, a checkpoint, expected the folder of a whole run, such as runs/arithmetic-0; merge writes"
    ]
  ]

  it.effect.each(places)("requires a local checkpoint for %s", ([verb, args, message]) =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run(verb, ...args)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.at(-1), message)
    }))

  it.effect("refuses a checkpoint's name where export needs a whole run", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      yield* run(...short, "--iterations", "1", "--log-path", folder)
      const { errors } = yield* run("export", `${folder}@1`, "unused")
      assert.include(
        errors.at(-1),
        `expected the folder of a whole run, such as ${folder}; merge writes a checkpoint's weights`
      )
    }))

  it.effect(
    "copies checkpoints that settings refer to by run and iteration into the new run",
    () =>
      Effect.gen(function*() {
        const folder = yield* saved
        const next = yield* runFolder
        const engine = short.map((arg) => arg === "mock" ? "engine" : arg)
        const train = (weights: string) =>
          run(...engine, "--model", "effect-rl/tiny-64", "--load-checkpoint-path", weights, "--log-path", next)
        const missing = yield* train(`${folder}@7`)
        assert.include(
          missing.errors.at(-1),
          `--load-checkpoint-path ${folder}: the run has no checkpoint after iteration 7`
        )
        const unknown = yield* train("no-such-run")
        assert.include(unknown.errors.at(-1), "--load-checkpoint-path no-such-run: neither the folder of a run")
        const trained = yield* train(`${folder}@1`)
        assert.isTrue(Exit.isSuccess(trained.exit), trained.errors.join("\n"))
        yield* FileSystem.FileSystem.use((fs) => fs.remove(folder, { recursive: true }))
        const again = yield* run("sample", "2 + 2?", "--checkpoint", next, "--max-tokens", "4", "--workers", "0")
        assert.isTrue(Exit.isSuccess(again.exit), again.errors.join("\n"))
      }).pipe(Effect.provide(NodeServices.layer)),
    60_000
  )

  const mistakes: ReadonlyArray<readonly [name: string, args: ReadonlyArray<string>, message: string]> = [
    ["a deletion without paths or a run", [], "path is absent, expected paths of checkpoints, or --run-id"],
    [
      "paths together with a run",
      ["tinker://run/weights/1", "--run-id", "run"],
      "--run-id is given with paths or --run"
    ],
    [
      "a filter without a run",
      ["tinker://run/weights/1", "--type", "weights"],
      "--run-id is absent, expected --run-id, whose checkpoints --type"
    ],
    ["a filter with an invalid time", ["--run-id", "run", "--before", "soon"], "a time of UTC, such as 2026-01-31"],
    [
      "a deletion without --yes where nobody can be asked",
      ["tinker://run/weights/1"],
      "--yes is absent, expected --yes, because nobody can be asked here"
    ]
  ]

  it.effect.each(mistakes)("refuses %s", ([, args, message]) =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("checkpoints", "delete", ...args)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), message)
    }))

  it.effect("refuses a lifetime that is not a duration", () =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run("checkpoints", "ttl", "tinker://run/weights/1", "soon")
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "a time such as \"7 days\", or \"never\"")
    }))
})
