/**
 * Records 100,000 rollouts of four turns. Measures the cost of writing them, compared with `JSON.stringify` of the same values, and the
 * time to open and read them. All times are processor times, so other programs on the machine do not count.
 */
import { type RunRecord, RunStore } from "@effect-rl/core"
import type { GroupResult } from "@effect-rl/core/program"
import { GroupPayload } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Option, Schema } from "effect"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Process from "../Process.ts"
import * as Report from "../Report.ts"
import * as Cost from "./Cost.ts"
import * as Workload from "./Workload.ts"

/** Number of groups between two readings of the clock. */
const together = 100

const base64 = ({ buffer, byteLength, byteOffset }: Int32Array | Float32Array) =>
  Buffer.from(buffer, byteOffset, byteLength).toString("base64")

/** All values of a group as JSON, with tokens and log-probabilities as base64, and the full prompt of each turn. */
const plainJson = (group: GroupResult.Completed) =>
  JSON.stringify({
    ...group,
    rewardsG: Array.from(group.rewardsG),
    members: group.members.map((member) =>
      Option.isNone(member) ? null : {
        ...member.value,
        stopReason: Option.getOrNull(member.value.stopReason),
        transitions: member.value.transitions.map((transition) => ({
          ...transition,
          observation: transition.observation.chunks.map((chunk) =>
            chunk._tag === "Image" ? null : base64(chunk.tokens)
          ),
          action: {
            ...transition.action,
            tokens: base64(transition.action.tokens),
            logprobs: base64(transition.action.logprobs)
          }
        }))
      }
    )
  })

const opening: RunRecord.Entry = {
  _tag: "Opened",
  program: "benchmark",
  version: "0",
  identity: {},
  settings: {},
  capabilities: {},
  iteration: 0,
  iterations: null,
  resumedFrom: null,
  continuesAfter: -1,
  warnings: []
}

interface Written {
  /** The whole cost: payloads, records and files. */
  readonly writing: Cost.Cost
  readonly plain: Cost.Cost
  readonly plainBytes: number
}

/** Makes, writes and baseline-encodes a hundred groups at a time, so that both methods run under the same conditions. */
const write = Effect.gen(function*() {
  const store = yield* RunStore.RunStore
  yield* store.append(opening)
  let written: Written = { writing: Cost.zero, plain: Cost.zero, plainBytes: 0 }
  for (let first = 0; first < Workload.groups; first += together) {
    const groups = Array.from({ length: together }, (_, index) => Workload.group(first + index))
    let took = Cost.start()
    for (const group of groups) yield* store.append(Workload.record(group), GroupPayload.encode(group))
    const writing = Cost.add(written.writing, took())
    took = Cost.start()
    let plainBytes = written.plainBytes
    for (const group of groups) plainBytes += plainJson(group).length
    written = { writing, plain: Cost.add(written.plain, took()), plainBytes }
    if (first % 2500 === 0) Report.progress(`${first} of ${Workload.groups} groups`)
  }
  return written
})

const Measured = Schema.Struct({ cpu: Schema.Finite, wall: Schema.Finite })
const Read = Schema.fromJsonString(
  Schema.Struct({ opened: Measured, transcripts: Schema.Array(Schema.Finite), regraded: Measured })
)

/** Reads the run in a separate process, and returns what it measured. */
const read = (run: string) =>
  Schema.decodeUnknownEffect(Read)(Process.node(join(import.meta.dirname, "reading.ts"), run))

const megabytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`
const seconds = ({ cpu, wall }: Cost.Cost) => [(cpu / 1000).toFixed(2), (wall / 1000).toFixed(2)]

const main = Effect.gen(function*() {
  const run = mkdtempSync(join(tmpdir(), "effect-rl-records-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(run, { recursive: true })))
  const written = yield* write.pipe(Effect.provide(Layer.fresh(RunDirectory.layer(run))))
  const { opened, regraded, transcripts } = yield* read(run)
  const records = Workload.groups
  const size = (name: string) => statSync(join(run, name)).size
  const cold = transcripts[0] ?? NaN
  const usual = Report.median(transcripts)
  const slowest = Math.max(...transcripts)
  const perGroup = (bytes: number) => `${(bytes / records).toFixed(0)} bytes`
  Report.publish("records", "100,000 recorded rollouts of four turns", [
    `${records} groups of ${Workload.groupSize} members, with ${Workload.turns} turns of ${Workload.sampledTokens} sampled tokens and their\n` +
    "log-probabilities, written one by one to a run directory. The baseline encodes the same groups right afterwards, with full prompts.",
    Report.table(["", "CPU s", "wall s"], [
      ["written: encoded, two files, index", ...seconds(written.writing)],
      ["JSON.stringify of the same values", ...seconds(written.plain)],
      ["opened: index read and decoded", ...seconds(opened)],
      ["10,000 rollouts regraded, by leave-one-out", ...seconds(regraded)]
    ]),
    Report.table(["file", "size", "per group"], [
      ["records.jsonl", megabytes(size("records.jsonl")), perGroup(size("records.jsonl"))],
      ["payloads.jsonl", megabytes(size("payloads.jsonl")), perGroup(size("payloads.jsonl"))],
      ["the same values as plain JSON", megabytes(written.plainBytes), perGroup(written.plainBytes)]
    ]),
    [
      Report.aim(
        "CPU time of writing, compared with JSON.stringify",
        written.writing.cpu / written.plain.cpu,
        "×",
        "at most",
        3
      ),
      Report.aim("CPU time of opening", opened.cpu / 1000, " s", "at most", 1),
      Report.aim("CPU time of a transcript, median", usual, " ms", "at most", 20),
      Report.aim("CPU time of the first transcript", cold, " ms", "at most", 20),
      Report.aim(`CPU time of the slowest of ${transcripts.length} transcripts`, slowest, " ms", "at most", 20),
      Report.aim("wall time of regrading 10,000 rollouts", regraded.wall / 1000, " s", "at most", 10)
    ].join("\n")
  ])
})

main.pipe(Effect.scoped, Effect.provide(NodeServices.layer), NodeRuntime.runMain)
