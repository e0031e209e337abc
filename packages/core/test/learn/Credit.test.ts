import { Advantage, Credit, Rl, RunRecord, Tinker } from "@effect-rl/core"
import { ModelInput, type SamplingClient, Weights } from "@effect-rl/core/backend"
import { Branch } from "@effect-rl/core/environments"
import { Audit } from "@effect-rl/core/records"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Schema, Stream } from "effect"
import * as Task from "../rl/Task.ts"
import * as Samples from "./Samples.ts"

const verdicts = (assigned: Credit.Assigned) => assigned.groups.map(({ verdict }) => verdict)

const advantages = (assigned: Credit.Assigned) => assigned.groups.map(({ advantagesG }) => Array.from(advantagesG))

describe("Credit.groupRelative", () => {
  it.effect("does not train on a group whose advantages are all 0", () =>
    Effect.gen(function*() {
      const tied = Samples.group([1, 1, 0])
      const assigned = yield* Credit.groupRelative(Advantage.passAtK()).assign(
        [tied, Samples.group([1, 0, 0])],
        null,
        Weights.absent
      )
      assert.deepStrictEqual(verdicts(assigned), ["constant", "informative"])
      assert.deepStrictEqual(assigned.groups.map(({ data }) => data.length), [0, 3])
    }))
})

describe("Credit.batchRelative", () => {
  it.effect("compares members across groups, including groups with equal rewards", () =>
    Effect.gen(function*() {
      const results = [Samples.group([1, 1]), Samples.skipped(2), Samples.group([0, 0, undefined])]
      const assigned = yield* Credit.batchRelative().assign(results, null, Weights.absent)
      assert.deepStrictEqual(verdicts(assigned), ["informative", "skipped", "informative"])
      const a = Math.fround(0.5 / Math.sqrt(2 / 7 + 1e-8))
      assert.deepStrictEqual(advantages(assigned), [[a, a], [], [-a, -a, 0]])
      const [datum] = assigned.groups[0]?.data ?? []
      assert.deepStrictEqual(Array.from(datum?.inputs.advantages ?? []), [0, a, a])
    }))

  it.effect("rounds only after whitening, so it distinguishes rewards that float32 cannot", () =>
    Effect.gen(function*() {
      const large = 2 ** 24
      assert.strictEqual(Math.fround(large + 1), large)
      const results = [Samples.group([large, large + 1]), Samples.group([large + 1, large])]
      const a = Math.fround(0.5 / Math.sqrt(2 / 7 + 1e-8))
      for (
        const estimator of [
          Advantage.reward,
          Advantage.perToken("told apart", ({ group }) => (member) => group.rewardsG[member] ?? 0)
        ]
      ) {
        const assigned = yield* Credit.batchRelative(estimator).assign(results, null, Weights.absent)
        assert.deepStrictEqual(verdicts(assigned), ["informative", "informative"])
        assert.deepStrictEqual(advantages(assigned), [[-a, a], [a, -a]])
        const data = assigned.groups.flatMap(({ data }) => data.map(({ inputs }) => Array.from(inputs.advantages)))
        assert.deepStrictEqual(data, [[0, -a, -a], [0, a, a], [0, a, a], [0, -a, -a]])
      }
    }))

  it.effect("compares only trained tokens: no untrainable turn, and no first token of an empty prompt", () =>
    Effect.gen(function*() {
      const members = [
        Option.some(Samples.trajectory(Samples.turn([], [1, 2, 3]))),
        Option.some(Samples.trajectory(
          Samples.turn([1], [2]),
          Samples.turn([1, 2], [3, 4, 5], undefined, { trainable: false }),
          Samples.turn([9], [2])
        ))
      ]
      const assigned = yield* Credit.batchRelative().assign([Samples.group([1, 0], { members })], null, Weights.absent)
      const a = Math.fround(0.5 / Math.sqrt(1 / 3 + 1e-8))
      const data = assigned.groups.flatMap(({ data }) => data.map(({ inputs }) => Array.from(inputs.advantages)))
      assert.deepStrictEqual(data, [[a, a], [-a, 0, 0, 0], [-a]])
    }))

  it.effect("trains on nothing if all rewards of the batch are equal", () =>
    Effect.gen(function*() {
      const assigned = yield* Credit.batchRelative().assign(
        [Samples.group([1, 1]), Samples.group([1])],
        null,
        Weights.absent
      )
      assert.deepStrictEqual(verdicts(assigned), ["constant", "constant"])
    }))
})

const relative = Credit.groupRelative(Advantage.centered)

describe("Credit.byBranch", () => {
  const branched = (branch: Branch.Branch, prompt: ReadonlyArray<number>, ...tokens: ReadonlyArray<number>) =>
    Samples.turn(prompt, tokens, undefined, { branch })

  /** An agent's conversation, with requests of a helper and of summaries beside it and after it. */
  const agent = Samples.trajectory(
    Samples.turn([1], [2]),
    branched(Branch.anew("subagent"), [5], 6),
    Samples.turn([5, 6, 7], [8, 9]),
    branched(Branch.anew("renderer"), [5, 5], 6),
    branched({ after: 0, reason: "parallel" }, [1, 2, 3], 4),
    branched(Branch.anew("compaction"), [3], 4),
    branched({ after: 5, reason: "subagent" }, [3, 4, 5], 6),
    branched({ after: 5, reason: "retry" }, [3, 4, 5], 7)
  )

  const other = Samples.trajectory(Samples.turn([1], [2]))

  const group = Samples.group([3, 1], { members: [Option.some(agent), Option.some(other)] })

  const ofTokens = Effect.fnUntraced(function*(shares: Credit.BranchShares) {
    const credit = Credit.byBranch(shares)(relative)
    const { groups } = yield* credit.assign([group], null, Weights.absent)
    return {
      verdicts: groups.map(({ verdict }) => verdict),
      advantages: groups.flatMap(({ data }) =>
        data.map(({ inputs, origin }) => [origin.member, origin.turns, Array.from(inputs.advantages)])
      )
    }
  })

  it.effect("multiplies the advantages of helpers and compacted conversations by their factors", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* ofTokens({ subagent: 0.5, compaction: 0.25 })).advantages, [
        [0, [0, 4], [1, 0, 1]],
        [0, [1, 2], [0.5, 0, 0.5, 0.5]],
        [0, [3], [0, 0.5]],
        [0, [5, 6], [0.25, 0, 0.5]],
        [0, [7], [0, 0, 0.25]],
        [1, [0], [-1]]
      ])
    }))

  it.effect("leaves every branch unchanged by default", () =>
    Effect.gen(function*() {
      const { groups } = yield* relative.assign([group], null, Weights.absent)
      const own = groups.flatMap(({ data }) =>
        data.map(({ inputs, origin }) => [origin.member, origin.turns, Array.from(inputs.advantages)])
      )
      assert.deepStrictEqual((yield* ofTokens({})).advantages, own)
    }))

  it.effect("does not train on a group whose advantages all become 0, and refuses negative factors", () =>
    Effect.gen(function*() {
      const alone = Samples.trajectory(branched(Branch.anew("subagent"), [1], 2))
      const helpers = Samples.group([1, 0], { members: [Option.some(alone), Option.some(alone)] })
      const credit = Credit.byBranch({ subagent: 0 })(relative)
      assert.deepStrictEqual(verdicts(yield* credit.assign([helpers], null, Weights.absent)), ["constant"])
      assert.include(String(yield* Effect.flip(ofTokens({ compaction: -1 }))), "compaction is -1")
    }))
})

const reference = Effect.flatMap(
  Tinker.Tinker,
  (tinker) => tinker.createSamplingClient({ baseModel: Script.defaultModel })
)

/** Runs one iteration with a credit that compares with the base model. */
const trained = <E>(creditOf: (reference: SamplingClient.SamplingClient) => Credit.Credit<E>) =>
  Stream.unwrap(Effect.gen(function*() {
    const credit = creditOf(yield* reference)
    const options = yield* Task.options({ run: { iterations: 1 } })
    return Rl.run({ ...options, update: { learningRate: 1e-2, credit } })
  })).pipe(Stream.runCollect)

const penalized = trained((reference) => Credit.klPenalty({ reference, coefficient: 0.5 })(relative))

/** A log-probability of −1 for every token; the scripted policy reports −0.5. */
const less = (prompt: ModelInput.ModelInput) => new Float32Array(prompt.length).fill(-1)

describe("Credit.klPenalty", () => {
  it.effect("names its reference in the run's identity and reports the divergence", () =>
    Effect.gen(function*() {
      const records = yield* penalized
      assert.deepInclude(records.find(RunRecord.guards.Opened)?.identity, {
        credit: {
          name: "kl_penalty",
          credit: { name: "group_relative", estimator: "centered" },
          reference: Script.defaultModel,
          coefficient: 0.5,
          discount: 0
        }
      })
      assert.strictEqual(records.find(RunRecord.guards.Updated)?.metrics["kl_policy_base"], 0.5)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersHalf, computeLogprobs: less }))))

  it.effect("takes no step if rewards are equal and all tokens diverge equally", () =>
    Effect.gen(function*() {
      const records = yield* penalized
      const updated = records.find(RunRecord.guards.Updated)
      assert.deepStrictEqual(updated?.updates, [])
      assert.strictEqual(updated?.metrics["kl_policy_base"], 0.5)
      const { datums, groups } = records.find(RunRecord.guards.Credited) ?? assert.fail("nothing is credited")
      assert.deepStrictEqual(groups.map(({ advantages, verdict }) => [verdict, advantages]), [
        ["constant", []],
        ["constant", []]
      ])
      assert.deepStrictEqual(datums, [])
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersNone, computeLogprobs: less }))))

  /** The reference's log-probabilities of the two tokens that each member writes. */
  const byPosition = [-0.25, -2]
  const positional: SamplingClient.SamplingClient = {
    modelPath: "reference",
    sample: () => Effect.die(new Error("nothing is sampled from the reference")),
    computeLogprobs: () => Effect.succeed(Float32Array.of(0, 0, ...byPosition))
  }
  const rewards = Schema.Array(
    Schema.Union([Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })), Schema.Undefined])
  )
  const batch = Schema.Array(rewards.check(Schema.isMinLength(1), Schema.isMaxLength(4))).check(Schema.isMinLength(1))
  type Rewards = ReadonlyArray<number | undefined>

  const resultsOf = (batch: ReadonlyArray<Rewards>) =>
    batch.map((rewards, index) =>
      rewards.every((reward) => reward === undefined)
        ? Samples.skipped(rewards.length)
        : Samples.group(rewards, { key: String(index) })
    )

  const inputsOf = ({ groups }: Credit.Assigned) => groups.map(({ data }) => data.map(({ inputs }) => inputs))

  it.effect.prop(
    "adds the penalty to every group's advantages, so groups with equal rewards get only the penalty",
    [batch],
    ([batch]) =>
      Effect.gen(function*() {
        const credit = Credit.klPenalty({ reference: positional, coefficient: 0.5 })(relative)
        const assigned = yield* credit.assign(resultsOf(batch), null, Weights.absent)
        // The sampler's log-probabilities are −1.
        const divergences = byPosition.map((logprob) => -1 - logprob)
        const [first = NaN, second = NaN] = divergences
        batch.forEach((rewards, index) => {
          const finished = rewards.filter((reward) => reward !== undefined)
          const mean = finished.reduce((sum, reward) => sum + reward, 0) / finished.length
          const expected = finished.map((reward) => [
            0,
            ...divergences.map((divergence) => reward - mean + 0.5 * ((first + second) / 2 - divergence))
          ])
          const found = assigned.groups[index]
          const tokens = found?.data.map(({ inputs }) => Array.from(inputs.advantages)) ?? []
          assert.lengthOf(tokens, expected.length)
          expected.flat().forEach((advantage, at) => assert.closeTo(tokens.flat()[at] ?? NaN, advantage, 1e-6))
          assert.strictEqual(found?.verdict, finished.length === 0 ? "skipped" : "informative")
          found?.advantagesG.forEach((advantage, member) =>
            assert.closeTo(advantage, rewards[member] === undefined ? 0 : (rewards[member] ?? 0) - mean, 1e-6)
          )
        })
        for (const { data, result } of assigned.groups) {
          for (const { origin } of data) assert.strictEqual(origin.group, result.key)
        }
      })
  )

  it.effect.prop("leaves data unchanged if its coefficient is 0", [batch], ([batch]) =>
    Effect.gen(function*() {
      const results = resultsOf(batch)
      const penalized = Credit.klPenalty({ reference: positional, coefficient: 0 })(relative)
      const [without, withPenalty] = [
        yield* relative.assign(results, null, Weights.absent),
        yield* penalized.assign(results, null, Weights.absent)
      ]
      assert.deepStrictEqual(inputsOf(withPenalty), inputsOf(without))
      assert.deepStrictEqual(verdicts(withPenalty), verdicts(without))
      assert.deepStrictEqual(advantages(withPenalty), advantages(without))
    }))

  it.effect("does not change groups that an audit suspects", () =>
    Effect.gen(function*() {
      const cheating = Samples.trajectory(
        Samples.turn([1, 2], [3, 4], [-1, -1], { logs: { response: "import reward.txt" } })
      )
      const suspected = Samples.group([1, 1], {
        key: "suspected",
        members: [Option.some(cheating), Option.some(cheating)]
      })
      const credit = Credit.klPenalty({ reference: positional, coefficient: 0.5 })(Audit.quarantine(relative))
      const assigned = yield* credit.assign([suspected, Samples.group([1, 1])], null, Weights.absent)
      assert.deepStrictEqual(verdicts(assigned), ["quarantined", "informative"])
      assert.deepStrictEqual(assigned.groups.map(({ data }) => data.length), [0, 2])
    }))

  it.effect("fails as Unsupported if the backend has no prompt log-probabilities", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(penalized)
      assert.strictEqual(error._tag === "TinkerError" && error.reason._tag, "Unsupported")
    }).pipe(Effect.provide(Task.layer({
      sample: Task.answersHalf,
      models: { [Script.defaultModel]: { promptLogprobs: false, topkPromptLogprobs: 0 } }
    }))))

  const answering = (others: ReadonlyArray<number>): SamplingClient.SamplingClient => {
    let asked = 0
    return {
      modelPath: "reference",
      sample: () => Effect.die(new Error("nothing is sampled from the reference")),
      computeLogprobs: (prompt) =>
        Effect.sync(() => Float32Array.from({ length: prompt.length }, () => others[asked++ % others.length] ?? NaN))
    }
  }

  it.effect.prop(
    "has a mean of 0 over the trained tokens of all groups",
    [Schema.Array(Schema.Finite.check(Schema.isBetween({ minimum: -20, maximum: 0 }))).check(Schema.isMinLength(1))],
    ([others]) =>
      Effect.gen(function*() {
        const credit = Credit.klPenalty({ reference: answering(others), coefficient: 0.5 })(relative)
        const { groups } = yield* credit.assign(
          [Samples.group([1, 0]), Samples.group([1, 0, undefined])],
          null,
          Weights.absent
        )
        const advantages = groups.flatMap(({ data }) => data.flatMap(({ inputs }) => Array.from(inputs.advantages)))
        assert.closeTo(advantages.reduce((sum, advantage) => sum + advantage, 0), 0, 1e-4)
      })
  )

  it.effect("ignores tokens without a log-probability under the reference", () =>
    Effect.gen(function*() {
      const credit = Credit.klPenalty({ reference: answering([NaN]), coefficient: 0.5 })(relative)
      const { groups, metrics } = yield* credit.assign([Samples.group([1, 0])], null, Weights.absent)
      assert.deepStrictEqual(
        groups.flatMap(({ data }) => data.map(({ inputs }) => Array.from(inputs.advantages))),
        [[0, 0.5, 0.5], [0, -0.5, -0.5]]
      )
      assert.notProperty(metrics, "kl_policy_base")
    }))

  it.effect("counts tokens that the reference forbids as −50 nats, and reports their share", () =>
    Effect.gen(function*() {
      // Each datum has four positions, and only its last token is forbidden.
      for (const forbidden of [-Infinity, -1000]) {
        const credit = Credit.klPenalty({ reference: answering([0, 0, -1, forbidden]), coefficient: 1 })(relative)
        const { groups, metrics } = yield* credit.assign([Samples.group([1, 1])], null, Weights.absent)
        assert.deepStrictEqual(
          groups.flatMap(({ data }) => data.map(({ inputs }) => Array.from(inputs.advantages))),
          [[0, 24.5, -24.5], [0, 24.5, -24.5]]
        )
        assert.deepStrictEqual(metrics, { kl_policy_base: 24.5, kl_forbidden: 0.5 })
      }
    }))

  it.effect("does not report forbidden tokens if there are none", () =>
    Effect.gen(function*() {
      const teacher = answering([-1])
      for (
        const credit of [
          Credit.klPenalty({ reference: teacher, coefficient: 1 })(relative),
          Credit.distill({ teacher })
        ]
      ) {
        const { metrics } = yield* credit.assign([Samples.group([1, 0])], null, Weights.absent)
        assert.lengthOf(Object.keys(metrics), 1)
        assert.notProperty(metrics, "kl_forbidden")
        assert.notProperty(metrics, "teacher_forbidden")
      }
    }))

  it.effect("refuses a coefficient that is negative or not a number", () =>
    Effect.gen(function*() {
      const client = yield* reference
      for (const coefficient of [-1, NaN]) {
        const credit = Credit.klPenalty({ reference: client, coefficient })(relative)
        const error = yield* Effect.flip(credit.assign([], null, Weights.absent))
        assert.strictEqual(error._tag === "InvalidOption" && error.field, "coefficient")
      }
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))
})

describe("Credit.distill", () => {
  it.effect("trains on groups with equal rewards", () =>
    Effect.gen(function*() {
      const records = yield* trained((teacher) => Credit.distill({ teacher }))
      const updated = records.find(RunRecord.guards.Updated)
      assert.deepStrictEqual(updated?.updates.map(({ passes }) => passes.map(({ datums }) => datums)), [[8]])
      assert.strictEqual(updated?.metrics["teacher_kl"], 0.5)
    }).pipe(Effect.provide(Task.layer({ sample: Task.answersNone, computeLogprobs: less }))))

  it.effect("counts tokens that the teacher forbids as −50 nats, and reports their share", () =>
    Effect.gen(function*() {
      const teacher = {
        ...(yield* reference),
        computeLogprobs: () => Effect.succeed(Float32Array.of(0, 0, -1, -Infinity))
      }
      const { groups, metrics } = yield* Credit.distill({ teacher }).assign([Samples.group([1])], null, Weights.absent)
      assert.deepStrictEqual(groups[0]?.data.map(({ inputs }) => Array.from(inputs.advantages)), [[0, 0, -49]])
      assert.deepStrictEqual(metrics, { teacher_kl: 24.5, teacher_forbidden: 0.5 })
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it.effect("takes no step if the teacher's log-probabilities equal the student's", () =>
    Effect.gen(function*() {
      const records = yield* trained((teacher) => Credit.distill({ teacher }))
      assert.deepStrictEqual(records.find(RunRecord.guards.Updated)?.updates, [])
    }).pipe(Effect.provide(Task.layer({
      sample: Task.answersHalf,
      computeLogprobs: (prompt) => new Float32Array(prompt.length).fill(-0.5)
    }))))

  it.effect("adds the advantages of an estimator, if given", () =>
    Effect.gen(function*() {
      const teacher = {
        ...(yield* reference),
        computeLogprobs: (prompt: ModelInput.ModelInput) => Effect.succeed(less(prompt))
      }
      const credit = Credit.distill({ teacher, coefficient: 0.25, estimator: Advantage.centered })
      const { groups: [group] } = yield* credit.assign([Samples.group([1, 0])], null, Weights.absent)
      const advantages = group?.data.map(({ inputs }) => Array.from(inputs.advantages))
      assert.deepStrictEqual(advantages, [[0, 0.5, 0.5], [0, -0.5, -0.5]])
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it.effect("lets the teacher read the student's answer after another prompt", () =>
    Effect.gen(function*() {
      const asked: Array<ReadonlyArray<number>> = []
      const teacher = {
        ...(yield* reference),
        computeLogprobs: (sequence: ModelInput.ModelInput) =>
          Effect.map(Effect.orDie(ModelInput.toTokens(sequence)), (tokens) => {
            asked.push(Array.from(tokens))
            return Float32Array.from(tokens, (token) => -token)
          })
      }
      const prompt = { name: "told", of: () => Effect.succeed(ModelInput.fromTokens([7, 8, 9])) }
      const credit = Credit.distill({ teacher, prompt })
      const { groups: [group] } = yield* credit.assign([Samples.group([1])], null, Weights.absent)
      assert.deepStrictEqual(asked, [[7, 8, 9, 3, 4]])
      assert.deepInclude(credit.config, { prompt: "told", maxContextLength: 32_768 })
      // The sampler's log-probabilities are −1, the teacher's −3 and −4.
      assert.deepStrictEqual(Array.from(group?.data[0]?.inputs.advantages ?? []), [0, -2, -3])
      assert.strictEqual(credit.config["prompt"], "told")
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  const readsAtMost = (limit: number, context?: number) =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const base = yield* reference
      const teacher = {
        ...base,
        ...(base.capabilities !== undefined && context !== undefined
          ? { capabilities: { ...base.capabilities, contextLength: context } }
          : {}),
        computeLogprobs: (sequence: ModelInput.ModelInput) => {
          asked.push(sequence.length)
          return Effect.succeed(new Float32Array(sequence.length).fill(-3))
        }
      }
      const prompt = { name: "told", of: () => Effect.succeed(ModelInput.fromTokens([7, 8, 9])) }
      const credit = Credit.distill({ teacher, prompt, estimator: Advantage.centered, maxContextLength: limit })
      const members = [[3, 4, 5, 6], [3]].map((tokens) => Option.some(Samples.trajectory(Samples.turn([1, 2], tokens))))
      const { groups: [group], metrics } = yield* credit.assign(
        [Samples.group([1, 0], { members })],
        null,
        Weights.absent
      )
      const advantages = group?.data.map(({ inputs }) => Array.from(inputs.advantages))
      return { advantages, asked, truncated: metrics["teacher_truncated"] }
    })

  it.effect("does not change the advantages of tokens beyond the teacher's context", () =>
    Effect.gen(function*() {
      // The sampler's log-probabilities are −1, the teacher's −3, and the advantages of rewards ±0.5.
      assert.deepStrictEqual(yield* readsAtMost(5), {
        asked: [5, 4],
        advantages: [[0, -1.5, -1.5, 0.5, 0.5], [0, -2.5]],
        truncated: 0.5
      })
      assert.deepStrictEqual(yield* readsAtMost(3), {
        asked: [],
        advantages: [[0, 0.5, 0.5, 0.5, 0.5], [0, -0.5]],
        truncated: 1
      })
      assert.deepStrictEqual(yield* readsAtMost(100, 5), yield* readsAtMost(5))
      assert.strictEqual((yield* readsAtMost(7)).truncated, 0)
      const error = yield* Effect.flip(readsAtMost(0))
      assert.strictEqual(error.message, "maxContextLength is 0, expected a whole number of at least 1")
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it.effect("refuses another prompt if an environment rewrites earlier turns", () =>
    Effect.gen(function*() {
      const rewritten = Samples.trajectory(Samples.turn([1, 2], [3]), Samples.turn([9, 2], [4]))
      const prompt = { name: "told", of: () => Effect.succeed(ModelInput.fromTokens([7])) }
      const credit = Credit.distill({ teacher: yield* reference, prompt })
      const result = Samples.group([1], { members: [Option.some(rewritten)] })
      const error = yield* Effect.flip(credit.assign([result], null, Weights.absent))
      assert.strictEqual(
        error.message,
        `prompt is turn 1 of "g", which does not begin with the first turn's prompt, expected left out for environments that rewrite what was read before`
      )
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))
})

describe("Credit.byTag", () => {
  const tagged = (...tags: ReadonlyArray<string>) => Samples.group([1, 0], { key: tags.join(), tags })
  const credit = Credit.byTag({
    code: Credit.groupRelative(Advantage.leaveOneOut),
    math: Credit.groupRelative(Advantage.centered)
  })

  it.effect("gives each group the credit of its first named tag, in the order of the groups", () =>
    Effect.gen(function*() {
      const results = [tagged("math"), tagged("hard", "code"), tagged("math", "code")]
      const assigned = yield* credit.assign(results, null, Weights.absent)
      assert.deepStrictEqual(advantages(assigned), [[0.5, -0.5], [1, -1], [0.5, -0.5]])
      assert.deepStrictEqual(assigned.groups.map(({ result }) => result), results)
      assert.deepStrictEqual(credit.config, {
        code: { name: "group_relative", estimator: "leave_one_out" },
        math: { name: "group_relative", estimator: "centered" }
      })
    }))

  it.effect("has a teacher for each tag, and reports the divergence of each", () =>
    Effect.gen(function*() {
      const teacher = (logprob: number) =>
        Effect.map(reference, (client) =>
          Credit.distill({
            teacher: {
              ...client,
              computeLogprobs: (prompt) => Effect.succeed(new Float32Array(prompt.length).fill(logprob))
            }
          }))
      const credit = Credit.byTag({ code: yield* teacher(-3), math: yield* teacher(-2) })
      const assigned = yield* credit.assign([tagged("math"), tagged("code")], null, Weights.absent)
      assert.deepStrictEqual(assigned.metrics, { "teacher_kl/code": 2, "teacher_kl/math": 1 })
    }).pipe(Effect.scoped, Effect.provide(Task.layer())))

  it("compares groups across the batch if one of its credits does", () => {
    const byGroup = Credit.groupRelative(Advantage.centered)
    const byBatch = Credit.batchRelative()
    const isByGroup = (...credits: ReadonlyArray<Credit.Credit>) => credits.map(({ isByGroup }) => isByGroup === true)
    assert.deepStrictEqual(isByGroup(byGroup, byBatch), [true, false])
    const overlong = Credit.overlong({ maxTokens: 8, buffer: 4 })
    assert.strictEqual(overlong(byGroup).isByGroup, true)
    assert.notProperty(overlong(byBatch), "isByGroup")
    assert.strictEqual(Credit.byTag({ code: byGroup, math: byGroup }).isByGroup, true)
    assert.notProperty(Credit.byTag({ code: byGroup, math: byBatch }), "isByGroup")
  })

  it.effect("returns the data that each credit replays", () =>
    Effect.gen(function*() {
      const once = Credit.groupRelative(Advantage.centered)
      const [group] = (yield* once.assign([tagged("math")], null, Weights.absent)).groups
      const replayed = group?.data ?? []
      assert.lengthOf(replayed, 2)
      const again: Credit.Credit = {
        ...once,
        assign: (results, memory, weights) =>
          Effect.map(once.assign(results, memory, weights), (assigned) =>
            results.length === 0 ? assigned : { ...assigned, replayed })
      }
      const replaying = Credit.byTag({ code: once, math: again })
      const both = yield* replaying.assign([tagged("math"), tagged("code")], null, Weights.absent)
      assert.deepStrictEqual(both.replayed, replayed)
      assert.notProperty(yield* replaying.assign([tagged("code")], null, Weights.absent), "replayed")
    }))

  it.effect("keeps the memory of each credit between batches", () =>
    Effect.gen(function*() {
      const remembering = Credit.byTag({
        code: Credit.roleRelative({ decay: 0.5, roleOf: () => "solver" }),
        math: Credit.roleRelative({ decay: 0, roleOf: () => "solver" })
      })
      const first = yield* remembering.assign([tagged("math"), tagged("code")], null, Weights.absent)
      assert.deepStrictEqual(first.memory, { code: { solver: 0.25 }, math: { solver: 0 } })
      const second = yield* remembering.assign([tagged("code")], first.memory, Weights.absent)
      assert.deepStrictEqual(advantages(second), [[0.75, -0.625]])
    }))

  it.effect("refuses a group without a named tag", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(credit.assign([tagged("law")], null, Weights.absent))
      assert.strictEqual(
        error.message,
        `tags of "law" is law, expected one of the tags code, math, for which there is a credit`
      )
    }))
})
