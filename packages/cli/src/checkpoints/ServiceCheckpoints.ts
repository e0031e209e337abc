/** The checkpoints on a Tinker service. */
import { RestClient } from "@effect-rl/tinker"
import * as Effect from "effect/Effect"

/** Checkpoints per request. Services respond slowly but allow long pages. */
const page = 1000

/** The checkpoints of a run, all of which the service lists in one response. */
export const ofRun = Effect.fnUntraced(function*(run: string) {
  const rest = yield* RestClient.RestClient
  return { checkpoints: (yield* rest.listCheckpoints(run)).checkpoints, more: 0 }
})

/** The newest checkpoints of all runs, at most `limit`, and how many more there are. */
export const newest = Effect.fnUntraced(function*(limit: number) {
  const rest = yield* RestClient.RestClient
  const first = yield* rest.listUserCheckpoints({ limit: Math.min(page, limit) })
  const total = first.cursor?.totalCount ?? first.checkpoints.length
  const checkpoints = [...first.checkpoints]
  while (checkpoints.length < Math.min(limit, total)) {
    const asked = Math.min(page, limit - checkpoints.length)
    const next = yield* rest.listUserCheckpoints({ limit: asked, offset: checkpoints.length })
    if (next.checkpoints.length === 0) break
    checkpoints.push(...next.checkpoints)
  }
  return { checkpoints, more: Math.max(0, total - checkpoints.length) }
})
