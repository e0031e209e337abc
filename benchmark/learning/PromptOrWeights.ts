/**
 * Compares ways to spend the same number of sampled episodes on sums that tiny-64 answers: on the instruction, on the weights, or on one
 * after the other. The reflector exchanges parts of a sentence at random: the comparison is about the search, not about its ideas.
 * Measures the seeds that `benchmark/results/curves/prompt-or-weights.json` lacks.
 */
import {
  Algorithm,
  ChatModel,
  Compare,
  Credit,
  Evaluator,
  Message,
  type MessagePolicy,
  ProblemEnv,
  ProblemGroupBuilder,
  Rl,
  RLDataset,
  RunRecord,
  RunStore,
  Tinker
} from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { Prompts } from "@effect-rl/core/program"
import { Sums } from "@effect-rl/recipes"
import { Effect, Stream } from "effect"
import * as OnEngine from "../OnEngine.ts"
import * as Report from "../Report.ts"
import * as Figure from "./Figure.ts"
import * as Kept from "./Kept.ts"

const name = "prompt-or-weights"
const modelName = "effect-rl/tiny-64"

/** The episodes that a run may sample for training, validation included and held-out evaluations excluded. */
const budget = 2048

/** An instruction has one of each. The model was pretrained with the first of each, and follows no other instruction as well. */
const parts = [
  ["Write", "Give", "Put", "Say"],
  ["your answer", "the answer", "your sum", "the number"],
  ["in \\boxed{} format.", "in \\boxed{}.", "in a box.", "in words."]
]

/** The instruction to begin with. */
const initial = "Write your sum in \\boxed{} format."

/** Exchanges one part of the present instruction for another. It reads no episode. */
const reflector = (seed: number): MessagePolicy.MessagePolicy => ({
  respond: ({ key, messages }) =>
    Effect.sync(() => {
      const [, present = ""] = /<present_instruction>\n([^]*)\n<\/present_instruction>/.exec(
        Message.text(messages[0] ?? { content: "" })
      ) ?? []
      const pick = (count: number, of: string) => Seed.derive(seed, key, of) % count
      const exchanged = pick(parts.length, "part")
      const instruction = parts.map((choices, part) => {
        const others = choices.filter((choice) => present.includes(choice) !== (part === exchanged))
        return others[pick(others.length, "choice")] ?? ""
      })
      return Message.assistant(`<instruction>${instruction.join(" ")}</instruction>`)
    })
})

/** The instruction comes after the question, where the model's training had it. */
const question = (pair: Sums.Pair, instruction: string) => `${Sums.question(pair)} ${instruction}`

/** Attempts at a sum. The last number of an answer counts. */
const group = (model: ChatModel.ChatModel, instruction: string, size: number) => (pair: Sums.Pair) =>
  ProblemGroupBuilder.make({
    key: pair.join("+"),
    size,
    env: () =>
      ProblemEnv.make({
        model,
        question: question(pair, instruction),
        referenceAnswer: String(pair[0] + pair[1]),
        checkAnswer: (text) => Number(text.match(/\d+/g)?.at(-1) ?? NaN) === pair[0] + pair[1]
      })
  })

const order = Seed.permutation(Sums.trainingPairs.length, 0)
const drawn = (from: number, to: number) =>
  Array.from(order.slice(from, to), (index): Sums.Pair => Sums.trainingPairs[index] ?? [0, 0])
const [training, validating] = [drawn(0, 512), drawn(512, 576)]
const heldOut = Sums.heldOutPairs.slice(0, 128)
const maxTokens = 32

interface Parts {
  readonly groupSize: number
  readonly groupsPerBatch: number
}

const dataset = (model: ChatModel.ChatModel, instruction: string, { groupSize, groupsPerBatch }: Parts) =>
  RLDataset.fromArray(training, {
    groupsPerBatch,
    epochs: 8,
    shuffle: true,
    group: group(model, instruction, groupSize)
  })

const evaluator = (model: ChatModel.ChatModel, instruction: string) =>
  Evaluator.testSet({ name: "held_out", groups: heldOut.map(group(model, instruction, 2)), maxTokens })

type Records = ReadonlyArray<RunRecord.RunRecord>

interface Settings {
  readonly seed: number
  /** The episodes that the run may sample. */
  readonly episodes: number
  /** Iterations between held-out evaluations. */
  readonly evalEvery: number
}

/** Optimises the instruction, with minibatches of 16 episodes and 64 validation problems. */
const instructed = Effect.fnUntraced(function*({ episodes, evalEvery, seed }: Settings) {
  const model = yield* ChatModel.resolve(modelName)
  return yield* Stream.runCollect(Prompts.run({
    model,
    instruction: initial,
    dataset: (instruction) => dataset(model, instruction, { groupSize: 1, groupsPerBatch: 16 }),
    validation: (instruction) => validating.map(group(model, instruction, 1)),
    reflector: reflector(seed),
    maxRollouts: episodes,
    sampling: { maxTokens },
    evaluators: (instruction) => [evaluator(model, instruction)],
    run: { seed, evalEvery, saveEvery: 0 }
  }))
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

const groups = { groupSize: 8, groupsPerBatch: 8 }
const perIteration = groups.groupSize * groups.groupsPerBatch

/** The options of a run that trains the weights with a fixed instruction. */
const optionsOf = (model: ChatModel.ChatModel, instruction: string, { episodes, evalEvery, seed }: Settings) => ({
  model,
  dataset: dataset(model, instruction, groups),
  sampling: { maxTokens },
  run: {
    seed,
    iterations: episodes / perIteration,
    evalEvery,
    saveEvery: 0,
    evaluators: [evaluator(model, instruction)]
  }
})

/** Trains the weights with GRPO. */
const trained = Effect.fnUntraced(function*(settings: Settings, instruction: string) {
  const model = yield* ChatModel.resolve(modelName)
  return yield* Stream.runCollect(Rl.run({
    ...optionsOf(model, instruction, settings),
    algorithm: Algorithm.grpo(),
    update: { learningRate: 1e-3 }
  }))
}, Effect.provide(RunStore.RunStore.layerMemory, { local: true }))

/** Trains the weights to answer the initial instruction as the untrained model answers another one. */
const distilled = Effect.fnUntraced(
  function*(settings: Settings, instruction: string) {
    const model = yield* ChatModel.resolve(modelName)
    const teacher = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: modelName }))
    const prompt = {
      name: instruction,
      of: ({ key }: { readonly key: string }) => {
        const [a = NaN, b = NaN] = key.split("+").map(Number)
        return model.renderer.generationPrompt([Message.user(question([a, b], instruction))])
      }
    }
    return yield* Stream.runCollect(Rl.run({
      ...optionsOf(model, initial, settings),
      update: { learningRate: 1e-3, credit: Credit.distill({ teacher, prompt }) }
    }))
  },
  Effect.scoped,
  Effect.provide(RunStore.RunStore.layerMemory, { local: true })
)

interface Point {
  readonly episodes: number
  readonly value: number
}

/** The share of correct held-out answers by the episodes sampled before, `begun` of which by an earlier run. */
const points = (records: Records, begun = 0): ReadonlyArray<Point> => {
  const updates = records.filter(RunRecord.guards.Updated)
  const sampledBefore = (iteration: number) =>
    iteration === 0 ? 0 : updates[iteration - 1]?.metrics["prompts/rollouts"] ?? iteration * perIteration
  return records.filter(RunRecord.guards.Evaluated).map(({ iteration, score }) => ({
    episodes: begun + sampledBefore(iteration),
    value: score?.value ?? NaN
  }))
}

/** The newest value at each hundred of sampled episodes. */
const curve = (measured: ReadonlyArray<Point>) =>
  Array.from(
    { length: Math.floor(budget / 100) + 1 },
    (_, index) => measured.findLast(({ episodes }) => episodes <= 100 * index)?.value ?? NaN
  )

/** The newest held-out scores of a run, by problem. */
const scoresOf = (records: Records) => Compare.heldOut(records)[0]?.scores ?? new Map<string, ReadonlyArray<number>>()

const outcomeOf = (records: Records, measured: ReadonlyArray<Point>): Kept.Outcome => {
  const value = measured.at(-1)?.value ?? NaN
  return {
    curve: curve(measured),
    before: { value: measured.at(0)?.value ?? NaN, trials: 2 * heldOut.length },
    after: { value, trials: 2 * heldOut.length },
    scores: [...scoresOf(records)].toSorted(([left], [right]) => left < right ? -1 : 1).map(([, scores]) =>
      Report.mean(scores)
    ),
    besides: {}
  }
}

const bestOf = (records: Records) => Prompts.best(records)?.instruction ?? initial

const alone = Effect.fnUntraced(function*(seed: number) {
  const records = yield* instructed({ seed, episodes: budget, evalEvery: 4 })
  Report.progress(`instruction, seed ${seed}: ${bestOf(records)}`)
  return outcomeOf(records, points(records))
})

const weights = Effect.fnUntraced(function*(seed: number) {
  const records = yield* trained({ seed, episodes: budget, evalEvery: 2 }, initial)
  return outcomeOf(records, points(records))
})

/** Spends half of the episodes on the instruction, and the others on the weights. */
const after = <E, R>(train: (settings: Settings, instruction: string) => Effect.Effect<Records, E, R>) =>
  Effect.fnUntraced(function*(seed: number) {
    const first = yield* instructed({ seed, episodes: budget / 2, evalEvery: 4 })
    const records = yield* train({ seed, episodes: budget / 2, evalEvery: 2 }, bestOf(first))
    return outcomeOf(records, [...points(first), ...points(records, budget / 2)])
  })

const ways = {
  instruction: alone,
  weights,
  "instruction, then weights": after(trained),
  "instruction, then distillation": after(distilled)
}

/** Two sides of three seeds each that differ in their seeds alone, compared by the same rule as different ways. */
const pairOf = Effect.fnUntraced(function*(pair: number) {
  const runs = yield* Effect.forEach(
    [0, 1, 2, 3, 4, 5],
    (index) => instructed({ seed: 1000 + 6 * pair + index, episodes: 512, evalEvery: 1000 })
  )
  const scores = runs.map(scoresOf)
  const { difference, high, leftMean, low } = Compare.paired(scores.slice(0, 3), scores.slice(3))
  const outcome: Kept.Outcome = {
    curve: [],
    after: { value: difference, interval: [low, high] },
    besides: { leftMean }
  }
  return outcome
})

const [compared, equal] = ["ways", "A/A"]

/** A kept outcome's scores, by problem. */
const kept = ({ scores = [] }: Kept.Outcome): Compare.Scores =>
  new Map(scores.map((score, problem) => [String(problem), [score]]))

const program = Effect.gen(function*() {
  yield* Kept.measure({ name, seeds: [0, 1, 2], rows: [{ title: compared, kinds: ways }] })
  const pairs = Array.from({ length: 20 }, (_, pair) => pair)
  yield* Kept.measure({ name, seeds: pairs, rows: [{ title: equal, kinds: { pairs: pairOf } }] })
  const { machine, rows } = yield* Kept.read(name)
  const outcomesOf = (way: string) => rows[compared]?.[way] ?? []
  const difference = (left: string, right: string) => {
    const { difference, high, low } = Compare.paired(outcomesOf(left).map(kept), outcomesOf(right).map(kept))
    return [left, right, Report.interval({ value: difference, low, high })]
  }
  const intervals = (rows[equal]?.["pairs"] ?? []).map(({ after: { interval: [low, high] = [NaN, NaN] } }) => ({
    low,
    high
  }))
  yield* Figure.save(
    name,
    {
      title: "Right answers of tiny-64 to held-out sums, by hundreds of sampled episodes",
      value: "the weights are trained",
      control: "only the instruction is optimised"
    },
    Object.keys(ways).slice(1).map((title) => ({
      title,
      measured: outcomesOf(title),
      control: outcomesOf("instruction")
    }))
  )
  Report.write(name, "Prompt or weights?", [
    `Measured ${machine}; \`npm run bench:prompts\`.`,
    `tiny-64 answers sums. Each run may sample ${budget} episodes, from the instruction \`${initial}\`, evaluations on ${heldOut.length} held-out sums (two
answers each) not counted. \`Prompts.run\` optimises the instruction with minibatches of 16 episodes and 64 validation problems. GRPO trains the
weights with 8 groups of 8 episodes per iteration and a learning rate of 1e-3. Two more ways spend half of the episodes on the instruction.
With the other half, one trains the weights by GRPO with the best instruction that was found. The other distils this instruction into the
weights: the student is asked with the initial one, and its teacher is the untrained model, asked with the best one. Each way is measured
with the instruction that it ends with, the last with the initial one.`,
    `The reflector exchanges one of three parts of the sentence at random and reads no episode, because no model of this size can. ${
      parts.reduce((count, { length }) => count * length, 1)
    }
sentences are possible; tiny-64 was pretrained with one of them, \`${
      parts.map(([first = ""]) => first).join(" ")
    }\`, and understands no instruction. So this page compares
ways to spend episodes. It says nothing about how well a capable reflector writes.`,
    `![Right answers by sampled episodes](../../docs/images/curves/${name}.svg)`,
    Report.table(
      ["way", "right answers after it [95 %]", "of each seed"],
      Object.keys(ways).map((way) => [
        way,
        Report.interval(Kept.shareAfter(outcomesOf(way))),
        outcomesOf(way).map(({ after }) => after.value.toFixed(3)).join(", ")
      ])
    ),
    `Half of the episodes are ${
      budget / 2 / perIteration
    } iterations of training. With them GRPO comes far from the better start, and distillation does not; whether it would with
more of them was not measured. Intervals of shares are Wilson's for the answers of one seed, because all seeds are asked the same problems.
The initial instruction and the reflector's parts were chosen after the held-out shares of about 40 sentences had been seen.`,
    "Differences, right minus left, with 95 % intervals over seeds and problems (`Compare.paired`, as `effect-rl compare`):",
    Report.table(["left", "right", "difference [95 %]"], [
      difference("instruction", "weights"),
      difference("instruction", "instruction, then weights"),
      difference("instruction", "instruction, then distillation"),
      difference("weights", "instruction, then weights"),
      difference("weights", "instruction, then distillation")
    ]),
    `A/A: ${intervals.length} pairs of sides of three \`Prompts.run\` each, which differ in their seeds alone, with 512 episodes per run. ${
      intervals.filter(({ high, low }) => low <= 0 && high >= 0).length
    } of the ${intervals.length} intervals contain 0.
The evaluator draws alike for all seeds, so a pair whose runs all found the same sentence has a difference of 0 without an interval.`,
    Report.aim(
      "Pairs in which one side is called better",
      intervals.filter(({ high, low }) => low > 0 || high < 0).length,
      "",
      "at most",
      2
    )
  ])
})

OnEngine.runMain(program)
