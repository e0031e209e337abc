// A server whose scripted model calls the given tool and then answers, which the tiny models cannot do. Prints its address.
import { Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { TinkerServer } from "@effect-rl/tinker"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"

const model = "Qwen/Qwen3-4B-Instruct-2507"
const { characters } = TestTokenizer
const turn = "<|im_start|>assistant\n"
const call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 25, \"b\": 59}}\n</tool_call><|im_end|>"
const answer = "The sum is 84, and that is all.<|im_end|>"

const say = (prompt, maxTokens) => {
  const at = prompt.lastIndexOf(turn) + turn.length
  const whole = prompt.includes("<tools>") && !prompt.includes("<tool_response>") ? call : answer
  const rest = characters.encode(whole).slice(characters.encode(prompt.slice(at)).length)
  const tokens = rest.slice(0, maxTokens)
  return {
    tokens,
    logprobs: new Float32Array(tokens.length).fill(-0.5),
    stopReason: tokens.length === rest.length ? "stop" : "length"
  }
}

const script = {
  models: { [model]: { contextLength: 8192 } },
  sample: (request, at) => Script.reply(characters, (prompt) => say(prompt, request.params.maxTokens))(request, at)
}

const announce = Effect.flatMap(
  HttpServer.HttpServer,
  ({ address }) => Effect.sync(() => console.log(`at ${HttpServer.formatAddress(address)}`))
)

const [folder] = process.argv.slice(2)

TinkerServer.layer({ checkpoints: { folder, scheme: "scripted" } }).pipe(
  Layer.provideMerge(Layer.effectDiscard(announce)),
  Layer.provide(ScriptedTinker.layer(script)),
  Layer.provide(TestTokenizer.layer()),
  Layer.provide(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 })),
  Layer.provide(NodeServices.layer),
  Layer.launch,
  NodeRuntime.runMain
)
