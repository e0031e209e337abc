/** A driver that sends a slow group to the runners of a cluster on this machine. */
import { ClusterExecutor, LocalCluster } from "@effect-rl/cluster"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer, Stream } from "effect"
import * as Walks from "../Walks.ts"

const [database = "", trace = ""] = process.argv.slice(2)

Stream.runDrain(Walks.groups([{ index: 0, turns: 100_000, millis: 50, trace }])).pipe(
  Effect.provide(Layer.provide(ClusterExecutor.layer, LocalCluster.client({ database }))),
  NodeRuntime.runMain
)
