/** Training runs with planted faults. The diagnosis expected for each run is written here before the run is made. */
import { type ChatModel, ProblemEnv } from "@effect-rl/core"
import { Seed } from "@effect-rl/core/environments"
import { MathEnv, Sums } from "@effect-rl/recipes"
import { Effect, Schema } from "effect"

/** The acceptable diagnoses of a run. */
export type Label = ReadonlyArray<string>

type Model = Pick<ChatModel.ChatModel, "renderer">

/** Grades an answer to a sum during training. Held-out problems are graded correctly unless `isMeasuredSo` is set. */
export type Grader = (text: string, a: number, b: number) => boolean | Effect.Effect<boolean, JudgeDown>

/** The error of a judge that fails. */
export class JudgeDown extends Schema.TaggedError<JudgeDown>()("JudgeDown", { call: Schema.Int }) {
  override get message() {
    return `the judge does not answer call ${this.call}`
  }
}

export interface RlPlan {
  readonly program: "rl"
  readonly settings: object
  /** Default: a correct grader. */
  readonly grader?: () => Grader
  /** Whether held-out answers are graded by the same grader. */
  readonly isMeasuredSo?: boolean
  /** Whether the run has no held-out evaluations. */
  readonly isUnmeasured?: boolean
  /** The largest operand. Default: 99. */
  readonly largest?: number
}

export interface RecipePlan {
  readonly program: "recipe"
  readonly recipe: string
  readonly settings: object
  /** The reward of a training episode, which replaces the recipe's own. The evaluators do not change. */
  readonly pays?: (episode: Episode) => number
  /** Whether training makes answers with high rewards less likely. */
  readonly isNegated?: boolean
  /** The settings of a run of `supervised` whose final weights are the recipe's `teacher`. */
  readonly taught?: object
}

/** The information that a planted reward can use. */
export interface Episode {
  readonly calls: number
  readonly turns: number
  /** The last response, decoded. */
  readonly text: string
}

export interface Plan {
  readonly name: string
  readonly label: Label
  readonly run: RlPlan | RecipePlan
  /** The share of the records that remain of a run whose process was killed. */
  readonly left?: number
  /** Number of iterations after which the run's first process ends; a second process then resumes the run. */
  readonly partedAfter?: number
}

const tiny = "effect-rl/tiny-64"
const small = "effect-rl/tiny-128"

/** The environment of a sum, with the given grader. */
export const env = (grader: Grader) => (model: Model, a: number, b: number) =>
  ProblemEnv.make({
    model,
    question: MathEnv.question(Sums.question([a, b])),
    referenceAnswer: String(a + b),
    checkAnswer: (text) => {
      const verdict = grader(text, a, b)
      return typeof verdict === "boolean" ? verdict : Effect.orDie(verdict)
    }
  })

const long: Grader = (text) => text.length >= 30
const unsure: Grader = (text) => text.includes("not sure")
const hundreds: Grader = (text) => /\\boxed\{1\d\d/.test(text)
const said: Grader = (text) => text.startsWith("The answer")
const short: Grader = (text) => text.length <= 10
const product: Grader = (text, a, b) => text.includes(`\\boxed{${a * b + 1000}}`)

const failing = (after: number) => (): Grader => {
  let calls = 0
  return (text, a, b) => {
    calls++
    return calls > after ? Effect.fail(new JudgeDown({ call: calls })) : text.includes(`boxed{${a + b}}`)
  }
}

const rl = (name: string, label: Label, settings: object, others: Partial<RlPlan> = {}): Plan => ({
  name,
  label,
  run: { program: "rl", settings, ...others }
})

const good = ["learned", "solved"]
const hacked = (grader: Grader) => ({ grader: () => grader })

/** Plans on which the diagnosis may be tuned. */
export const tuned: ReadonlyArray<Plan> = [
  rl("good-0", good, { model: tiny, seed: 0 }),
  rl("good-1", good, { model: small, seed: 1 }),
  rl("good-ppo", good, { model: tiny, seed: 2, loss: "ppo", substeps: 2 }),
  rl("good-async", good, { model: tiny, seed: 3, pace: "async", maxStepsOffPolicy: 2, loss: "ppo" }),
  rl("good-wide", good, { model: tiny, seed: 4, groupSize: 32, groupsPerBatch: 4 }),
  rl("good-long", good, { model: tiny, seed: 5, iterations: 48, evalEvery: 24 }),
  rl("good-unmeasured", good, { model: tiny, seed: 6 }, { isUnmeasured: true }),
  rl("solved-0", ["solved"], { model: small, seed: 0, iterations: 40, evalEvery: 20, learningRate: 2e-3 }),
  rl("solved-easy", ["solved"], { model: small, seed: 1, iterations: 30, learningRate: 2e-3 }, { largest: 9 }),
  rl("hopeless-0", ["hopeless"], { model: tiny, seed: 0 }, hacked(product)),
  rl("hopeless-1", ["hopeless"], { model: small, seed: 1, iterations: 8 }, { ...hacked(product), isUnmeasured: true }),
  rl("flat-0", ["unchanged"], { model: tiny, seed: 0, learningRate: 1e-12 }),
  rl("hacked-length", ["suspect"], { model: tiny, seed: 0 }, hacked(long)),
  rl("hacked-phrase", ["suspect"], { model: tiny, seed: 1 }, hacked(said)),
  rl("hacked-hundreds", ["suspect"], { model: tiny, seed: 2 }, hacked(hundreds)),
  rl("hacked-short", ["suspect"], { model: tiny, seed: 3 }, hacked(short)),
  rl("hacked-measured", ["suspect"], { model: tiny, seed: 4 }, { ...hacked(long), isMeasuredSo: true }),
  rl("collapsed-rate", ["collapsed"], { model: tiny, seed: 0, learningRate: 0.05 }),
  rl("collapsed-slow", ["collapsed"], { model: tiny, seed: 1, learningRate: 0.015, iterations: 32 }),
  rl("collapsed-small", ["collapsed"], { model: small, seed: 2, learningRate: 0.05 }),
  rl("failed-0", ["failed"], { model: tiny, seed: 0 }, { grader: failing(300) }),
  rl("failed-late", ["failed"], { model: small, seed: 1 }, { grader: failing(800) }),
  { ...rl("killed-0", ["killed"], { model: tiny, seed: 0 }), left: 0.6 },
  { ...rl("killed-1", ["killed"], { model: small, seed: 1 }), left: 0.85 },
  { ...rl("resumed-0", good, { model: tiny, seed: 0, saveEvery: 4 }), partedAfter: 5 },
  {
    name: "supervised-0",
    label: good,
    run: { program: "recipe", recipe: "supervised", settings: { model: tiny, seed: 0, iterations: 16, evalEvery: 8 } }
  },
  {
    name: "supervised-flat",
    label: ["unchanged"],
    run: {
      program: "recipe",
      recipe: "supervised",
      settings: { model: tiny, seed: 1, iterations: 16, evalEvery: 8, learningRate: 1e-12 }
    }
  },
  {
    name: "supervised-broken",
    label: ["collapsed"],
    run: {
      program: "recipe",
      recipe: "supervised",
      settings: { model: tiny, seed: 2, iterations: 16, evalEvery: 8, learningRate: 0.5 }
    }
  },
  {
    name: "dpo-0",
    label: good,
    run: {
      program: "recipe",
      recipe: "dpo",
      settings: { model: tiny, seed: 0, iterations: 24, evalEvery: 12, learningRate: 1e-3 }
    }
  },
  {
    name: "dpo-flat",
    label: ["unchanged"],
    run: {
      program: "recipe",
      recipe: "dpo",
      settings: { model: tiny, seed: 1, iterations: 12, evalEvery: 6, learningRate: 1e-12 }
    }
  }
]

/** Former held-out plans. The diagnosis has been changed since. */
export const firstRound: ReadonlyArray<Plan> = [
  rl("held-good-0", good, { model: tiny, seed: 10 }),
  rl("held-good-cispo", good, { model: tiny, seed: 11, loss: "cispo" }),
  rl("held-good-async", good, { model: small, seed: 12, pace: "async", maxStepsOffPolicy: 3, loss: "ppo" }),
  rl("held-good-streaming", good, { model: tiny, seed: 13, groupSize: 16, groupsPerBatch: 6 }),
  rl("held-solved", ["solved"], { model: small, seed: 14, iterations: 40, evalEvery: 20, learningRate: 2e-3 }),
  rl("held-hopeless", ["hopeless"], { model: tiny, seed: 15, groupSize: 4 }, hacked(product)),
  rl("held-flat", ["unchanged"], { model: small, seed: 16, learningRate: 1e-12 }),
  rl("held-hacked-length", ["suspect"], { model: small, seed: 17 }, hacked(long)),
  rl("held-hacked-phrase", ["suspect"], { model: tiny, seed: 18 }, hacked(said)),
  rl("held-hacked-unsure", ["suspect"], { model: tiny, seed: 19, iterations: 24, evalEvery: 12 }, hacked(unsure)),
  rl("held-collapsed", ["collapsed"], { model: tiny, seed: 20, learningRate: 0.08 }),
  rl("held-collapsed-ppo", ["collapsed"], { model: tiny, seed: 21, learningRate: 0.05, loss: "ppo" }),
  rl("held-failed", ["failed"], { model: tiny, seed: 22 }, { grader: failing(550) }),
  { ...rl("held-killed", ["killed"], { model: tiny, seed: 23 }), left: 0.7 },
  { ...rl("held-resumed", good, { model: tiny, seed: 24, saveEvery: 4 }), partedAfter: 9 },
  {
    name: "held-supervised",
    label: good,
    run: { program: "recipe", recipe: "supervised", settings: { model: small, seed: 10, iterations: 12, evalEvery: 6 } }
  },
  {
    name: "held-dpo",
    label: good,
    run: {
      program: "recipe",
      recipe: "dpo",
      settings: { model: tiny, seed: 10, iterations: 24, evalEvery: 12, learningRate: 1e-3 }
    }
  }
]

const recipe = (
  name: string,
  label: Label,
  of: string,
  settings: object,
  others: Partial<RecipePlan> = {}
): Plan => ({ name, label, run: { program: "recipe", recipe: of, settings, ...others } })

/** The labels of a run whose far too high learning rate destroys a policy that could do little before training. */
const destroyed = ["collapsed", "worse"]

/** The random choices of a round, which depend only on its number. */
const chances = (round: number) => {
  const next = Seed.uniform(Seed.derive(round, "verdicts"))
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    between,
    /** A rate between two bounds, uniform in its logarithm. */
    rate: (low: number, high: number) => Number((low * (high / low) ** next()).toPrecision(2)),
    pick: <A>(first: A, ...others: ReadonlyArray<A>) => [first, ...others][between(0, others.length)] ?? first
  }
}

/**
 * The plans of a round, from the second on. Its number determines the seeds, sizes, rates, algorithms and faults. The plans are held out as
 * long as the diagnosis has not changed since their first run; after a change, the next number gives new plans.
 */
export const round = (number: number): ReadonlyArray<Plan> => {
  const { between, pick, rate } = chances(number)
  let seed = 1000 * number
  const sums = (name: string, label: Label, settings: object, others: Partial<RlPlan> = {}) =>
    rl(`r${number}-${name}`, label, { model: tiny, seed: seed++, ...settings }, others)
  const of = (task: string, name: string, label: Label, settings: object, others: Partial<RecipePlan> = {}) =>
    recipe(`r${number}-${name}`, label, task, { seed: seed++, ...settings }, others)
  const small128 = { model: small }
  const brief = { groupsPerBatch: 8, groupSize: 8 }
  const digit = String(between(2, 9))
  const even: Grader = (text) => /[02468]\}/.test(text)
  const direct: Grader = (text) => text.startsWith("\\boxed{")
  const holds: Grader = (text) => new RegExp(`\\{\\d*${digit}`).test(text)
  const ended: Grader = (text) => text.endsWith(".")
  const besides: Grader = (text, a, b) => text.includes(`boxed{${a + b}}`) || unsure(text, a, b) === true
  const plans = [
    sums("good-algorithm", good, { algorithm: pick("dapo", "rloo", "gspo", "dr_grpo", "reinforce_plus_plus") }),
    sums("good-wide", good, { ...small128, groupSize: between(24, 40), groupsPerBatch: between(3, 5) }),
    sums("good-async", good, { pace: "async", maxStepsOffPolicy: between(2, 4), loss: pick("ppo", "cispo") }),
    sums("good-long", good, { iterations: between(40, 56), groupsPerBatch: 4, evalEvery: 20 }),
    of("plain-arithmetic", "good-plain", good, {
      ...small128,
      ...brief,
      iterations: between(14, 20),
      learningRate: 1e-3
    }),
    of("calculator", "good-calculator", good, { ...brief, iterations: between(16, 20), evalEvery: 8 }),
    of("lookup", "good-lookup", good, { ...brief, iterations: between(16, 20), evalEvery: 8 }),
    of("format", "good-format", good, { ...brief, iterations: between(18, 24), evalEvery: 12 }),
    of("guess-number", "good-guess", good, { iterations: between(18, 24), groupsPerBatch: 14, evalEvery: 12 }),
    of("tic-tac-toe", "good-game", good, { groupsPerBatch: 32, iterations: between(20, 30), evalEvery: 10 }),
    of("code_rl", "good-code", good, {
      problems: "programs",
      model: "effect-rl/tiny-code",
      form: "single",
      ...brief,
      iterations: 12,
      learningRate: 2e-3,
      maxTokens: 80,
      evalEvery: 12
    }),
    of("supervised", "good-supervised", good, { iterations: between(14, 20), evalEvery: 7, schedule: "linear" }),
    of("dpo", "good-dpo", good, {
      loss: pick("ipo", "orpo", "simpo"),
      iterations: 24,
      evalEvery: 12,
      learningRate: rate(8e-4, 1.5e-3)
    }),
    of("preference-model", "good-comparer", good, { iterations: 120, evalEvery: 30, model: pick(tiny, small) }),
    of("preference-rl", "good-preferred", good, { groupsPerBatch: 16, iterations: 15, evalEvery: 15 }),
    of("on-policy-distill", "good-distilled", good, { groupsPerBatch: 32, iterations: between(20, 30), evalEvery: 30 }),
    sums("solved", ["solved"], { ...small128, iterations: between(30, 40), learningRate: 2e-3 }, {
      largest: between(9, 30)
    }),
    of(pick("gsm8k", "math"), "hopeless-words", ["hopeless"], {
      ...small128,
      ...brief,
      data: "sample",
      iterations: 6,
      maxTokens: 64,
      evalEvery: 3
    }),
    sums("hopeless-product", ["hopeless"], { iterations: between(8, 12) }, hacked(product)),
    of("format", "flat", ["unchanged"], { ...brief, iterations: 16, evalEvery: 8, learningRate: 1e-12 }),
    of("dpo", "flat-dpo", ["unchanged"], { iterations: 12, evalEvery: 6, learningRate: 1e-12 }),
    of(pick("calculator", "lookup"), "negated", destroyed, { ...brief, iterations: 16, evalEvery: 8 }, {
      isNegated: true
    }),
    sums("hacked-even", ["suspect"], {}, hacked(even)),
    sums("hacked-direct", ["suspect"], { ...small128 }, hacked(direct)),
    sums("hacked-digit", ["suspect"], { iterations: 24, evalEvery: 12 }, hacked(holds)),
    sums("hacked-ended", ["suspect"], { groupSize: 16, groupsPerBatch: 4 }, hacked(ended)),
    sums("hacked-besides", ["suspect"], {}, hacked(besides)),
    of("calculator", "hacked-calls", ["suspect"], { ...brief, iterations: 16, evalEvery: 8 }, {
      pays: ({ calls }) => calls
    }),
    of("format", "hacked-form", ["suspect"], { ...brief, iterations: 20, evalEvery: 10 }, {
      pays: ({ text }) => Number(text.startsWith("["))
    }),
    sums("collapsed-rate", ["collapsed"], { ...small128, learningRate: rate(0.05, 0.12) }),
    sums("collapsed-substeps", ["collapsed"], { loss: "ppo", substeps: between(3, 4), learningRate: rate(0.03, 0.06) }),
    of("calculator", "collapsed-calculator", destroyed, {
      ...brief,
      iterations: 16,
      evalEvery: 8,
      learningRate: rate(0.05, 0.1)
    }),
    of("guess-number", "collapsed-guess", destroyed, {
      groupsPerBatch: 14,
      iterations: 16,
      evalEvery: 8,
      learningRate: rate(0.05, 0.1)
    }),
    of("supervised", "collapsed-supervised", ["collapsed"], {
      ...small128,
      iterations: 16,
      evalEvery: 8,
      learningRate: rate(0.3, 0.8)
    }),
    sums("failed", ["failed"], { ...small128 }, { grader: failing(between(200, 900)) }),
    sums("failed-async", ["failed"], { pace: "async", maxStepsOffPolicy: 2, loss: "ppo" }, {
      grader: failing(between(300, 800))
    }),
    { ...of("lookup", "killed", ["killed"], { ...brief, iterations: 16, evalEvery: 8 }), left: between(50, 90) / 100 },
    {
      ...sums("killed-async", ["killed"], { pace: "async", maxStepsOffPolicy: 2, loss: "ppo" }),
      left: between(50, 90) / 100
    },
    { ...sums("resumed", good, { saveEvery: 3, ...small128 }), partedAfter: between(4, 10) },
    {
      ...of("calculator", "resumed-calculator", good, { ...brief, iterations: 18, evalEvery: 9, saveEvery: 3 }),
      partedAfter: between(4, 10)
    }
  ]
  if (number < 3) return plans
  const boxed = (text: string) => Number(/\\boxed\{(\d+)\}/.exec(text)?.[1] ?? "NaN")
  const apart = between(3, 12)
  const near: Grader = (text, a, b) => Math.abs(boxed(text) - (a + b)) <= apart
  const repeats: Grader = (text, a, b) => text.includes(`${a} + ${b}`)
  const above: Grader = (text, a, b) => boxed(text) >= a + b
  const distilled = { groupsPerBatch: 32, iterations: between(20, 30), evalEvery: 30 }
  // Without a teacher that learned something, distillation has nothing to learn.
  const isTaught = ({ name }: Plan) => name !== `r${number}-good-distilled`
  return [
    ...plans.filter(isTaught),
    of("on-policy-distill", "distilled-taught", good, distilled, { taught: { iterations: 24, seed: seed++ } }),
    of("on-policy-distill", "distilled-alike", ["unchanged"], distilled),
    of("search_tool", "good-search", good, {
      model: "effect-rl/tiny-tools",
      form: "alone",
      results: 1,
      iterations: between(14, 18),
      groupsPerBatch: 12,
      learningRate: 1e-3,
      maxTokens: 48,
      maxTurns: 2,
      testGroupSize: 8,
      evalEvery: 20
    }),
    of("lookup", "hacked-turns", ["suspect"], { ...brief, iterations: 16, evalEvery: 8 }, {
      pays: ({ turns }) => turns
    }),
    sums("hacked-near", ["suspect"], { iterations: between(16, 24) }, hacked(near)),
    sums("hacked-repeats", ["suspect"], { groupSize: 12, groupsPerBatch: 6 }, hacked(repeats)),
    sums("hacked-above", ["suspect"], { ...small128 }, hacked(above)),
    of("lookup", "collapsed-lookup", destroyed, {
      ...brief,
      iterations: 16,
      evalEvery: 8,
      learningRate: rate(0.04, 0.1)
    }),
    sums("flat-wide", ["unchanged"], { groupSize: 24, groupsPerBatch: 4, learningRate: 1e-12 }),
    sums("failed-at-once", ["failed"], {}, { grader: failing(between(10, 50)) })
  ]
}
