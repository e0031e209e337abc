/** The list of runs. */
import type { BrokenRun, RunLine } from "../story/Entry.ts"
import { h, table } from "./Dom.ts"
import { type Choice, choosable, type Data, type Screen } from "./Screen.ts"
import * as Text from "./Text.ts"

const choice = ({ run }: { readonly run: string }): Choice => ({
  select: { at: "runs", run },
  open: { at: "run", run }
})

const row = (line: RunLine, isSelected: boolean) =>
  choosable(
    h(
      "tr",
      {},
      h("td", {}, Text.foreign(line.run)),
      h("td", {}, Text.foreign(line.model)),
      h("td", {}, Text.foreign(line.state)),
      h("td", { class: "number" }, line.iterations === null ? `${line.done}` : `${line.done} / ${line.iterations}`),
      h("td", { class: "number" }, Text.fixed(line.reward)),
      h("td", { class: "number" }, Text.count(line.tokens)),
      h("td", {}, Text.dateTime(line.at))
    ),
    choice(line),
    isSelected
  )

const broken = ({ error, run }: BrokenRun) =>
  h("tr", {}, h("td", {}, Text.foreign(run)), h("td", { colspan: 6, class: "bad" }, Text.foreign(error)))

const headings = ["run", "model", "state", "iterations", "last reward", "tokens", "last record"]

export const render = ({ route, runs }: Data): Screen => {
  const readable = runs.filter((line): line is RunLine => !("error" in line))
  const rows = runs.map((line) => "error" in line ? broken(line) : row(line, line.run === route.run))
  const body = runs.length === 0
    ? h("p", { class: "empty" }, "There is no run here yet. A run is a folder with the file records.jsonl.")
    : table(headings, rows, "runs")
  return {
    title: "Runs",
    body: [h("section", { class: "panel" }, body)],
    choices: readable.map(choice),
    selected: readable.findIndex(({ run }) => run === route.run)
  }
}
