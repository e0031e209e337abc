/** The figure of credit by tag: every second problem of a batch has another credit. */
import { Advantage, Credit, type InvalidOption, RLDataset, Tinker, type TinkerError } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { Effect } from "effect"
import * as Report from "../../Report.ts"
import * as Controls from "../Controls.ts"
import type * as Kept from "../Kept.ts"
import * as Sums from "../Sums.ts"
import * as Distillation from "./Distillation.ts"

const tag = (dataset: Sums.Dataset) =>
  RLDataset.map(dataset, (group) => ({ ...group, tags: [Number.parseInt(group.key) % 2 === 0 ? "first" : "second"] }), {
    name: "two tags"
  })

const settings = { iterations: 40, groupsPerBatch: 64, groupSize: 2, schedule: "linear" }

type AnyCredit = Credit.Credit<InvalidOption.InvalidOption | TinkerError.TinkerError>

/** The rewards and correct answers of a student, with a teacher for problems with the first tag and a credit for those with the second. */
const taught = Effect.fnUntraced(function*(seed: number, teacher: SamplingClient.SamplingClient, second: AnyCredit) {
  const credit = Credit.byTag({ first: Credit.distill({ teacher }), second })
  const { correct, updates } = yield* Sums.trainOne(settings, seed, () => credit, tag)
  const gaps = updates.slice(-3).map(({ metrics }) => metrics["teacher_kl/first"] ?? NaN)
  const outcome: Kept.Outcome = {
    curve: updates.map(({ reward }) => reward?.mean ?? NaN),
    after: { value: correct / Sums.problems, trials: Sums.problems },
    besides: { "KL from the first teacher": Report.mean(gaps) }
  }
  return outcome
})

const relative = Credit.groupRelative(Advantage.centered)

/** The student as its own teacher, from which it can learn nothing. */
const student = Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel: Sums.model }))

export const figure = <E, R>(teacher: Effect.Effect<Distillation.Saved, E, R>) =>
  Effect.map(Distillation.trained(Sums.model), (peer) => {
    const sampler = Effect.fnUntraced(function*<E, R>(saved: Effect.Effect<Distillation.Saved, E, R>) {
      return yield* Distillation.sampler((yield* saved).samplerPath)
    })
    return {
      name: "by-tag",
      title: "A credit for each tag",
      seeds: Sums.seeds,
      value: "reward by iteration",
      score: "right answers",
      control: "the student is the teacher, rewards shuffled",
      rows: [
        {
          title: "a teacher, and rewards",
          measure: Effect.fnUntraced(function*(seed: number) {
            return yield* taught(seed, yield* sampler(teacher), relative)
          }, Effect.scoped),
          control: Effect.fnUntraced(function*(seed: number) {
            return yield* taught(seed, yield* student, Controls.shuffled(seed)(relative))
          }, Effect.scoped)
        },
        {
          title: "two teachers",
          measure: Effect.fnUntraced(function*(seed: number) {
            const second = Credit.distill({ teacher: yield* sampler(peer) })
            return yield* taught(seed, yield* sampler(teacher), second)
          }, Effect.scoped),
          control: Effect.fnUntraced(function*(seed: number) {
            const teacher = yield* student
            return yield* taught(seed, teacher, Credit.distill({ teacher }))
          }, Effect.scoped)
        }
      ]
    }
  })
