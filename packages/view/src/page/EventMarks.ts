/** Events of a run, such as checkpoints and warnings, as marks on the axis of its curves. */
import type * as Story from "@effect-rl/core/story/Story"
import type { Findings } from "../story/Entry.ts"
import { type Child, h } from "./Dom.ts"
import type * as Series from "./Series.ts"
import { svg } from "./Svg.ts"
import * as Text from "./Text.ts"

export type Kind = "checkpoint" | "resumed" | "warning" | "finding" | "failed"

export interface Mark {
  readonly kind: Kind
  /** Number of iterations completed before the event. */
  readonly iteration: number
  readonly text: string
}

const kinds: ReadonlyArray<Kind> = ["checkpoint", "resumed", "warning", "finding", "failed"]

/** Ten-pixel shapes, centred on their position. */
const shapes: Readonly<Record<Kind, string>> = {
  checkpoint: "M0-5L5 4H-5Z",
  resumed: "M0-6L6 0L0 6L-6 0Z",
  warning: "M-5-4H5L0 5Z",
  finding: "M-3 6V-6L6-3L-3 0",
  failed: "M-5-5L5 5M5-5L-5 5"
}

const ofFindings = ({ findings }: Findings): ReadonlyArray<Mark> => {
  const checks = new Map<number, Set<string>>()
  for (const { check, iteration } of findings) {
    checks.set(iteration, (checks.get(iteration) ?? new Set()).add(check.replaceAll("_", " ")))
  }
  return [...checks].map(([iteration, names]) => ({
    kind: "finding",
    iteration: iteration + 1,
    text: `the audit found ${[...names].join(", ")}`
  }))
}

/** The events of a run in the order of its records, followed by the audit findings if they are known. */
export const of = ({ records }: Story.Story<null>, findings: Findings | undefined): ReadonlyArray<Mark> => {
  const marks: Array<Mark> = []
  let done = 0
  for (const record of records) {
    switch (record._tag) {
      case "Opened":
        if (record.resumedFrom !== null) {
          marks.push({ kind: "resumed", iteration: record.iteration, text: `resumed from ${record.resumedFrom}` })
        }
        break
      case "Updated":
        done = record.iteration + 1
        break
      case "Saved":
        marks.push({ kind: "checkpoint", iteration: record.iteration, text: `checkpoint ${record.name}` })
        break
      case "Warning":
        marks.push({ kind: "warning", iteration: done, text: record.message })
        break
      case "Failed":
        marks.push({ kind: "failed", iteration: done, text: `failed: ${record.error}` })
        break
    }
  }
  return [...marks, ...findings === undefined ? [] : ofFindings(findings)]
}

/** The visible marks. Marks of the same kind at the same place are merged. */
export const draw = (marks: ReadonlyArray<Mark>, { x }: Series.Scales, { part }: Series.Options, y: number) => {
  const places = new Map<string, Array<Mark>>()
  for (const mark of marks) {
    if (mark.iteration < part.from || mark.iteration > part.to) continue
    const place = `${mark.kind} ${mark.iteration}`
    places.set(place, [...places.get(place) ?? [], mark])
  }
  const there = new Map<number, number>()
  return [...places].flatMap(([key, [first, ...others]]) => {
    if (first === undefined) return []
    const before = there.get(first.iteration) ?? 0
    there.set(first.iteration, before + 1)
    const text = [first, ...others].map(({ text }) => Text.foreign(text)).join("; ")
    return [
      svg(
        "g",
        { key, class: `event event-${first.kind}`, transform: `translate(${x(first.iteration) + 12 * before} ${y})` },
        svg("path", { d: shapes[first.kind] }),
        svg("title", {}, text)
      )
    ]
  })
}

/** Descriptions of the events at an iteration. */
export const reading = (marks: ReadonlyArray<Mark>, iteration: number): ReadonlyArray<string> =>
  marks.filter((mark) => mark.iteration === iteration).map(({ text }) => Text.foreign(text))

/** A legend entry for each kind of mark. */
export const legend = (marks: ReadonlyArray<Mark>): ReadonlyArray<Child> =>
  kinds.filter((kind) => marks.some((mark) => mark.kind === kind)).map((kind) =>
    h(
      "span",
      { class: `event event-${kind}` },
      svg(
        "svg",
        { viewBox: "-7 -7 14 14", width: 12, height: 12, "aria-hidden": "true" },
        svg("path", { d: shapes[kind] })
      ),
      ` ${kind}`
    )
  )
