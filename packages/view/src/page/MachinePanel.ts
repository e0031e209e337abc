/** How busy the machine was: memory and processors of the process, and requests at the policy. */
import * as Story from "@effect-rl/core/story/Story"
import type * as Timeline from "../story/Timeline.ts"
import { cell, type Child, numberCell, panel, row, table } from "./Dom.ts"
import * as Sparkline from "./Sparkline.ts"
import * as Text from "./Text.ts"

interface Use {
  readonly name: string
  readonly values: ReadonlyArray<number>
  readonly mean: number
  readonly all: string
}

const sum = (values: ReadonlyArray<number>) => values.reduce((total, value) => total + value, 0)

const use = (name: string, measured: ReadonlyArray<number | null | undefined>, all = ""): ReadonlyArray<Use> => {
  const values = measured.filter((value) => value !== null && value !== undefined)
  return values.length === 0 ? [] : [{ name, values, mean: sum(values) / values.length, all }]
}

const gibibytes = (bytes: number | null) => bytes === null ? null : bytes / 2 ** 30

const usesOf = (story: Story.Story<null>, timeline: Timeline.Timeline | undefined): ReadonlyArray<Use> => {
  const uses = Story.iterations(story).flatMap(({ updated }) => updated?.process ?? [])
  const { cores, memory = null } = Story.launch(story)?.machine ?? {}
  const { mean = 0, members = [] } = timeline?.waiting?.policy ?? {}
  return [
    ...use(
      "memory of the process, GiB",
      uses.map(({ memory }) => gibibytes(memory)),
      Text.short(gibibytes(memory))
    ),
    ...use("processors busy for the process", uses.map(({ processors }) => processors), Text.short(cores)),
    ...(members.length === 0
      ? []
      : [{ name: "requests at the policy, waiting or answered", values: members, mean, all: "" }])
  ]
}

/** Nothing if nothing was measured. */
export const panelOf = (story: Story.Story<null>, timeline: Timeline.Timeline | undefined): Child => {
  const uses = usesOf(story, timeline)
  const isLimited = uses.some(({ all }) => all !== "")
  return uses.length === 0 ? undefined : panel(
    "Machine",
    table(
      ["what", "mean", "history", "newest", "most", ...(isLimited ? ["of"] : [])],
      uses.map(({ all, mean, name, values }) =>
        row(
          cell(name),
          numberCell(Text.short(mean)),
          cell(Sparkline.draw(values, `${name}, over the run`)),
          numberCell(Text.short(values.at(-1))),
          numberCell(Text.short(Math.max(...values))),
          isLimited ? numberCell(all) : undefined
        )
      ),
      "use of the machine"
    )
  )
}
