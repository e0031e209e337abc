/** Damage that a disk or a person may do to a run's files between a kill and a resume, drawn from a seed. */
import type { Draw } from "@effect-rl/core/testing"
import * as Checksum from "@effect-rl/files/run/Checksum"
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/** The files of a killed run, a finished run with another seed, and the backend's checkpoint folder, if it has files. */
export interface Place {
  readonly folder: string
  readonly other: string
  readonly checkpoints: string | undefined
}

type Change = (draw: Draw.Draw, place: Place) => void

const editBytes = (file: string, edit: (bytes: Buffer) => Buffer) => {
  if (existsSync(file)) writeFileSync(file, edit(readFileSync(file)))
}

const editLines = (file: string, edit: (lines: ReadonlyArray<string>) => ReadonlyArray<string>) =>
  editBytes(file, (bytes) => Buffer.from(edit(bytes.toString("latin1").split("\n")).join("\n"), "latin1"))

const flip = (draw: Draw.Draw, count: number) => (bytes: Buffer) => {
  for (let index = 0; index < count && bytes.length > 0; index++) {
    const place = draw.integer(0, bytes.length - 1)
    bytes[place] = (bytes[place] ?? 0) ^ (1 << draw.integer(0, 7))
  }
  return bytes
}

const cut = (draw: Draw.Draw) => (bytes: Buffer) => bytes.subarray(0, draw.integer(0, bytes.length))

const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39

/** Replaces one digit with another, so the text stays valid JSON. */
const changeDigit = (draw: Draw.Draw) => (bytes: Buffer) => {
  const places = [...bytes.keys()].filter((place) => isDigit(bytes[place] ?? 0))
  const place = places[draw.integer(0, places.length - 1)]
  if (place === undefined) return bytes
  bytes[place] = 0x30 + ((bytes[place] ?? 0) - 0x30 + draw.integer(1, 9)) % 10
  return bytes
}

const swapLines = (draw: Draw.Draw) => (lines: ReadonlyArray<string>) => {
  const [a, b] = [draw.integer(0, lines.length - 2), draw.integer(0, lines.length - 2)]
  return lines.map((line, index) => (index === a ? lines[b] : index === b ? lines[a] : undefined) ?? line)
}

const repeatLine = (draw: Draw.Draw) => (lines: ReadonlyArray<string>) => {
  const line = lines[draw.integer(0, lines.length - 2)] ?? ""
  return lines.toSpliced(draw.integer(0, lines.length - 1), 0, line)
}

const leaveLineOut = (draw: Draw.Draw) => (lines: ReadonlyArray<string>) =>
  lines.toSpliced(draw.integer(0, lines.length - 2), 1)

const zeros = (draw: Draw.Draw) => (bytes: Buffer) => {
  const from = draw.integer(0, bytes.length)
  return bytes.fill(0, from, Math.min(bytes.length, from + 512))
}

const ofFile = (name: string): Readonly<Record<string, Change>> => {
  const bytes = (edit: (draw: Draw.Draw) => (bytes: Buffer) => Buffer): Change => (draw, { folder }) =>
    editBytes(join(folder, name), edit(draw))
  const lines =
    (edit: (draw: Draw.Draw) => (lines: ReadonlyArray<string>) => ReadonlyArray<string>): Change =>
    (draw, { folder }) => editLines(join(folder, name), edit(draw))
  return {
    [`a bit of ${name}`]: bytes((draw) => flip(draw, 1)),
    [`some bits of ${name}`]: bytes((draw) => flip(draw, draw.integer(2, 8))),
    [`a digit of ${name}`]: bytes(changeDigit),
    [`zeros in ${name}`]: bytes(zeros),
    [`${name} cut`]: bytes(cut),
    [`two lines of ${name} swapped`]: lines(swapLines),
    [`a line of ${name} repeated`]: lines(repeatLine),
    [`a line of ${name} left out`]: lines(leaveLineOut),
    [`${name} of another run`]: (_, { folder, other }) => cpSync(join(other, name), join(folder, name)),
    [`${name} lost`]: (_, { folder }) => rmSync(join(folder, name), { force: true })
  }
}

const swapFiles = (left: string, right: string) => {
  renameSync(left, `${left}.swapped`)
  renameSync(right, left)
  renameSync(`${left}.swapped`, right)
}

const derived = ["config.json", "metrics.jsonl", "checkpoints.jsonl"]

const inFolder: Readonly<Record<string, Change>> = {
  ...ofFile("records.jsonl"),
  ...ofFile("payloads.jsonl"),
  "records and payloads swapped": (_, { folder }) =>
    swapFiles(join(folder, "records.jsonl"), join(folder, "payloads.jsonl")),
  "a bit of a file for other tools": (draw, { folder }) =>
    editBytes(join(folder, derived[draw.integer(0, 2)] ?? ""), flip(draw, 1))
}

const namesIn = (folder: string) => existsSync(folder) ? readdirSync(folder).toSorted() : []

/** The folders of the saved states, in the first checkpoint folder that exists. */
const states = (checkpoints: string) => {
  const folder = join(checkpoints, namesIn(checkpoints)[0] ?? "", "weights")
  return namesIn(folder).map((name) => join(folder, name))
}

const stateFiles = ["adapter_config.json", "adapter_model.safetensors", "optimizer.safetensors", "SHA256SUMS"]

const ofState =
  (change: (draw: Draw.Draw, state: string, all: ReadonlyArray<string>) => void): Change => (draw, { checkpoints }) => {
    const all = checkpoints === undefined ? [] : states(checkpoints)
    const state = all[draw.integer(0, all.length - 1)]
    if (state !== undefined) change(draw, state, all)
  }

const stateFile = (draw: Draw.Draw, state: string) => join(state, stateFiles[draw.integer(0, 3)] ?? "")

const inCheckpoints: Readonly<Record<string, Change>> = {
  "a bit of a checkpoint": ofState((draw, state) => editBytes(stateFile(draw, state), flip(draw, 1))),
  "a file of a checkpoint cut": ofState((draw, state) => editBytes(stateFile(draw, state), cut(draw))),
  "a checkpoint without its checksums, and a bit of it": ofState((draw, state) => {
    rmSync(join(state, "SHA256SUMS"))
    editBytes(join(state, stateFiles[draw.integer(1, 2)] ?? ""), flip(draw, 1))
  }),
  "a checkpoint in the place of another": ofState((draw, state, all) => {
    const other = all[draw.integer(0, all.length - 1)] ?? state
    if (other !== state) swapFiles(state, other)
  }),
  "a checkpoint lost": ofState((_, state) => rmSync(state, { recursive: true }))
}

/** All kinds of damage by name. */
export const kinds = (hasFiles: boolean): Readonly<Record<string, Change>> =>
  hasFiles ? { ...inFolder, ...inCheckpoints } : inFolder

const lineEnds = (bytes: Buffer) => [...bytes.keys()].filter((place) => bytes[place] === 0x0a)

const endOfPayload = (line: string) => {
  const { payload } = JSON.parse(line)
  return payload === undefined ? 0 : Number(payload.offset) + Number(payload.length) + 1
}

/** Recomputes the files' checksums, as only a program would, so no checksum reveals the damage. */
export const forgeSums = (folder: string) => {
  const payloads = readFileSync(join(folder, "payloads.jsonl"))
  let before = Checksum.start
  editLines(join(folder, "records.jsonl"), (lines) =>
    lines.map((line, index) => {
      if (index === lines.length - 1) return line
      const { sum: _sum, ...record } = JSON.parse(line)
      if (record.payload !== undefined) {
        const { length, offset } = record.payload
        record.payload.sum = Checksum.of(payloads.subarray(offset, offset + length))
      }
      const sealed = Checksum.seal(JSON.stringify(record), before)
      before = sealed.sum
      return sealed.line
    }))
}

/** Changes the first log-probabilities of every payload. */
export const changeLogprobs = (folder: string) =>
  editLines(
    join(folder, "payloads.jsonl"),
    (lines) => lines.map((line) => line.replace(/"logprobs":"(.{4})../, `"logprobs":"$1vg`))
  )

/** Copies a finished run from `whole` to `folder` as a kill would have left it; `moment` is a byte offset in the records. */
export const kill = (draw: Draw.Draw, whole: string, folder: string, moment = draw.integer) => {
  cpSync(whole, folder, { recursive: true })
  const records = readFileSync(join(folder, "records.jsonl"))
  const [first = 0, ...ends] = lineEnds(records)
  const end = moment(first + 1, ends.at(-2) ?? first + 1)
  const left = records.subarray(0, end)
  writeFileSync(join(folder, "records.jsonl"), left)
  const lines = left.toString().split("\n").slice(0, -1)
  const payloads = readFileSync(join(folder, "payloads.jsonl"))
  const told = Math.max(0, ...lines.map(endOfPayload))
  // A payload is written before its record.
  const next = lineEnds(payloads).find((place) => place >= told) ?? told
  writeFileSync(join(folder, "payloads.jsonl"), payloads.subarray(0, draw.integer(told, next + 1)))
  const count = (tags: ReadonlyArray<string>) => lines.filter((line) => tags.includes(JSON.parse(line)._tag)).length
  const keep = (name: string, count: number) => editLines(join(folder, name), (lines) => [...lines.slice(0, count), ""])
  keep("metrics.jsonl", count(["Updated", "Evaluated"]))
  keep("checkpoints.jsonl", count(["Saved"]))
}
