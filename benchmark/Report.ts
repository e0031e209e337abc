/** Writes pages of numbers that say when and where they were measured. */
import type { Proportion } from "@effect-rl/core/evaluation"
import { mkdirSync, writeFileSync } from "node:fs"
import { cpus, loadavg } from "node:os"
import { join } from "node:path"

export const mean = (values: ReadonlyArray<number>) => values.reduce((sum, value) => sum + value, 0) / values.length

export const median = (values: ReadonlyArray<number>) => {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2
}

export const table = (header: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  [header, header.map((_, column) => column === 0 ? "---" : "---:"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n")

/** A line with a number, its target, and whether the target is met. */
export const aim = (what: string, value: number, unit: string, comparison: "at most" | "at least", limit: number) => {
  const isMet = comparison === "at most" ? value <= limit : value >= limit
  const shown = Number.isFinite(value) ? `${value.toPrecision(3)}${unit}` : "not measured"
  return `- ${what}: **${shown}** (target: ${comparison} ${limit}${unit}${isMet ? "" : ", missed"})`
}

export const percent = (share: number) => Number.isFinite(share) ? `${(100 * share).toFixed(0)} %` : "an unknown share"

/** A share with its 95 % interval, as text. */
export const interval = ({ high, low, value }: Proportion.Proportion) =>
  `${value.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`

/** Prints progress to stderr, so it does not become part of the page. */
export const progress = (line: string) => void process.stderr.write(`${line}\n`)

export const print = (text: string) => void process.stdout.write(`${text}\n`)

/** The date, the processors, the Node version and the load, as text. */
export const machine = () => {
  const [processor] = cpus()
  const load = loadavg().map((value) => value.toFixed(1)).join(", ")
  return [
    new Date().toISOString().slice(0, 16).replace("T", " ") + " UTC",
    `${cpus().length} × ${processor?.model ?? "unknown processor"}`,
    `Node ${process.versions.node}`,
    `load ${load} at the end`
  ].join("; ")
}

/** Prints a page and saves it as `benchmark/results/<name>.md`. */
export const write = (name: string, title: string, parts: ReadonlyArray<string>) => {
  const page = [`# ${title}`, ...parts].join("\n\n")
  print(page)
  const folder = join(import.meta.dirname, "results")
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.md`), `${page}\n`)
}

/** Writes a page of new measurements, with date and machine. */
export const publish = (name: string, title: string, parts: ReadonlyArray<string>) =>
  write(name, title, [`Measured ${machine()}.`, ...parts])
