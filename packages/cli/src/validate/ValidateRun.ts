/** One `validate` command: answers every problem of a recipe with its reference answer and with an empty answer. */
import { ChatModel, type EnvGroupBuilder, Evaluator, Tinker } from "@effect-rl/core"
import { Weights } from "@effect-rl/core/backend"
import { Trajectory } from "@effect-rl/core/environments"
import { GroupResult } from "@effect-rl/core/program"
import type { Recipe } from "@effect-rl/recipes"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Output } from "../terminal/Output.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as AnswerKey from "../train/AnswerKey.ts"
import * as MockBackend from "../train/MockBackend.ts"

/** Some problems are not solved by their reference answer, or are solved by an empty answer. */
export class InvalidProblems extends Schema.TaggedError<InvalidProblems>()("InvalidProblems", {
  recipe: Schema.String,
  invalid: Schema.Int,
  problems: Schema.Int
}) {
  override get message() {
    return `${this.recipe}: ${this.invalid} of ${this.problems} problems do not distinguish a right answer from an empty one`
  }
}

/** None of the problems has a reference answer, so nothing shows that a right answer is rewarded. */
export class NoReferences extends Schema.TaggedError<NoReferences>()("NoReferences", {
  recipe: Schema.String,
  problems: Schema.Int
}) {
  override get message() {
    return `${this.recipe}: none of ${this.problems} problems has a reference answer, so no right answer was checked; ` +
      "the task's answerTo gives the answer to a prompt"
  }
}

/** A problem with the result of its answer. */
interface Answered {
  readonly evaluation: string
  readonly problem: number
  readonly correct: boolean
  readonly reward: number
  readonly detail: string
  /** Whether the recipe knows an answer to the problem. */
  readonly hasReference: boolean
}

/** Which answer is given: the reference, or an empty answer. */
type Given = "reference" | "empty"

/** Maximum number of reported problems per evaluation. */
const most = 20

/** Maximum number of concurrent problems, so waiting for a grader does not exhaust the grader's time limit. */
const concurrency = 16

/** An evaluator of the training problems, each included once. There are none if the recipe's problems are only for evaluation. */
const training = Effect.fnUntraced(
  function*<E, R>({ dataset, evaluationOnly, maxTokens }: Recipe.Task<E, R>, seed: number, limit: number) {
    if (evaluationOnly === true) return []
    const groups = new Map<string, EnvGroupBuilder.EnvGroupBuilder<E, R>>()
    for (let index = 0; index < dataset.length && groups.size < limit; index++) {
      const batch = (yield* dataset.batch(index, seed)).filter(({ coupled }) => coupled !== true)
      const fresh = batch.filter(({ key }) => !groups.has(key))
      if (fresh.length === 0) break
      for (const group of fresh) groups.set(group.key, { ...group, size: 1 })
    }
    const chosen = [...groups.values()].slice(0, limit)
    return [Evaluator.testSet({ name: "training", groups: chosen, maxTokens, concurrency })]
  }
)

/** The members that finished, with the rewards of their steps and of the group. */
const finishedIn = (group: GroupResult.GroupResult, { answerTo }: Pick<Recipe.Task, "answerTo">) =>
  GroupResult.isSkipped(group) ? [] : GroupResult.survivors(group).map(([member, trajectory]) => ({
    correct: Trajectory.isCorrect(trajectory) === true,
    reward: group.rewardsG[member] ?? NaN,
    detail: trajectory.transitions.at(-1)?.score?.explanation ?? "",
    hasReference: trajectory.transitions.length === 0 ||
      trajectory.transitions.some(({ observation }) => Option.isSome(answerTo(MockBackend.textOf(observation))))
  }))

/** The answered problems of an evaluation. Each group member counts as a problem, such as each side of a game. */
const answeredIn = (
  { groups, name }: Evaluator.Evaluation,
  task: Pick<Recipe.Task, "answerTo">
): ReadonlyArray<Answered> =>
  groups.flatMap((group) => [
    ...finishedIn(group, task),
    ...GroupResult.lost(group).map(({ message }) => ({
      correct: false,
      reward: NaN,
      detail: message,
      hasReference: true
    }))
  ]).map((answered, problem) => ({ evaluation: name, problem, ...answered }))

/** Answers every problem of the recipe with one kind of answer. */
const answer = Effect.fnUntraced(function*<E, R>(
  { build, model: name, seed }: Recipe.Configured<E, R>,
  given: Given,
  limit: number
) {
  const model = yield* ChatModel.resolve(name)
  const task = yield* build(model)
  yield* AnswerKey.AnswerKey.set(given === "reference" ? task.answerTo : () => Option.some(task.emptyAnswer ?? ""))
  const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: name }))
  const weights = Weights.fromSamplingClient(client)
  const evaluators = [...yield* training(task, seed, limit), ...task.evaluators]
  const answered: Array<Answered> = []
  for (const evaluator of evaluators) answered.push(...answeredIn(yield* evaluator.evaluate(weights), task))
  return { answered, promised: task.referenceReward }
}, Effect.scoped)

/**
 * Whether a problem rewards an answer correctly. A reference answer must be right and earn at least 1, or earn at least the reward that the
 * recipe promises; a problem without a reference answer is valid. An empty answer must be wrong, earn no positive reward, and earn less
 * than the reference.
 */
const isValid = (given: Given, promised: number | undefined) => ({ correct, hasReference, reward }: Answered) => {
  if (given === "reference" && !hasReference) return true
  if (given === "empty") return !correct && reward <= 0 && reward < (promised ?? 1)
  return promised === undefined ? correct && reward >= 1 : reward >= promised
}

const lines = (given: Given, promised: number | undefined, answered: ReadonlyArray<Answered>) =>
  [...new Set(answered.map(({ evaluation }) => evaluation))].flatMap((evaluation) => {
    const problems = answered.filter((one) => one.evaluation === evaluation)
    const all = problems.filter(({ hasReference }) => given === "empty" || hasReference)
    const without = problems.length - all.length
    const invalid = all.filter((one) => !isValid(given, promised)(one))
    const answer = given === "reference" ? "the reference answer" : "an empty answer"
    const reached = all.filter(({ correct, reward }) => promised === undefined ? correct : reward >= promised).length
    const what = promised === undefined ? "right" : `rewarded by at least ${promised}`
    return [
      `${Untrusted.show(evaluation)}: ${reached} of ${all.length} problems ${what} with ${answer}` +
      (without === 0 ? "" : `; ${without} have no reference answer`),
      ...invalid.slice(0, most).map(({ detail, problem, reward }) =>
        `  problem ${problem}: reward ${reward}${detail === "" ? "" : `, ${Untrusted.show(detail)}`}`
      )
    ]
  })

/**
 * Answers up to `limit` training problems and all problems of the evaluators, first with the reference answer and then with an empty one.
 * Fails with `InvalidProblems` if any reward is wrong, and with `NoReferences` if no problem has a reference answer.
 */
export const run = Effect.fn("ValidateRun.run")(function*<E, R>(
  recipe: string,
  configured: Recipe.Configured<E, R>,
  limit: number
) {
  const output = yield* Output
  const backend = Layer.provideMerge(MockBackend.layer(configured.model, "all"), AnswerKey.AnswerKey.layer)
  const invalid = new Set<string>()
  let problems = 0
  let referenced = 0
  for (const given of ["reference", "empty"] as const) {
    const { answered, promised } = yield* Effect.provide(answer(configured, given, limit), backend)
    problems = answered.length
    if (given === "reference") referenced = answered.filter(({ hasReference }) => hasReference).length
    for (const one of answered) {
      if (!isValid(given, promised)(one)) invalid.add(`${one.evaluation}/${one.problem}`)
      yield* output.record({ type: "validated", given, ...one })
    }
    yield* output.lines(lines(given, promised, answered))
  }
  if (invalid.size > 0) return yield* new InvalidProblems({ recipe, invalid: invalid.size, problems })
  if (referenced === 0) return yield* new NoReferences({ recipe, problems })
}, Effect.tapError(Output.recordError))
