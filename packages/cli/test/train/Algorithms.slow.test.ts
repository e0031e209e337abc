/** Tests losses, credits and the KL penalty by their command line names and options. */
import { RunRecord } from "@effect-rl/core"
import { RunDirectory } from "@effect-rl/files"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import * as CommandLine from "../CommandLine.ts"

const { run, runFolder, short } = CommandLine

const withFiles = Effect.provide(NodeServices.layer)

/** The records of a one-iteration run with these flags. */
const trained = (command: ReadonlyArray<string>, ...flags: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const folder = yield* runFolder
    const { errors, exit } = yield* run(...command, "--iterations", "1", "--log-path", folder, ...flags)
    assert.isTrue(Exit.isSuccess(exit), errors.join("\n"))
    const reader = yield* RunDirectory.open(folder)
    return yield* Stream.runCollect(reader.read)
  }).pipe(Effect.scoped, withFiles)

const engine = [
  "train",
  "arithmetic",
  "--model",
  "effect-rl/tiny-64",
  "--groups-per-batch",
  "4",
  "--group-size",
  "4",
  "--eval-every",
  "0"
]

const passes = (records: ReadonlyArray<RunRecord.RunRecord>) =>
  records.filter(RunRecord.guards.Updated).flatMap(({ updates }) =>
    updates.flatMap(({ passes }) => passes.map(({ loss, route }) => [loss, route]))
  )

const identity = (records: ReadonlyArray<RunRecord.RunRecord>) => records.find(RunRecord.guards.Opened)?.identity

const losses: ReadonlyArray<readonly [flags: string, loss: string, route: string]> = [
  ["--loss ppo --clip-high 1.28", "ppo", "name"],
  ["--loss ppo --dual-clip 3", "ppo_dual_clip", "graph"],
  ["--loss cispo", "cispo", "name"],
  ["--loss gspo --clip-high 1.01", "gspo", "name"],
  ["--loss dppo --tau 0.01", "dppo", "graph"],
  ["--loss tis_token --weight-cap 3", "tis_token", "graph"],
  ["--loss mis_sequence --weight-low 0.5 --weight-high 2", "mis_sequence", "graph"],
  ["--loss decoupled_ppo --clip-high 1.28", "decoupled_ppo", "graph"],
  ["--loss opsm --delta 0.1", "opsm", "graph"],
  ["--loss sapo --tau-negative 1.1", "sapo", "graph"],
  ["--loss vespo", "vespo", "graph"],
  ["--loss topr", "topr", "graph"],
  ["--loss topr_token", "topr_token", "graph"],
  ["--loss gmpo --epsilon 0.3", "gmpo", "graph"],
  ["--loss ppo_with_observations --observation-weight 0", "ppo_with_observations", "graph"]
]

describe("train on the engine", () => {
  it.effect.each(losses)("%s", ([flags, loss, route]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(passes(yield* trained(engine, ...flags.split(" "))), [[loss, route]])
    }))

  it.effect("takes the base model as reference with --kl-coefficient, and measures the divergence from it", () =>
    Effect.gen(function*() {
      const records = yield* trained(engine, "--kl-coefficient", "0.1", "--kl-post-update")
      const { metrics } = records.find(RunRecord.guards.Updated) ?? assert.fail("no update")
      assert.strictEqual(metrics["kl_policy_base"], 0)
      assert.isAbove(metrics["kl_pre_post_v2"] ?? NaN, 0)
      assert.deepInclude(identity(records)?.["kl"], { reference: "effect-rl/tiny-64" })
    }))
})

const credits: ReadonlyArray<readonly [flags: string, credit: object]> = [
  ["--credit normalized --deviation population", { estimator: "normalized", deviation: "population" }],
  ["--credit leave_one_out", { estimator: "leave_one_out" }],
  ["--credit max_rl", { estimator: "max_rl" }],
  ["--credit length_weighted", { estimator: "length_weighted" }],
  ["--credit pass_at_k --pass-k 2", { estimator: "pass_at_k", k: 2 }],
  ["--credit shared_prefix", { estimator: "shared_prefix" }],
  ["--credit gdpo --reward-parts correct=1,format=0.1", {
    name: "batch_relative",
    estimator: "decoupled",
    format: 0.1
  }],
  ["--credit reinforce_plus_plus", { name: "batch_relative", estimator: "reward" }],
  ["--credit reinforce_plus_plus_baseline", { name: "batch_relative", estimator: "centered" }],
  ["--credit shrinkage", { name: "shrinkage" }],
  ["--credit role_relative --role-decay 0.9", { name: "role_relative", decay: 0.9 }],
  ["--overlong-buffer 8", { name: "overlong", buffer: 8 }],
  ["--length-penalty 0.1", { name: "length_penalty", actionTokens: 0.1 }]
]

describe("train with a credit", () => {
  it.effect.each(credits)("%s", ([flags, credit]) =>
    Effect.gen(function*() {
      const records = yield* trained(short, ...flags.split(" "))
      assert.deepInclude(identity(records)?.["credit"], credit)
      assert.lengthOf(passes(records), 1)
    }))
})

const refused: ReadonlyArray<readonly [flags: string, message: string]> = [
  ["--loss dro --clip-low 0.5", "--clip-low is 0.5, expected no value: the loss dro does not have this option"],
  ["--tau 0.1", "--tau is 0.1, expected no value: the loss importance_sampling does not have this option"],
  ["--overlong-buffer 41", "--overlong-buffer is 41, expected at most the 40 tokens of the longest response"],
  ["--pass-k 2", "--pass-k is 2, expected no value: the credit centered does not have this option"],
  ["--credit gdpo", "--reward-parts is left out, expected metrics with their weights, such as correct=1,format=0.1"],
  ["--credit gdpo --reward-parts correct", "--reward-parts is correct, expected metrics with their weights"],
  ["--max-batches 4", "--max-batches is 4, expected left out, or --min-informative above 0 as well"],
  ["--max-steps-off-policy 3", "--max-steps-off-policy is 3, expected no value: the pace synchronous does not have"],
  [
    "--kl-reference tinker://run/sampler_weights/final",
    "--kl-reference is tinker://run/sampler_weights/final, expected left out if there is no KL penalty"
  ],
  ["--kl-reference sums", "--kl-reference sums: neither the folder of a run, such as runs/arithmetic-0"]
]

describe("train refuses", () => {
  it.effect.each(refused)("%s", ([flags, message]) =>
    Effect.gen(function*() {
      const { errors, exit } = yield* run(...short, ...flags.split(" "))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors[0], message)
    }))

  it.effect("a metric of --reward-parts that no attempt reports, before the first update", () =>
    Effect.gen(function*() {
      const folder = yield* runFolder
      const { errors, exit } = yield* run(
        ...short,
        "--log-path",
        folder,
        "--credit",
        "gdpo",
        "--reward-parts",
        "corect=1,format=0.1"
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.include(errors.join("\n"), "a metric that update.credit compares is corect, expected a metric")
      assert.include(errors.join("\n"), "did you mean \"correct\"? Choose from: correct, format")
      const reader = yield* RunDirectory.open(folder)
      assert.lengthOf(passes(yield* Stream.runCollect(reader.read)), 0)
    }).pipe(Effect.scoped, withFiles))
})
