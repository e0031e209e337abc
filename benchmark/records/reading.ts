/** Opens the recorded run in the given folder in a new process, reads transcripts throughout it, and grades its first iterations again. */
import { Advantage, Credit, RunRecord } from "@effect-rl/core"
import { GroupPayload, Regrade } from "@effect-rl/core/records"
import { RunDirectory } from "@effect-rl/files"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Stream } from "effect"
import * as Report from "../Report.ts"
import * as Cost from "./Cost.ts"
import * as Workload from "./Workload.ts"

const readings = 200

const main = Effect.gen(function*() {
  const took = Cost.start()
  const reader = yield* RunDirectory.open(process.argv[2] ?? "")
  const records = (yield* Stream.runCollect(reader.read)).filter(RunRecord.guards.GroupRolledOut)
  const opened = took()
  const transcripts: Array<number> = []
  for (let index = 0; index < readings; index++) {
    const at = (index * 7919) % records.length
    const took = Cost.start()
    const text = yield* reader.payload(records[at]?.payload ?? { offset: 0, length: 0 })
    const group = yield* GroupPayload.decode(text)
    transcripts.push(took().cpu)
    if (group.key !== `problem/${at}`) throw new Error(`record ${at} has the group ${group.key}`)
  }
  const regrading = Cost.start()
  const regraded = Regrade.run(reader, { credit: Credit.groupRelative(Advantage.leaveOneOut) })
  yield* Stream.runDrain(Stream.take(regraded, Math.ceil(Workload.regraded / Workload.perIteration)))
  Report.print(JSON.stringify({ opened, transcripts, regraded: regrading() }))
})

main.pipe(Effect.provide(NodeServices.layer), NodeRuntime.runMain)
