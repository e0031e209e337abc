import { Loss, Tinker } from "@effect-rl/core"
import * as Effect from "effect/Effect"
import { RestClient } from "../../client/RestClient.ts"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import * as NumberedModel from "../NumberedModel.ts"
import { RawRequests } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"
import * as Visible from "../Visible.ts"

type Lora = Omit<Tinker.LoraOptions, "baseModel">

/**
 * Adam settings with which the first step moves each weight by the learning rate, so every part of a model has a
 * visible effect.
 */
const adam = { eps: 1e-12 }

/** The change of the examples' log-probabilities by one step, `[T]`. */
const changeOf = (lora: Lora, learningRate: number) =>
  Effect.scoped(Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed: 1, ...lora })
    const { logprobs: [before = new Float32Array()] } = yield* StateTwins.run(
      client.forwardBackward([Examples.weighted()], Loss.crossEntropy)
    )
    yield* StateTwins.run(client.optimStep({ learningRate, ...adam }))
    const after = yield* StateTwins.logprobsOf(client)
    return after.map((value, t) => value - (before[t] ?? NaN))
  }))

/** A learning rate whose step visibly changes the log-probabilities, and the change `[T]`. */
const visibly = (lora: Lora) => Visible.step((learningRate) => changeOf(lora, learningRate), 1e-4)

const isUnsupported = (error: Check.Failure) => error._tag === "TinkerError" && error.reason._tag === "Unsupported"

/** A check that the first steps with `one` and with `others` differ by more than a repetition of `one` does. */
const matters = (
  name: string,
  why: string,
  one: Lora,
  others: ReadonlyArray<readonly [string, Lora]>
): Check.Check => ({
  theme: "adapters",
  name,
  why,
  run: Effect.gen(function*() {
    const { changeT, learningRate } = yield* visibly(one)
    const again = yield* changeOf(one, learningRate)
    const noise = Check.distance(again, changeT)
    const seen: Array<readonly [what: string, changeT: Float32Array]> = [["of the first adapter", changeT]]
    for (const [what, lora] of others) {
      const found = yield* Effect.catchIf(
        changeOf(lora, learningRate),
        isUnsupported,
        () => Effect.succeed(undefined)
      )
      if (found === undefined) continue
      for (const [other, expected] of seen) {
        yield* Check.expect(
          Check.distance(found, expected) > 2 * noise + 0.01 * Visible.visible,
          `a step ${what} to have a different effect from one ${other}`,
          "the same effect"
        )
      }
      seen.push([what, found])
    }
  })
})

export const seeds = matters(
  "adapters with different seeds differ",
  "Runs with several seeds would all be the same run, so their spread would say nothing about chance.",
  { seed: 1 },
  [["of seed 0", { seed: 0 }], ["of seed 2", { seed: 2 }], ["of seed 257", { seed: 257 }], ["of seed 1001", {
    seed: 1001
  }]]
)

/** Seeds that programs may treat as missing, truncate, or confuse with each other. */
const everySeed = [0, 1, 255, 256, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 1]

export const sameSeeds: Check.Check = {
  theme: "adapters",
  name: "the same seed gives the same adapter, in the same session and in another one",
  why: "A run with seed 0, often the first of a sweep, could not be repeated.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const [here, there] = [yield* session, yield* session]
    let model_seq_id = 0
    const stepped = Effect.fnUntraced(function*(session_id: string, seed: number) {
      const request = { ...Examples.adapter(session_id, base_model, { seed }), model_seq_id: model_seq_id++ }
      const { body } = yield* Effect.flatMap(post("/create_model", request), Blame.expectDone)
      const model = yield* NumberedModel.of(String(body["model_id"]))
      yield* model.learn()
      const found = yield* model.logprobs
      yield* post("/unload_model", { model_id: model.id, type: "unload_model" })
      return found
    })
    for (const seed of everySeed) {
      const first = yield* stepped(here.id, seed)
      const [again, elsewhere] = [yield* stepped(here.id, seed), yield* stepped(there.id, seed)]
      const tolerance = 0.01 + 0.006 * Math.max(...first.map(Math.abs))
      yield* Check.expectClose(`logprobs after a step of seed ${seed} again`, again, first, tolerance)
      yield* Check.expectClose(`logprobs after a step of seed ${seed} in another session`, elsewhere, first, tolerance)
    }
  })
}

export const ranks = matters(
  "adapters with different ranks differ",
  "If the rank is ignored, every run gets the same capacity.",
  { loraRank: 8 },
  [1, 2, 16, 32].map((loraRank) => [`of rank ${loraRank}`, { loraRank }])
)

export const modules = matters(
  "train_mlp, train_attn and train_unembed select the trained layers",
  "If excluded layers are trained too, other programs merge and load the wrong weights.",
  {},
  [
    ["without train_mlp", { trainMlp: false }],
    ["without train_attn", { trainAttn: false }],
    ["without train_unembed", { trainUnembed: false }]
  ]
)

export const noModules: Check.Check = {
  theme: "adapters",
  name: "an adapter that trains nothing is refused",
  why: "The request is a mistake, and otherwise the client notices only that the run learns nothing.",
  run: Effect.gen(function*() {
    const { model: base_model, post, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const nothing = { rank: 8, train_mlp: false, train_attn: false, train_unembed: false }
    yield* Blame.expectRefused(
      yield* post("/create_model", { ...Examples.adapter(session_id, base_model), lora_config: nothing })
    )
  })
}

export const described: Check.Check = {
  theme: "adapters",
  name: "weights_info returns an adapter's base model, rank and trained layers",
  why: "A run that continues elsewhere creates its model from this description.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const rest = yield* RestClient
    const options = { loraRank: 4, trainMlp: true, trainAttn: false, trainUnembed: true }
    const client = yield* tinker.createLoraTrainingClient({ baseModel, ...options })
    const { path } = yield* StateTwins.run(client.saveState("certify-described"))
    const weights = yield* StateTwins.run(client.saveWeightsForSampler("certify-described"))
    const found = yield* rest.getWeightsInfo(path)
    const expected = JSON.stringify([baseModel, true, 4])
    for (const { baseModel, isLora, loraRank } of [found, yield* rest.getWeightsInfo(weights.path)]) {
      const shown = JSON.stringify([baseModel, isLora, loraRank])
      yield* Check.expect(shown === expected, `weights of ${expected}`, shown)
    }
    const { info } = yield* tinker.createTrainingClientFromState(path)
    yield* Check.expect(info.loraRank === 4, "a model of rank 4 from the state", info.loraRank)
    const trains = [found.trainMlp, found.trainAttn, found.trainUnembed]
    if (trains.every((flag) => flag === undefined || flag === null)) {
      return "weights_info does not say which layers are trained"
    }
    yield* Check.expect(
      trains.join() === "true,false,true",
      "train_mlp, train_attn, train_unembed: true,false,true",
      trains
    )
  })
}

export const info: Check.Check = {
  theme: "adapters",
  name: "get_info returns an adapter's base model and rank",
  why: "Clients choose the tokenizer and the learning rate from this answer.",
  run: Effect.gen(function*() {
    const { model: base_model, post, result, session } = yield* RawRequests
    const { id } = yield* session
    const made = yield* result(yield* post("/create_model", { ...Examples.adapter(id, base_model, { rank: 4 }) }))
    const model_id = made.body["model_id"]
    const { body } = yield* post("/get_info", { model_id, type: "get_info" })
    const { is_lora, lora_rank, model_data, model_id: found } = body
    const name = typeof model_data === "object" && model_data !== null && "model_name" in model_data
      ? model_data.model_name
      : undefined
    const [shown, expected] = [[found, name], [model_id, base_model]].map((values) => JSON.stringify(values))
    yield* Check.expect(shown === expected, `the model ${expected}`, shown)
    yield* Check.expect((is_lora ?? true) === true && (lora_rank ?? 4) === 4, "LoRA of rank 4", `rank ${lora_rank}`)
  })
}

export const all = [seeds, sameSeeds, ranks, modules, noModules, described, info]
