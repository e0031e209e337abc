/**
 * Compares our tokenizers with Hugging Face's Rust library (through Python) on the same texts, each in a separate process and on one
 * thread. `TOKENIZERS_PYTHON` names a Python with `tokenizers`; without it, that part is left out. The tokenizers come from the folder
 * `EFFECT_RL_TOKENIZERS`, which `packages/files/scripts/tokenizers/fetch.sh` fills; by default from a folder beside the checkout.
 */
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { sharedFile } from "../../packages/files/test/support/SharedData.ts"
import * as Process from "../Process.ts"
import * as Quiet from "../Quiet.ts"
import * as Report from "../Report.ts"
import * as Workload from "./Workload.ts"

const folder = process.env["EFFECT_RL_TOKENIZERS"] ?? ""
const python = process.env["TOKENIZERS_PYTHON"]
const here = (file: string) => join(import.meta.dirname, file)

/** Tokenizer files by name. */
const tokenizers = new Map<string, string>([
  ...["qwen3", "llama3"].flatMap((name) => {
    const file = sharedFile(`data/tokenizers/${name}.tokenizer.json`)
    return file === undefined ? [] : [[name, file] as const]
  }),
  ...(existsSync(folder) ? globSync(join(folder, "*/tokenizer.json")) : []).sort().map((file) =>
    [basename(dirname(file)), file] as const
  )
])
if (tokenizers.size === 0) {
  Report.progress("nothing to measure: EFFECT_RL_TOKENIZERS names no folder with NAME/tokenizer.json")
  process.exit(1)
}

const version = python === undefined
  ? undefined
  : Process.run(python, "-c", "import tokenizers; print(tokenizers.__version__)")
if (python === undefined) Report.progress("skipped beside Rust: TOKENIZERS_PYTHON names no Python that has tokenizers")

const scratch = mkdtempSync(join(tmpdir(), "effect-rl-tokenizers-"))
const textsFile = join(scratch, "texts.json")
const texts = Workload.texts()
writeFileSync(textsFile, JSON.stringify(texts))

interface Row {
  readonly name: string
  readonly ours: Workload.Measured
  readonly rust: Workload.Measured | undefined
}

const measured = (name: string, run: () => string) => Quiet.measured(name, Workload.Measured, run)

const rows = Array.from(tokenizers, ([name, file]): Row => ({
  name,
  ours: measured(`effect-rl, ${name}`, () => Process.node("--expose-gc", here("ours.ts"), textsFile, file)),
  rust: python === undefined
    ? undefined
    : measured(`Rust, ${name}`, () => Process.run(python, here("rust.py"), textsFile, file))
}))
rmSync(scratch, { recursive: true })

const shown = (value: number, digits: number, unit = "") => Number.isFinite(value) ? value.toFixed(digits) + unit : "–"
const bytesOf = (kind: string) => (texts[kind] ?? []).reduce((sum, text) => sum + Buffer.byteLength(text), 0)

type Direction = "encodeSeconds" | "decodeSeconds"
const speed = (of: Workload.Measured | undefined, kind: string, direction: Direction) =>
  bytesOf(kind) / 1e6 / (of?.kinds[kind]?.[direction] ?? NaN)
const ratio = ({ ours, rust }: Row, kind: string, direction: Direction) =>
  speed(ours, kind, direction) / speed(rust, kind, direction)

const speedTable = (direction: Direction) =>
  Report.table(
    ["tokenizer", ...Object.keys(texts).flatMap((kind) => [`${kind}, MB/s`, "Rust", "to it"])],
    rows.map((row) => [
      row.name,
      ...Object.keys(texts).flatMap((kind) => [
        shown(speed(row.ours, kind, direction), 1),
        shown(speed(row.rust, kind, direction), 1),
        shown(ratio(row, kind, direction), 2, "×")
      ])
    ])
  )

const costTable = Report.table(
  ["tokenizer", "load, s", "Rust", "to it", "MB added by loading", "Rust", "to it", "MB at most", "Rust", "to it"],
  rows.map(({ name, ours, rust }) => [
    name,
    ...([["loadSeconds", 2], ["loadedMegabytes", 0], ["peakMegabytes", 0]] as const).flatMap(([field, digits]) => [
      shown(ours[field], digits),
      shown(rust?.[field] ?? NaN, digits),
      shown(ours[field] / (rust?.[field] ?? NaN), 2, "×")
    ])
  ])
)

const differing = rows.flatMap(({ name, ours, rust }) =>
  Object.entries(rust?.kinds ?? {}).flatMap(([kind, { decoded, ids }]) =>
    ours.kinds[kind]?.ids === ids && ours.kinds[kind]?.decoded === decoded ? [] : [`${name} on ${kind}`]
  )
)

const medianRatio = (direction: Direction) =>
  Report.median(rows.flatMap((row) => Object.keys(texts).map((kind) => ratio(row, kind, direction))))

const sizes = Object.keys(texts).map((kind) => `${kind} ${(bytesOf(kind) / 1e6).toFixed(2)} MB`).join(", ")

Report.publish("tokenizers", "Tokenizers beside Rust's", [
  `The texts are of three kinds: ${sizes}. Each program has one thread; speeds are the best of one second of passes over all
texts of a kind, with warm caches. Rust is Hugging Face's \`tokenizers\` ${
    version ?? "(absent)"
  }, called from Python text by text. effect-rl is better if a
ratio of speeds is above 1, or a ratio of seconds or memory is below 1.`,
  "Encoding:",
  speedTable("encodeSeconds"),
  "Decoding:",
  speedTable("decodeSeconds"),
  "Loading `tokenizer.json`, and the peak memory of the whole process:",
  costTable,
  version === undefined
    ? "Not compared with Rust's ids."
    : `Ids and decoded texts are ${differing.length === 0 ? "equal everywhere" : `unequal: ${differing.join("; ")}`}.`,
  `${Quiet.disturbance()} Over all tokenizers and texts, the
median of encoding is ${shown(medianRatio("encodeSeconds"), 2, "×")} and of decoding ${
    shown(medianRatio("decodeSeconds"), 2, "×")
  } Rust's speed.`
])
