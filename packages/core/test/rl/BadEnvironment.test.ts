/** An environment misbehaves in the second iteration. The error names it and its fault, and the first iteration is kept. */
import { Env, type EnvGroupBuilder, type FailurePolicy, type InvalidOption, Rl, RunRecord } from "@effect-rl/core"
import { ModelInput } from "@effect-rl/core/backend"
import { Branch } from "@effect-rl/core/environments"
import type { Renderer } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Stream } from "effect"
import * as Scripted from "../rollout/Scripted.ts"
import * as Task from "./Task.ts"

type E = Renderer.RendererError | InvalidOption.InvalidOption | Scripted.Broken
type Group = EnvGroupBuilder.EnvGroup<E>

/** A value from untyped JavaScript, which nothing has checked. */
const untyped = (json: string): Env.Step => JSON.parse(json)

/** Makes the group's second member play this environment instead of its problem. */
const playing = (env: () => Env.Env<E>) => (group: Group): Group => ({
  ...group,
  makeEnv: (member, attempt) => member === 1 ? Effect.sync(env) : group.makeEnv(member, attempt)
})

const rewarding = (groupRewards: Group["groupRewards"]) => (group: Group): Group => ({
  ...group,
  ...(groupRewards === undefined ? {} : { groupRewards })
})

interface Misbehaviour {
  readonly name: string
  readonly spoil: (group: Group) => Group
  readonly says: string
}

const member = "group \"sum/3\", member 1: "

const misbehaviours: ReadonlyArray<Misbehaviour> = [
  { name: "fails", spoil: playing(() => Scripted.failing()), says: "step broke" },
  {
    name: "throws",
    spoil: playing(() => Scripted.throwing),
    says: `iteration 2, group "sum/3", member 1: TypeError: not a function`
  },
  {
    name: "cannot be acquired",
    spoil: (group) => ({ ...group, makeEnv: () => Scripted.breaks("sandbox") }),
    says: "sandbox broke"
  },
  {
    name: "hangs",
    spoil: playing(Scripted.hanging),
    says: `${member}not finished within 1m: raise memberTimeout, or let onFailure drop or skip slow members`
  },
  {
    name: "rewards with NaN",
    spoil: playing(() => Scripted.env(Scripted.done(NaN))),
    says: `${member}step.reward is NaN, expected a finite number`
  },
  {
    name: "returns a value that is not a step",
    spoil: playing(() => Scripted.env(untyped(`{"reward": 1}`))),
    says: `${member}step._tag is undefined, expected Continue or Done`
  },
  {
    name: "gives too few group rewards",
    spoil: rewarding(() => Effect.succeed([{ reward: 1 }])),
    says: "group \"sum/3\": groupRewards is 1 rewards, expected one per trajectory (4)"
  },
  {
    name: "gives NaN as a group reward",
    spoil: rewarding((trajectories) => Effect.succeed(trajectories.map(() => ({ reward: NaN })))),
    says: "group \"sum/3\": groupRewards[0].reward is NaN, expected a finite number"
  }
]

const spoiled = (spoil: (group: Group) => Group) => (builder: EnvGroupBuilder.EnvGroupBuilder<E>) =>
  builder.key === "sum/3" ? { ...builder, open: Effect.map(builder.open, spoil) } : builder

/** A run of two iterations with two groups. `spoil` may break one of them. */
const run = (spoil: (group: Group) => Group = (group) => group, onFailure?: FailurePolicy.FailurePolicy) =>
  Stream.unwrap(Effect.map(Task.options(), ({ dataset, ...options }) => {
    const batch = (index: number, seed: number): Effect.Effect<ReadonlyArray<EnvGroupBuilder.EnvGroupBuilder<E>>, E> =>
      Effect.map(dataset.batch(index, seed), (builders) => builders.map(spoiled(spoil)))
    return Rl.run({
      ...options,
      dataset: { ...dataset, batch },
      rollout: {
        memberTimeout: "1 minute",
        maxDroppedShare: 0.5,
        ...(onFailure === undefined ? {} : { onFailure })
      }
    })
  }))

const answersHalf = Effect.provide(Task.layer({ sample: Task.answersHalf }))

describe("an environment that", () => {
  for (const { name, says, spoil } of misbehaviours) {
    it.effect(`${name} ends the run, which resumes with its finished groups once the environment is mended`, () =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(Scripted.inTime(Stream.runDrain(run(spoil))))
        assert.isTrue(Exit.isFailure(exit))
        if (Exit.isSuccess(exit)) return
        assert.strictEqual(Cause.prettyErrors(exit.cause)[0]?.message, says)
        assert.strictEqual(Cause.hasDies(exit.cause), name === "throws")
        assert.deepStrictEqual(yield* Task.live, {})
        const saved = (yield* Task.current(RunRecord.guards.Saved)).at(-1)
        assert.deepInclude(saved, { iteration: 1, optimizerSteps: 1 })

        const [started, ...later] = yield* Stream.runCollect(run())
        assert.deepInclude(started, { _tag: "Opened", iteration: 1 })
        assert.deepInclude(later.at(-1), { _tag: "Finished", iteration: 2, reason: "completed" })
      }).pipe(answersHalf))

    it.effect(`${name} costs only its own group if the failure policy skips groups`, () =>
      Effect.gen(function*() {
        const events = yield* Scripted.inTime(Stream.runCollect(run(spoil, Scripted.always("skip"))))
        const [, second] = events.filter(RunRecord.guards.Updated)
        assert.strictEqual(second?.reward?.mean, 0.5)
        assert.lengthOf(second?.updates ?? [], 1)
        assert.deepInclude(second?.metrics, { "groups/total": 2, "groups/informative": 1 })
        assert.deepInclude(second?.metrics, { "groups/skipped": 1, "env/all/total_episodes": 4 })
      }).pipe(answersHalf))
  }
})

const prompt = Env.prompt(ModelInput.fromTokens([40, 41]), [])

/** A run of one iteration with one group, whose environments are made from the members' rewards. */
const runOf = (length: number, rewards: ReadonlyArray<number>, envOf: (reward: number) => Env.Env<Scripted.Broken>) =>
  Stream.unwrap(Effect.map(Task.model, (model) => {
    const makeEnv = (member: number) => Effect.sync(() => envOf(rewards[member] ?? 0))
    const group = { key: "one", size: rewards.length, tags: [], open: Effect.succeed({ makeEnv }) }
    return Rl.run({
      model,
      dataset: { length, fingerprint: "one group", batch: () => Effect.succeed([group]) },
      sampling: { maxTokens: 2 },
      run: { iterations: 1, evalEvery: 0 }
    })
  }))

const once = (reward: number) => Scripted.env(Scripted.done(reward))

describe("a run with a misbehaving environment", () => {
  it.effect("ends an episode after 1000 turns if its prompt never grows", () =>
    Effect.gen(function*() {
      const again: Env.Continue = {
        _tag: "Continue",
        reward: 0,
        observation: { ...prompt, branch: Branch.anew("edit") }
      }
      const endless = (): Env.Env => ({ initialObservation: Effect.succeed(prompt), step: () => Effect.succeed(again) })
      const records = yield* Stream.runCollect(runOf(1, [0, 0], endless))
      const [group] = records.filter(RunRecord.guards.GroupRolledOut)
      assert.deepInclude(group?.members[0], { turns: 1000, stopReason: "max_turns" })
    }).pipe(answersHalf))

  it.effect.each([1e8, 1e12, Infinity])(
    "trains an iteration of a dataset with %d batches without listing them",
    (length) =>
      Effect.gen(function*() {
        const last = (yield* Stream.runCollect(runOf(length, [0, 1], once))).at(-1)
        assert.deepInclude(last, { _tag: "Finished", iteration: 1 })
      }).pipe(answersHalf)
  )

  it.effect.each([1e200, -1e200, 1e31])(
    "refuses the reward %d, which has no finite advantage",
    (reward) =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Stream.runDrain(runOf(1, [reward, 0], once)))
        const expected = "expected a number from -1e30 to 1e30"
        assert.strictEqual(error.message, `group "one", member 0: step.reward is ${reward}, ${expected}`)
      }).pipe(answersHalf)
  )
})
