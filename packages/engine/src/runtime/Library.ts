/** An engine's models, each loaded into shared memory on first use. */
import { TinkerError } from "@effect-rl/core"
import type { Capabilities, RequestRules } from "@effect-rl/core/backend"
import type { Tokenizer } from "@effect-rl/core/renderers"
import type { HuggingFaceTokenizer } from "@effect-rl/files"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { Compute } from "../model/Compute.ts"
import type { ModelConfig } from "../model/ModelConfig.ts"
import * as Weights from "../model/Weights.ts"
import * as Memory from "../numerics/Memory.ts"
import { Host } from "./Host.ts"
import * as MemoryPlan from "./MemoryPlan.ts"
import * as Pages from "./Pages.ts"
import type { LoadedModel } from "./Protocol.ts"

type ModelTokenizer = HuggingFaceTokenizer.HuggingFaceTokenizer

/** A model on disk that can be loaded. */
export interface ModelSource {
  readonly name: string
  readonly config: ModelConfig
  readonly storageOf: Weights.StorageOf
  /** The largest number of bytes that the model's plan may use. */
  readonly shareBytes: number
  readonly tokenizer: Effect.Effect<ModelTokenizer, Tokenizer.TokenizerError>
  /** The arena bytes that `fill` needs. */
  readonly scratchBytes: number
  /** Reads every tensor into `compute.weights`. */
  readonly fill: (compute: Compute) => Effect.Effect<void, TinkerError.Reason>
}

/** A model that cannot be opened. */
export interface RefusedModel {
  readonly name: string
  /** The reason, including the affected file. */
  readonly detail: string
}

/** A model that is loaded in shared memory. */
export interface Model {
  /** The model's number in messages to threads. */
  readonly id: number
  readonly name: string
  readonly config: ModelConfig
  readonly plan: MemoryPlan.MemoryPlan
  readonly limits: RequestRules.Limits
  readonly hasTokenBytes: boolean
  /** The end-of-sequence token; undefined if the tokenizer has none. */
  readonly endOfSequence: number | undefined
}

export interface Library {
  readonly names: ReadonlyArray<string>
  readonly capabilities: (name: string) => Effect.Effect<Capabilities.Capabilities, TinkerError.Reason>
  readonly load: (name: string) => Effect.Effect<Model, TinkerError.Reason>
  readonly tokenizer: (name: string) => Effect.Effect<ModelTokenizer, Tokenizer.TokenizerError> | undefined
}

const capabilitiesOf = (
  contextLength: number,
  { fingerprint, tokenBytes }: ModelTokenizer
): Capabilities.Capabilities => ({
  contextLength,
  lossReduction: "token-sum",
  seeds: "sample",
  promptLogprobs: true,
  topkPromptLogprobs: 20,
  sampling: ["topkSampleLogprobs", "targetPromptLogprobs", ...(tokenBytes === undefined ? [] : ["grammar" as const])],
  loraRank: MemoryPlan.loraRank,
  tokenizerFingerprint: fingerprint
})

interface Entry {
  readonly contextLength: number
  readonly tokenizer: Effect.Effect<ModelTokenizer, Tokenizer.TokenizerError>
  readonly load: Effect.Effect<Model, TinkerError.Reason>
}

const unusable = (error: Tokenizer.TokenizerError) => new TinkerError.Rejected({ detail: error.message })

const size = (bytes: number) =>
  bytes < 2 ** 27 ? `${Math.ceil(bytes / 2 ** 20)} MiB` : `${(bytes / 2 ** 30).toFixed(2)} GiB`

const tooLarge = (name: string, { contextLength }: ModelConfig, plan: MemoryPlan.MemoryPlan, free: number) =>
  new TinkerError.Unavailable({
    lacks: "memory",
    detail: `"${name}" takes ${size(plan.weightBytes)} and room for sequences of ${contextLength} tokens; ` +
      `${size(free)} of the engine's memory are free: close unused clients, or use a smaller model`
  })

/** Models above this size are logged when loaded: they take time to read and reduce the free memory. */
const largeBytes = 64 * 1024 * 1024

/** Describes a model's plan for the log, before the model is read. */
const describe = (name: string, plan: MemoryPlan.MemoryPlan, available: number) =>
  `${name}: ${size(plan.weightBytes)} of weights, ${plan.threads} of ${available} compute threads with ` +
  `${size(plan.trainingBytes + plan.cacheBytes)} each, context of ${plan.contextLength} tokens`

/**
 * Plans a model's share of the free memory, reserves it and reads the weights. Fails with `Unavailable` if the model does not fit. All of
 * the model's threads have received the model before the effect ends.
 */
const loadInto = Effect.fnUntraced(function*(
  host: Host["Service"],
  id: number,
  { config, fill, name, scratchBytes, shareBytes, storageOf }: ModelSource,
  tokenizer: ModelTokenizer
) {
  const { announce, arenas, kernels, room, threads } = host
  const { memory } = room
  const supply = { threads: threads.count, bytes: Math.min(room.free(), shareBytes), arenaBytes: arenas.bytes() }
  const plan = MemoryPlan.of(config, storageOf, supply)
  if (plan.contextLength < config.contextLength || plan.totalBytes > supply.bytes) {
    return yield* tooLarge(name, config, plan, supply.bytes)
  }
  yield* announce
  const isWorthKnowing = plan.weightBytes > largeBytes || plan.threads < threads.count
  yield* Effect.logWithLevel(isWorthKnowing ? "Info" : "Debug")(describe(name, plan, threads.count))
  const weights = yield* room.allocated((allocator) => Weights.allocate(memory, allocator, config, storageOf))
  yield* Effect.scoped(Effect.flatMap(room.scoped(Math.ceil(scratchBytes / 4)), (start) => {
    const arena = Memory.arena({ start, bytes: scratchBytes })
    return fill({ kernels, memory, config, weights, arena })
  }))
  const { addedTokens, eosTokenId: endOfSequence, tokenBytes } = tokenizer
  const region = (bytes: number) => Effect.map(room.scoped(bytes / 4), (start): Memory.Region => ({ start, bytes }))
  yield* arenas.ensure(plan.threads, plan.samplingBytes)
  const modelT = yield* Effect.forEach(Array.from({ length: plan.threads }), () =>
    Effect.gen(function*() {
      const cache = yield* region(plan.cacheBytes)
      const { positions, prefillRows, sequences } = plan
      const { pageSize } = Pages
      const limits = { positions, pageSize, sequences, prefillRows }
      return { model: id, config, weights, tokenBytes, addedTokens, cache, ...limits } satisfies LoadedModel
    }))
  yield* threads.load(modelT)
  const limits = { capabilities: capabilitiesOf(config.contextLength, tokenizer), vocabulary: config.vocabularySize }
  return { id, name, config, plan, limits, hasTokenBytes: tokenBytes !== undefined, endOfSequence } satisfies Model
})

/** Loads a model on first request. A failed load frees its memory, and the next request tries again. */
const onceLoaded = Effect.fnUntraced(function*<A, E>(load: Effect.Effect<A, E, Scope.Scope>) {
  const permit = yield* Semaphore.make(1)
  const scope = yield* Scope.make()
  let loaded: A | undefined
  const first = Effect.gen(function*() {
    const attempt = yield* Scope.fork(scope)
    return yield* Scope.provide(load, attempt).pipe(
      Effect.onError((cause) => Scope.close(attempt, Exit.failCause(cause)))
    )
  })
  return permit.withPermit(Effect.suspend(() =>
    loaded === undefined
      ? Effect.tap(first, (value) => {
        loaded = value
        return Effect.void
      })
      : Effect.succeed(loaded)
  )).pipe(Effect.uninterruptible)
})

const makeEntry = Effect.fnUntraced(function*(host: Host["Service"], id: number, source: ModelSource) {
  const supply = { threads: host.threads.count, bytes: source.shareBytes, arenaBytes: 0 }
  const { contextLength } = MemoryPlan.of(source.config, source.storageOf, supply)
  const config = { ...source.config, contextLength }
  const tokenizer = yield* Effect.cached(source.tokenizer)
  const load = yield* onceLoaded(
    Effect.flatMap(
      Effect.mapError(tokenizer, unusable),
      (tokenizer) => loadInto(host, id, { ...source, config }, tokenizer)
    )
  )
  return { contextLength, tokenizer, load } satisfies Entry
})

export const make = Effect.fnUntraced(function*(
  sources: ReadonlyArray<ModelSource>,
  refused: ReadonlyArray<RefusedModel>
) {
  const host = yield* Host
  const entries = new Map<string, Entry>()
  for (const [id, source] of sources.entries()) entries.set(source.name, yield* makeEntry(host, id, source))
  const names = [...entries.keys()]

  const find = (name: string): Effect.Effect<Entry, TinkerError.Rejected | TinkerError.NotFound> => {
    const entry = entries.get(name)
    if (entry !== undefined) return Effect.succeed(entry)
    const refusal = refused.find((model) => model.name === name)
    return Effect.fail(
      refusal === undefined
        ? new TinkerError.NotFound({ kind: "model", name, available: names })
        : new TinkerError.Rejected({ detail: refusal.detail })
    )
  }

  const capabilities = Effect.fnUntraced(function*(name: string) {
    const { contextLength, tokenizer } = yield* find(name)
    return capabilitiesOf(contextLength, yield* Effect.mapError(tokenizer, unusable))
  })

  return {
    names,
    capabilities,
    load: (name) => Effect.flatMap(find(name), ({ load }) => load),
    tokenizer: (name) => entries.get(name)?.tokenizer
  } satisfies Library
})
