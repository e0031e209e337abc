/** A process that writes a run at a fixed rate. */
import { Effect } from "effect"
import * as Recorded from "./Recorded.ts"

const [run = "", perSecond = "1000", seconds = "60"] = process.argv.slice(2)
await Effect.runPromise(Recorded.writeLive(run, Number(perSecond), Number(seconds)))
