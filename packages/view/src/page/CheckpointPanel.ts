/** Checkpoints with their scores, and commands that use them. */
import * as Diagnosis from "@effect-rl/core/report/Diagnosis"
import type * as Story from "@effect-rl/core/story/Story"
import * as CheckpointLines from "../story/CheckpointLines.ts"
import { cell, type Child, copy, empty, h, numberCell, panel, row, table } from "./Dom.ts"
import type { Data } from "./Screen.ts"
import * as Text from "./Text.ts"

const score = ({ measured }: CheckpointLines.CheckpointLine) =>
  measured.map(({ evaluator, unit, value }) => `${Text.foreign(evaluator)} ${Diagnosis.value(value, unit)}`).join(
    ", "
  ) ||
  "not measured"

const keeping = ({ expiresAt }: CheckpointLines.CheckpointLine) =>
  expiresAt === null ? "kept" : `until ${Text.dateTime(expiresAt)}`

const line = (story: Story.Story<null>, run: string, checkpoint: CheckpointLines.CheckpointLine, isBest: boolean) =>
  row(
    cell(isBest ? h("strong", {}, Text.foreign(checkpoint.name)) : Text.foreign(checkpoint.name)),
    cell(checkpoint.kind),
    numberCell(String(checkpoint.iteration)),
    h("td", { class: "short" }, score(checkpoint)),
    h("td", { class: "short" }, Text.dateTime(checkpoint.at)),
    cell(keeping(checkpoint)),
    cell(
      ...CheckpointLines.commands(story, run, checkpoint).flatMap(({ does, line }) => [copy(() => line, does), " "])
    )
  )

/** Maximum number of rows: a run may save after each of thousands of iterations. */
const most = 50

export const panelOf = ({ isWritten, route: { run = "" } }: Data, story: Story.Story<null>): Child => {
  const all = CheckpointLines.of(story)
  const best = CheckpointLines.best(story)
  if (best === undefined) {
    return panel(
      "Checkpoints",
      empty(story.end === undefined && isWritten ? "Nothing is saved yet." : "Nothing was saved.")
    )
  }
  const title = all.length > most ? `Checkpoints, ${most} of ${all.length}` : "Checkpoints"
  return panel(
    title,
    table(
      ["name", "kind", "after iterations", "measured", "saved", "kept", "copy the command to"],
      all.slice(0, most).map((checkpoint) =>
        line(story, run, checkpoint, all.length > 1 && checkpoint.iteration === best.iteration)
      ),
      "checkpoints"
    ),
    h(
      "h3",
      { class: "after" },
      `Use the ${best.measured.length > 0 ? "best" : "newest"} one, ${Text.foreign(best.name)}`
    ),
    h(
      "dl",
      { class: "commands" },
      ...CheckpointLines.commands(story, run, best).flatMap(({ does, line }) => [
        h("dt", {}, does),
        h("dd", {}, h("code", {}, Text.foreign(line)), " ", copy(() => line, "copy"))
      ])
    )
  )
}
