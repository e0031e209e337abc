/** This project's server in place of the honest service, with a backend that gives the same answers. */
import { Call, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { TinkerServer } from "@effect-rl/tinker"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodePath from "@effect/platform-node/NodePath"
import { Context, Effect, FileSystem, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as Sockets from "../Sockets.ts"
import * as HonestService from "./HonestService.ts"

const backend = ScriptedTinker.layer({
  models: { honest: { contextLength: HonestService.contextLength } },
  sample: HonestService.responseTo,
  forwardBackward: ({ data }) => ({
    logprobs: data.map(({ inputs }) => HonestService.logprobsOf(inputs.targetTokens)),
    metrics: { "loss:sum": data.length }
  }),
  computeLogprobs: (prompt) => HonestService.promptLogprobsOf(prompt)
})

const served = Layer.unwrap(Effect.gen(function*() {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "effect-rl-hostile-" })
  return TinkerServer.layer({ checkpoints: { folder, scheme: "scripted" } })
})).pipe(
  Layer.provideMerge(backend),
  Layer.provide(TestTokenizer.layer()),
  Layer.provideMerge(NodeHttpServer.layerServer(Sockets.listener, { port: 0, host: "127.0.0.1" })),
  Layer.provideMerge(Layer.merge(NodeFileSystem.layer, NodePath.layer))
)

const deedsOf = (call: Call.Call): ReadonlyArray<HonestService.Deed> => {
  switch (call._tag) {
    case "ForwardBackward":
      return call.data.map(({ inputs }) => ({ model: call.client, what: `learn ${inputs.targetTokens[0]}` }))
    case "OptimStep":
      return [{ model: call.client, what: `step ${call.adam.learningRate}` }]
    case "SaveState":
      return [{ model: call.client, what: `save ${call.name}` }]
    default:
      return []
  }
}

/** Answers until the scope closes. */
export const make = Effect.gen(function*() {
  const context = yield* Layer.build(served)
  const url = HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
  const log = Context.get(context, Call.CallLog)
  const answer: HonestService.HonestService["answer"] = Effect.fnUntraced(
    function*({ body, isProtobuf, kind, method, path }) {
      const response = yield* Effect.promise(() =>
        fetch(`${url}/api/v1${path}`, {
          method,
          headers: {
            "x-api-key": "tml-test",
            "accept": "application/x-protobuf, application/json",
            "content-type": isProtobuf ? "application/x-protobuf" : "application/json"
          },
          ...(method === "GET" ? {} : { body: Uint8Array.from(body) })
        })
      )
      const isBinary = response.headers.get("content-type")?.includes("protobuf") === true
      return {
        status: response.status,
        body: new Uint8Array(yield* Effect.promise(() => response.arrayBuffer())),
        ...(isBinary ? { protobuf: kind === "Sample" ? "sample" as const : "pass" as const } : {})
      }
    }
  )
  const deeds = Effect.map(log.calls, (calls) => calls.flatMap(deedsOf))
  return { answer, deeds } satisfies HonestService.HonestService
})
