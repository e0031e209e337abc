import { Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import { RestClient } from "../../client/RestClient.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

export const sampler: Check.Check = {
  theme: "sessions",
  name: "the description of a sampler names its base model and weights",
  why: "The official SDK chooses a sampler's tokenizer from this answer.",
  run: Effect.gen(function*() {
    const { get, model: baseModel, post, session } = yield* RawRequests
    const { id: session_id, sampler } = yield* session
    const base = yield* get(`/samplers/${yield* sampler}`)
    if (base.status === 404) return yield* Check.absent("the server does not describe samplers")
    const shown = `${base.body["base_model"]} ${base.body["model_path"] ?? "without a path"}`
    yield* Check.expect(shown === `${baseModel} without a path`, `${baseModel} without a path`, shown)
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8 })
    const { path } = yield* StateTwins.run(client.saveWeightsForSampler("certify-sampler"))
    const type = "create_sampling_session"
    const made = yield* post("/create_sampling_session", {
      session_id,
      sampling_session_seq_id: 9,
      model_path: path,
      type
    })
    const { body } = yield* get(`/samplers/${made.body["sampling_session_id"]}`)
    const found = `${body["base_model"]} ${body["model_path"]}`
    yield* Check.expect(found === `${baseModel} ${path}`, `${baseModel} ${path}`, found)
  })
}

export const members: Check.Check = {
  theme: "sessions",
  name: "a session lists its models and samplers",
  why: "Users find and end leftover models and samplers with this list.",
  run: Effect.gen(function*() {
    const { session } = yield* RawRequests
    const rest = yield* RestClient
    const { id, model, sampler } = yield* session
    const [model_id, sampler_id] = [yield* model, yield* sampler]
    const { samplerIds, trainingRunIds } = yield* rest.getSession(id)
    yield* Check.expect(trainingRunIds.includes(model_id), `${model_id} among its runs`, trainingRunIds.join(", "))
    yield* Check.expect(samplerIds.includes(sampler_id), `${sampler_id} among its samplers`, samplerIds.join(", "))
    const sessions = yield* rest.listSessions({ limit: 100 })
    yield* Check.expect(sessions.includes(id), `${id} among the sessions`, `${sessions.length} others`)
  })
}

const pageSize = 100

export const begun: Check.Check = {
  theme: "archive",
  name: "a new run is listed before it has a checkpoint",
  why: "Users look for a run that hangs before its first checkpoint in this list.",
  run: Effect.gen(function*() {
    const { session } = yield* RawRequests
    const rest = yield* RestClient
    const { model } = yield* session
    const missing = new Set([yield* model, yield* model])
    let total = 1
    for (let offset = 0; offset < total && missing.size > 0; offset += pageSize) {
      const { cursor, trainingRuns } = yield* rest.listTrainingRuns({ limit: pageSize, offset })
      for (const { trainingRunId } of trainingRuns) missing.delete(trainingRunId)
      total = cursor.totalCount
    }
    yield* Check.expect(missing.size === 0, "both runs of the session", `all but ${[...missing].join(" and ")}`)
  })
}

export const unloaded: Check.Check = {
  theme: "sessions",
  name: "an unloaded model refuses requests, and other models of its session continue",
  why: "A model that stays loaded uses memory that its client has released.",
  run: Effect.gen(function*() {
    const { post, session } = yield* RawRequests
    const { model } = yield* session
    const [model_id, other] = [yield* model, yield* model]
    yield* Blame.expectDone(yield* post("/unload_model", { model_id, type: "unload_model" }))
    yield* Blame.expectRefused(yield* post("/forward", Examples.forward(model_id, 1)))
    yield* Blame.expectDone(yield* post("/forward", Examples.forward(other, 1)))
  })
}

/** The tokenizer that the official SDK chooses if a model names none. */
const usualTokenizer = (model: string) => {
  const [name = model] = model.split(":")
  const parts = name.split("/")
  return name.startsWith("meta-llama/Llama-3")
    ? "thinkingmachineslabinc/meta-llama-3-instruct-tokenizer"
    : parts.slice(0, parts.length === 3 ? 2 : parts.length).join("/")
}

export const tokenizer: Check.Check = {
  theme: "models",
  name: "a model in training and its samplers have the same tokenizer",
  why: "The official SDK encodes text with the model's tokenizer and decodes it with that of the sampler's base model.",
  run: Effect.gen(function*() {
    const { model: baseModel, post, session } = yield* RawRequests
    const { model } = yield* session
    const { body } = yield* post("/get_info", { model_id: yield* model, type: "get_info" })
    const { model_data } = body
    const found = typeof model_data === "object" && model_data !== null && "tokenizer_id" in model_data
      ? model_data.tokenizer_id ?? undefined
      : undefined
    const expected = usualTokenizer(baseModel)
    const isSame = found === undefined || [expected, baseModel].includes(String(found).split(":")[0] ?? "")
    yield* Check.expect(isSame, `${expected}, as samplers of ${baseModel}, or none`, found)
  })
}

export const unseeded: Check.Check = {
  theme: "seeds",
  name: "requests without a seed give different samples each time",
  why: "A run without seeds would learn from the same few answers again and again.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const client = yield* Tinker.Tinker.use((tinker) => tinker.createSamplingClient({ baseModel }))
    const ask = Effect.map(
      client.sample({ prompt: Examples.input, numSamples: 8, params: { maxTokens: 16, temperature: 1.5 } }),
      ({ sequences }) => sequences.map(({ tokens }) => tokens.join(" ")).join("; ")
    )
    const [one, other] = [yield* ask, yield* ask]
    yield* Check.expect(one !== other, "other samples", one)
  })
}

export const all = [sampler, members, begun, unloaded, tokenizer, unseeded]
