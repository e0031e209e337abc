/** The run's verdict, shown first on the run's screen. */
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import type * as Story from "@effect-rl/core/story/Story"
import type { Findings } from "../story/Entry.ts"
import { type Child, h } from "./Dom.ts"
import { type Data, link } from "./Screen.ts"
import * as Text from "./Text.ts"

/** A diagnosis with its inputs. */
interface Made {
  readonly records: number
  readonly isWritten: boolean
  readonly findings: Findings | undefined
  readonly diagnosis: Diagnosis.Diagnosis
}

/** The newest diagnosis of each story. It is cached, because drawing is far more frequent than new records. */
const made = new WeakMap<Story.Story<null>, Made>()

/** The run's diagnosis, including the newest audit findings. */
export const of = ({ findings, isWritten }: Data, story: Story.Story<null>): Diagnosis.Diagnosis => {
  const before = made.get(story)
  const { records: { length: records } } = story
  if (before?.records === records && before.isWritten === isWritten && before.findings === findings) {
    return before.diagnosis
  }
  const diagnosis = Diagnosis.of(story, { isWritten, ...(findings === undefined ? {} : findings) })
  made.set(story, { records, isWritten, findings, diagnosis })
  return diagnosis
}

const marks: Readonly<Record<Diagnosis.Level, string>> = { good: "✓", look: "!", bad: "✗", none: "–" }

/** A one-word verdict with a symbol, so its level is visible without colours. */
export const badge = ({ kind, level }: Pick<Diagnosis.Diagnosis, "kind" | "level">): Child =>
  h("span", { class: `badge badge-${level}` }, `${marks[level]} ${kind}`)

const numbersOf = ({ numbers }: Diagnosis.Diagnosis): Child =>
  numbers === undefined ? undefined : h(
    "p",
    { class: "numbers" },
    h("span", { class: "facts" }, `${Text.foreign(numbers.measure)} `),
    numbers.before,
    " → ",
    h("strong", {}, numbers.after)
  )

/** A link to the iteration in which a rollout failed; nothing unless the run failed at a known place. */
const failedAt = (story: Story.Story<null>, { route }: Data): Child => {
  const where = story.end?._tag === "Failed" ? story.end.where : undefined
  if (where === undefined) return undefined
  const iteration = where.iteration ?? 0
  return h("p", { class: "facts" }, link({ ...route, at: "iteration", iteration }, `Open ${Text.iteration(iteration)}`))
}

const since = (iteration: number | undefined) => iteration === undefined ? "" : `, since iteration ${iteration + 1}`

export const draw = (data: Data, story: Story.Story<null>): Child => {
  const diagnosis = of(data, story)
  const { advice, concerns, level, sentence } = diagnosis
  const { route } = data
  return h(
    "section",
    { class: `panel diagnosis diagnosis-${level}`, "aria-label": "verdict" },
    h(
      "div",
      {},
      h("p", { class: "sentence" }, badge(diagnosis), ` ${Text.foreign(sentence)}`),
      advice === undefined ? undefined : h("p", { class: "facts" }, `${advice}.`),
      failedAt(story, data),
      ...concerns.map(({ metric, outsideSince, sign: { advice, title }, values }) =>
        h(
          "p",
          { class: "facts", key: metric },
          link({ ...route, metric }, title),
          ` ${Text.short(values.at(-1)?.value)}${since(outsideSince)}. ${advice === undefined ? "" : `${advice}.`}`
        )
      )
    ),
    numbersOf(diagnosis)
  )
}
