/** What became of the run: the first thing on its page. */
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import type * as Story from "@effect-rl/core/story/Story"
import type { Findings } from "../story/Entry.ts"
import { type Child, h } from "./Dom.ts"
import { type Data, link } from "./Screen.ts"
import * as Text from "./Text.ts"

/** A diagnosis, and what it was made of. */
interface Made {
  readonly records: number
  readonly isWritten: boolean
  readonly findings: Findings | undefined
  readonly diagnosis: Diagnosis.Diagnosis
}

/** The newest diagnosis of each story, which is drawn far more often than a record arrives. */
const made = new WeakMap<Story.Story<null>, Made>()

/** The diagnosis of the run, with what the newest audit found. */
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

/** One word about a run, with a mark that tells its level without colours. */
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

/** The way to the groups among which a rollout failed. */
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
