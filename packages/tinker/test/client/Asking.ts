/** Requests for a service's runs and checkpoints, and an example checkpoint. */
import { RestClient } from "@effect-rl/tinker"
import { Effect } from "effect"
import { withTinker } from "./Elapse.ts"
import * as FakeService from "./FakeService.ts"

export const path = "tinker://session:train:0/weights/0001"
export const resource = "/training_runs/session:train:0/checkpoints/weights/0001"

export const checkpoint = {
  checkpoint_id: "weights/0001",
  checkpoint_type: "training",
  time: "2026-01-02T03:04:05Z",
  tinker_path: path,
  size_bytes: 10,
  expires_at: null
}

/** Runs `ask` on a service with these routes. Returns the answer and the requests that these routes received. */
export const asking = <A, E>(
  routes: FakeService.Routes,
  ask: (rest: RestClient.RestClient["Service"]) => Effect.Effect<A, E>,
  faults?: FakeService.Faults
) => {
  const service = FakeService.make({ routes, ...(faults === undefined ? {} : { faults }) })
  return Effect.map(
    withTinker(service, Effect.flatMap(RestClient.RestClient, ask)),
    (answer) => ({ answer, asked: service.received.filter((request) => request.path in routes) })
  )
}

export const ok = () => FakeService.json({})
