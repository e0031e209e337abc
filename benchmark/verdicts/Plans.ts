/** Runs in each of which something is planted. What a diagnosis has to say of a run is written here before the run is made. */
import { type ChatModel, ProblemEnv } from "@effect-rl/core"
import { MathEnv, Sums } from "@effect-rl/recipes"
import { Effect, Schema } from "effect"

/** What a diagnosis may call the run. */
export type Label = ReadonlyArray<string>

type Model = Pick<ChatModel.ChatModel, "renderer">

/** How an answer to a sum is graded while training; the held-out problems are graded rightly unless `isMeasuredSo`. */
export type Grader = (text: string, a: number, b: number) => boolean | Effect.Effect<boolean, JudgeDown>

/** The judge of a run that fails. */
export class JudgeDown extends Schema.TaggedError<JudgeDown>()("JudgeDown", { call: Schema.Int }) {
  override get message() {
    return `the judge does not answer call ${this.call}`
  }
}

export interface RlPlan {
  readonly program: "rl"
  readonly settings: object
  /** Right answers unless given. */
  readonly grader?: () => Grader
  /** Held-out answers are graded by the same grader. */
  readonly isMeasuredSo?: boolean
  /** Nothing is held out. */
  readonly isUnmeasured?: boolean
  /** The largest operand; 99 unless given. */
  readonly largest?: number
}

export interface RecipePlan {
  readonly program: "supervised" | "dpo"
  readonly settings: object
}

export interface Plan {
  readonly name: string
  readonly label: Label
  readonly run: RlPlan | RecipePlan
  /** The share of the records that are left of a run whose process was killed. */
  readonly left?: number
  /** The run is made in two parts: its first process ends after so many iterations. */
  readonly partedAfter?: number
}

const tiny = "effect-rl/tiny-64"
const small = "effect-rl/tiny-128"

/** The environment of a sum with a grader. */
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
    run: { program: "supervised", settings: { model: tiny, seed: 0, iterations: 16, evalEvery: 8 } }
  },
  {
    name: "supervised-flat",
    label: ["unchanged"],
    run: {
      program: "supervised",
      settings: { model: tiny, seed: 1, iterations: 16, evalEvery: 8, learningRate: 1e-12 }
    }
  },
  {
    name: "supervised-broken",
    label: ["collapsed"],
    run: { program: "supervised", settings: { model: tiny, seed: 2, iterations: 16, evalEvery: 8, learningRate: 0.5 } }
  },
  {
    name: "dpo-0",
    label: good,
    run: { program: "dpo", settings: { model: tiny, seed: 0, iterations: 24, evalEvery: 12, learningRate: 1e-3 } }
  },
  {
    name: "dpo-flat",
    label: ["unchanged"],
    run: { program: "dpo", settings: { model: tiny, seed: 1, iterations: 12, evalEvery: 6, learningRate: 1e-12 } }
  }
]

/** Plans that were first run after the diagnosis was done: other seeds, sizes and faults. */
export const heldOut: ReadonlyArray<Plan> = [
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
    run: { program: "supervised", settings: { model: small, seed: 10, iterations: 12, evalEvery: 6 } }
  },
  {
    name: "held-dpo",
    label: good,
    run: { program: "dpo", settings: { model: tiny, seed: 10, iterations: 24, evalEvery: 12, learningRate: 1e-3 } }
  }
]
