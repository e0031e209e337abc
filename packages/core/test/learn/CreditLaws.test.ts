import { Advantage, Credit, EnvMetric, Rl, RunRecord, RunStore } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { GroupResult } from "@effect-rl/core/program"
import type { Json } from "@effect-rl/core/records"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Samples from "./Samples.ts"

const advantages = ({ groups }: Credit.Assigned) => groups.map(({ advantagesG }) => Array.from(advantagesG))

const verdicts = ({ groups }: Credit.Assigned) => groups.map(({ verdict }) => verdict)

const closeTo = (
  actual: ReadonlyArray<ReadonlyArray<number>>,
  expected: ReadonlyArray<ReadonlyArray<number>>,
  tolerance = 1e-5
) => {
  assert.deepStrictEqual(actual.map(({ length }) => length), expected.map(({ length }) => length))
  expected.forEach((ofGroup, group) =>
    ofGroup.forEach((value, member) => assert.closeTo(actual[group]?.[member] ?? NaN, value, tolerance))
  )
}

const Members = Schema.Array(
  Schema.Union([Schema.Int.check(Schema.isBetween({ minimum: -50, maximum: 50 })), Schema.Undefined])
).check(Schema.isMinLength(1), Schema.isMaxLength(6))

/** Groups of any size, with dropped members. */
const Batch = Schema.Array(Members).check(Schema.isMinLength(1), Schema.isMaxLength(5))

const group = (rewards: ReadonlyArray<number | undefined>, index = 0) =>
  rewards.every((reward) => reward === undefined)
    ? Samples.skipped(rewards.length)
    : Samples.group(rewards, {
      key: String(index),
      metricsG: rewards.map((reward = 0) => ({ correct: EnvMetric.mean(reward) }))
    })

const assigned = (credit: Credit.Credit<unknown>, batch: ReadonlyArray<ReadonlyArray<number | undefined>>) =>
  Effect.runSync(Effect.orDie(credit.assign(batch.map(group), null, Weights.absent)))

const credits: Readonly<Record<string, Credit.Credit<unknown>>> = {
  batchRelative: Credit.batchRelative(),
  "batchRelative, centered": Credit.batchRelative(Advantage.centered),
  "batchRelative, decoupled": Credit.batchRelative(Advantage.decoupled({ correct: 1 })),
  shrinkage: Credit.shrinkage,
  roleRelative: Credit.roleRelative(),
  overlong: Credit.overlong({ maxTokens: 4, buffer: 3 })(Credit.groupRelative(Advantage.centered)),
  adaptiveEntropy: Credit.adaptiveEntropy({ target: 5 })(Credit.groupRelative(Advantage.centered)),
  lengthPenalty: Credit.lengthPenalty({ actionTokens: 0.5, turns: 0.1 })(Credit.groupRelative(Advantage.normalized()))
}

describe.each(Object.entries(credits))("Credit.%s", (_, credit) => {
  it.prop("gives finite advantages to groups of every size, and 0 to dropped members", [Batch], ([batch]) => {
    assigned(credit, batch).groups.forEach(({ advantagesG, data, result, verdict }, index) => {
      assert.strictEqual(advantagesG.length, verdict === "informative" ? batch[index]?.length : 0)
      advantagesG.forEach((advantage, member) => {
        assert.isTrue(Number.isFinite(advantage))
        if (!GroupResult.isSkipped(result) && Number.isNaN(result.rewardsG[member])) assert.strictEqual(advantage, 0)
      })
      for (const { inputs } of data) assert.isTrue(inputs.advantages.every(Number.isFinite))
      if (verdict === "informative") {
        assert.isTrue(data.some(({ inputs }) => inputs.advantages.some((advantage) => advantage !== 0)))
      }
    })
  })
})

const chosen = (...names: ReadonlyArray<string>) => Object.entries(credits).filter(([name]) => names.includes(name))

const overBatch = ["batchRelative", "batchRelative, centered", "batchRelative, decoupled"]

describe.each(chosen(...overBatch))("Credit.%s", (_, credit) => {
  it.prop("gives the tokens of all members of a batch mean 0 and variance 1", [Batch], ([batch]) => {
    const { groups } = assigned(credit, batch)
    const tokens = groups.flatMap(({ data }) =>
      data.flatMap(({ inputs: { advantages, mask } }) => Array.from(advantages.filter((_, t) => mask[t] === 1)))
    )
    if (tokens.length === 0) return
    // Each member has two tokens; those of groups that are not trained on have advantage 0.
    const count = 2 * batch.flat().filter((reward) => reward !== undefined).length
    assert.closeTo(tokens.reduce((sum, advantage) => sum + advantage, 0) / count, 0, 1e-4)
    assert.closeTo(tokens.reduce((sum, advantage) => sum + advantage ** 2, 0) / (count - 1), 1, 1e-3)
  })
})

type Batch = typeof Batch.Type

/** Every member's advantage; 0 if its group is not trained on. */
const ofMembers = (credit: Credit.Credit<unknown>, batch: Batch) => {
  const { groups } = assigned(credit, batch)
  return batch.map((rewards, group) => rewards.map((_, member) => groups[group]?.advantagesG[member] ?? 0))
}

describe.each(chosen(...overBatch, "shrinkage", "overlong", "lengthPenalty"))("Credit.%s", (_, credit) => {
  it.prop("permutes if the groups are permuted", [Batch], ([batch]) => {
    closeTo(ofMembers(credit, batch.toReversed()), ofMembers(credit, batch).toReversed(), 1e-3)
  })
})

describe.each(chosen(...overBatch, "shrinkage", "overlong"))("Credit.%s", (_, credit) => {
  it.prop("does not change if all rewards are raised by the same amount", [Batch], ([batch]) => {
    const raised = batch.map((rewards) => rewards.map((reward) => reward === undefined ? undefined : reward + 64))
    closeTo(ofMembers(credit, raised), ofMembers(credit, batch), 1e-3)
  })
})

describe("Credit.shrinkage", () => {
  it("shrinks the baseline towards the other groups' mean, depending on the noise of the means", () => {
    // The group means are 1/2 and 1. From the other group alone, v = 1/4 and 0, and s = 0, so λ = ½ for the second group and 0 for the
    // first.
    closeTo(advantages(assigned(Credit.shrinkage, [[1, 0], [1, 1]])), [[1, -1], [0.25, 0.25]])
  })

  it("uses the other groups' mean for a member without others", () => {
    closeTo(advantages(assigned(Credit.shrinkage, [[1], [0, 0]])), [[1], []])
  })

  it.prop("equals the leave-one-out advantage for a single group", [Members], ([rewards]) => {
    const { groups: [alone] } = assigned(Credit.shrinkage, [rewards])
    const { groups: [expected] } = assigned(Credit.groupRelative(Advantage.leaveOneOut), [rewards])
    closeTo([Array.from(alone?.advantagesG ?? [])], [Array.from(expected?.advantagesG ?? [])], 1e-3)
  })

  it.prop("doubles if all rewards are doubled", [Batch], ([batch]) => {
    const doubled = batch.map((rewards) => rewards.map((reward) => reward === undefined ? undefined : 2 * reward))
    closeTo(
      advantages(assigned(Credit.shrinkage, doubled)),
      advantages(assigned(Credit.shrinkage, batch)).map((ofGroup) => ofGroup.map((advantage) => 2 * advantage)),
      1e-3
    )
  })
})

/** Assigns credit to one batch after another, with the memory of the previous one. */
const inTurn = (credit: Credit.Credit<unknown>, batches: ReadonlyArray<ReadonlyArray<GroupResult.GroupResult>>) => {
  let memory: Json.Json = null
  return batches.map((batch) => {
    const assigned = Effect.runSync(Effect.orDie(credit.assign(batch, memory, Weights.absent)))
    memory = assigned.memory
    return assigned
  })
}

describe("Credit.roleRelative", () => {
  const credit = Credit.roleRelative({ decay: 0.5 })

  it("compares each seat with its own past rewards", () => {
    const [first, second] = inTurn(credit, [[Samples.group([1, -1])], [Samples.group([1, undefined])]])
    closeTo([...advantages(first ?? assert.fail()), ...advantages(second ?? assert.fail())], [[1, -1], [0.5, 0]])
    assert.deepStrictEqual(second?.memory, { "0": 0.75, "1": -0.5 })
  })

  it("distinguishes games by their tags", () => {
    const [assigned] = inTurn(credit, [[
      Samples.group([1], { key: "first", tags: ["nim"] }),
      Samples.group([1], { key: "second", tags: ["chess"] }),
      Samples.group([1], { key: "third", tags: ["nim"] })
    ]])
    closeTo(advantages(assigned ?? assert.fail()), [[1], [1], [0.5]])
  })

  it("trains on nothing if every reward equals its baseline", () => {
    assert.deepStrictEqual(verdicts(assigned(credit, [[0, 0]])), ["constant"])
  })

  it.effect("refuses a decay of 1, with which no average would change", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Credit.roleRelative({ decay: 1 }).assign([], null, Weights.absent))
      assert.strictEqual(error.field, "decay")
    }))

  it.effect("resumes exactly after an interruption", () =>
    Effect.gen(function*() {
      const run = (iterations?: number) =>
        Stream.unwrap(Effect.map(
          Task.options({ epochs: 2, run: iterations === undefined ? {} : { iterations } }),
          (options) => Rl.run({ ...options, update: { credit } })
        )).pipe(Stream.runCollect)
      const credited = Effect.map(
        Task.current(RunRecord.guards.Credited),
        (records) => records.map(({ groups }) => groups.map(({ advantages }) => advantages))
      )
      const whole = yield* Effect.andThen(run(), credited).pipe(
        Effect.provide(RunStore.RunStore.layerMemory, { local: true })
      )
      yield* run(1)
      yield* run(3)
      yield* run()
      assert.deepStrictEqual(yield* credited, whole)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf }))))
})

/** A group whose members have these numbers of action tokens and rewards. */
const ofLengths = (lengths: ReadonlyArray<number>, rewards: ReadonlyArray<number>) =>
  Samples.group(rewards, { members: Samples.membersOfLength(lengths, rewards) })

describe("Credit.overlong", () => {
  it.effect("takes nothing below the buffer, and increasingly more within it", () =>
    Effect.gen(function*() {
      const overlong = Credit.overlong({ maxTokens: 10, buffer: 4 })
      const inner = Credit.groupRelative(Advantage.make("raw", ({ group }) => Float32Array.from(group.rewardsG)))
      const { groups: [group] } = yield* overlong(inner).assign(
        [ofLengths([1, 6, 7, 9, 10, 40], [1, 1, 1, 1, 1, 1])],
        null,
        Weights.absent
      )
      assert.deepStrictEqual(Array.from(group?.advantagesG ?? []), [1, 1, 0.75, 0.25, 0, 0])
      const reported = group === undefined || GroupResult.isSkipped(group.result)
        ? []
        : Array.from(group.result.rewardsG)
      assert.deepStrictEqual(reported, [1, 1, 1, 1, 1, 1])
    }))

  it.effect("refuses a buffer that is longer than the longest answer", () =>
    Effect.gen(function*() {
      const credit = Credit.overlong({ maxTokens: 4, buffer: 5 })(Credit.groupRelative(Advantage.centered))
      const error = yield* Effect.flip(credit.assign([], null, Weights.absent))
      assert.strictEqual(error.field, "buffer")
    }))
})

describe("Credit.lengthPenalty", () => {
  const credit = Credit.lengthPenalty({ actionTokens: 0.5 })(Credit.groupRelative(Advantage.centered))

  it.effect("prefers the shorter of two correct answers", () =>
    Effect.gen(function*() {
      const { groups: [group] } = yield* credit.assign([ofLengths([2, 4], [1, 1])], null, Weights.absent)
      assert.deepStrictEqual(Array.from(group?.advantagesG ?? []), [0.125, -0.125])
    }))

  it.effect("does not prefer short answers if the group fails", () =>
    Effect.gen(function*() {
      const { groups: [failed, negative] } = yield* credit.assign(
        [
          ofLengths([2, 4], [0, 0]),
          ofLengths([2, 4], [-1, -2])
        ],
        null,
        Weights.absent
      )
      assert.strictEqual(failed?.verdict, "constant")
      assert.deepStrictEqual(Array.from(negative?.advantagesG ?? []), [0.5, -0.5])
    }))
})

describe("Advantage.perToken", () => {
  it.effect("gives every token of every turn its own advantage", () =>
    Effect.gen(function*() {
      const counting = Advantage.perToken("counting", () => (member, turn, position) =>
        100 * member + 10 * turn + position)
      const member = Samples.trajectory(Samples.turn([1], [2, 3]), Samples.turn([1, 2, 3, 4], [5, 6], [-1, -1]))
      const group = Samples.group([1, 0], { members: [Option.some(member), Option.some(member)] })
      const { groups: [credited] } = yield* Credit.groupRelative(counting).assign([group], null, Weights.absent)
      assert.deepStrictEqual(
        credited?.data.map(({ inputs }) =>
          Array.from(inputs.advantages)
        ),
        [
          [0, 1, 0, 10, 11],
          [100, 101, 0, 110, 111]
        ]
      )
      assert.deepStrictEqual(Array.from(credited?.advantagesG ?? []), [5.5, 105.5])
    }))

  const bonus = (coefficient: number) =>
    Advantage.perToken("entropy_bonus", (informative) => {
      const advantagesG = Advantage.centered.of(informative)
      const turnsG = informative.group.members.map((member) => Option.getOrUndefined(member)?.transitions)
      return (member, turn, position) =>
        (advantagesG[member] ?? 0) - coefficient * (turnsG[member]?.[turn]?.action.logprobs[position] ?? 0)
    })

  it.prop("trains on groups with equal rewards, but not if all advantages are 0", [Batch], ([batch]) => {
    const plain = assigned(Credit.groupRelative(Advantage.centered), batch)
    const none = assigned(Credit.groupRelative(bonus(0)), batch)
    assert.deepStrictEqual(verdicts(none), verdicts(plain))
    const rewarded = assigned(Credit.groupRelative(bonus(0.5)), batch)
    rewarded.groups.forEach(({ data, verdict }, index) => {
      assert.strictEqual(verdict, plain.groups[index]?.verdict === "skipped" ? "skipped" : "informative")
      const isConstant = plain.groups[index]?.verdict === "constant"
      // Every token's log-probability is −1.
      if (isConstant) {
        for (const { inputs } of data) assert.deepStrictEqual(Array.from(inputs.advantages), [0, 0.5, 0.5])
      }
    })
  })

  it("gives no signal to groups with equal rewards if turns are compared between members", () => {
    const equal = assigned(Credit.groupRelative(Advantage.sharedPrefix), [[0.1, 0.1, 0.1]])
    assert.deepStrictEqual(verdicts(equal), ["constant"])
  })
})
