/** Integers near the limits of number formats. */
import { Loss, Tinker } from "@effect-rl/core"
import { Capabilities } from "@effect-rl/core/backend"
import * as Effect from "effect/Effect"
import * as Blame from "../Blame.ts"
import * as Check from "../Check.ts"
import * as Examples from "../Examples.ts"
import { RawRequests, type Reply } from "../RawRequests.ts"
import * as StateTwins from "../StateTwins.ts"

/** Integers around the limits of 16, 24, 31, 32, 48, 53 and 60 bits. */
const ends = [16n, 24n, 31n, 32n, 48n, 53n, 60n].flatMap((bits) => [2n ** bits - 1n, 2n ** bits, 2n ** bits + 1n])

const largest = 2n ** 63n - 1n

/** Numbers that share their lower bits. */
const alike = [1n, ...ends, largest]

/** The JSON text of a body, in which a field that is 0 is replaced by a number with all its digits. */
const written = (body: object, field: string, value: bigint) =>
  JSON.stringify(body).replace(`"${field}":0`, `"${field}":${value}`)

const wordsOf = ({ body }: Reply) => Examples.sequencesOf(body).map(({ tokens }) => tokens.join(" "))

/** Samples with a seed of any size; undefined if the seed is refused. */
const seeded = (sampler: string) => {
  let sequence = 0
  return Effect.fnUntraced(function*(seed: bigint, num_samples = 1) {
    const { postText, result } = yield* RawRequests
    const sampling_params = { ...Examples.sampling, max_tokens: 16, temperature: 1.5, seed: 0 }
    const request = Examples.sample(sampler, ++sequence, { num_samples, sampling_params })
    const found = yield* Effect.flatMap(postText("/asample", written(request, "seed", seed)), result)
    if (found.status === 200 && !("error" in found.body)) return wordsOf(found)
    yield* Blame.expectRefused(found)
    return undefined
  })
}

const promised = Effect.gen(function*() {
  const { model } = yield* RawRequests
  const { seeds } = yield* Tinker.Tinker.use(({ capabilities }) => capabilities(model))
  return Capabilities.promise(seeds, "request")
    ? seeds
    : yield* Check.absent("the same seed does not repeat its samples")
})

const why = "A seed that loses digits repeats another seed's samples, and a group of equal members teaches nothing."

export const seeds: Check.Check = {
  theme: "seeds",
  name: "seeds of up to 63 bits that differ only in their first or last digits give different samples",
  why,
  run: Effect.gen(function*() {
    const { session } = yield* RawRequests
    yield* promised
    const { sampler } = yield* session
    const ask = seeded(yield* sampler)
    const known = new Map<string, bigint>()
    for (const seed of alike) {
      const found = yield* ask(seed)
      if (found === undefined) continue
      const text = found.join("; ")
      yield* Check.expect(!known.has(text), `other samples of seed ${seed} than of ${known.get(text)}`, text)
      known.set(text, seed)
    }
    const again = yield* ask(largest)
    if (again !== undefined) {
      yield* Check.expect(known.get(again.join("; ")) === largest, `the samples of seed ${largest} again`, again)
    }
  })
}

export const groups: Check.Check = {
  theme: "seeds",
  name: "the samples of a request differ even if its seed is near the limit of a number format",
  why,
  run: Effect.gen(function*() {
    const { session } = yield* RawRequests
    const meaning = yield* promised
    const { sampler } = yield* session
    const ask = seeded(yield* sampler)
    for (const seed of [0n, 2n ** 24n - 2n, 2n ** 31n - 2n, 2n ** 32n - 2n, 2n ** 53n - 3n]) {
      const together = yield* ask(seed, 4)
      if (together === undefined) continue
      if (meaning !== "duplicates") {
        yield* Check.expect(new Set(together).size === 4, `4 different samples of seed ${seed}`, together.join("; "))
      }
      if (meaning !== "sample" || seed > 2n ** 52n) continue
      const last = yield* ask(seed + 3n)
      yield* Check.expect(last?.[0] === together[3], `sample 3 of seed ${seed} as that of seed ${seed + 3n}`, last)
    }
  })
}

/** Adapter seeds that are equal as 32-bit floats or in their lower bits. */
const adapterSeeds = [2 ** 24, 2 ** 24 + 1, 2 ** 31 - 1, 2 ** 31, 2 ** 53 - 2, 2 ** 53 - 1]

export const adapters: Check.Check = {
  theme: "adapters",
  name: "adapters whose seeds differ only in their last digits differ",
  why: "Runs with several seeds would all be the same run, so their spread would say nothing about chance.",
  run: Effect.gen(function*() {
    const { model: baseModel } = yield* RawRequests
    const tinker = yield* Tinker.Tinker
    const stepped = Effect.fnUntraced(function*(seed: number) {
      const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: 8, seed })
      yield* StateTwins.run(client.forwardBackward([Examples.weighted()], Loss.crossEntropy))
      yield* StateTwins.run(client.optimStep({ learningRate: Examples.learningRate }))
      return yield* StateTwins.logprobsOf(client)
    })
    const all: Array<Float32Array> = []
    for (const seed of adapterSeeds) {
      const found = yield* Effect.scoped(stepped(seed))
      const same = all.findIndex((other) => Check.distance(other, found) < 1e-5)
      yield* Check.expect(same < 0, `a step of seed ${seed} unlike one of seed ${adapterSeeds[same]}`, "the same")
      all.push(found)
    }
  })
}

export const sequences: Check.Check = {
  theme: "repeats",
  name: "requests whose numbers differ only in their first or last digits are separate requests",
  why: "Processes that share a sampler use number ranges a billion apart, and would get each other's samples.",
  run: Effect.gen(function*() {
    const { postText, session } = yield* RawRequests
    const { sampler } = yield* session
    const id = yield* sampler
    const known = new Map<unknown, bigint>()
    for (const number of alike) {
      const request = Examples.sample(id, 0, {
        num_samples: 1,
        sampling_params: { ...Examples.sampling, max_tokens: 1 }
      })
      const { body } = yield* postText("/asample", written(request, "seq_id", number))
      const other = known.get(body["request_id"])
      yield* Check.expect(other === undefined, `a promise of its own for number ${number}`, `that of ${other}`)
      known.set(body["request_id"], number)
    }
  })
}

export const places: Check.Check = {
  theme: "sessions",
  name: "models and samplers whose numbers differ only in the last digit are separate",
  why: "A model confused with its neighbour trains on the neighbour's data.",
  run: Effect.gen(function*() {
    const { model: base_model, postText, session } = yield* RawRequests
    const { id: session_id } = yield* session
    const type = "create_sampling_session"
    const request = { session_id, sampling_session_seq_id: 0, base_model, type }
    const known = new Set<unknown>()
    const numbers = alike.filter((number) => number < 2n ** 32n)
    for (const number of numbers) {
      const { body } = yield* postText("/create_sampling_session", written(request, "sampling_session_seq_id", number))
      known.add(body["sampling_session_id"])
    }
    yield* Check.expect(known.size === numbers.length, `${numbers.length} sampling sessions`, known.size)
    const models = yield* Effect.forEach([2n ** 24n, 2n ** 24n + 1n], (number) =>
      Effect.flatMap(
        postText("/create_model", written(Examples.adapter(session_id, base_model), "model_seq_id", number)),
        Blame.expectDone
      ))
    const [one, other] = models.map(({ body }) => body["model_id"])
    yield* Check.expect(one !== other, "two models", one)
  })
}

export const all = [seeds, groups, adapters, sequences, places]
