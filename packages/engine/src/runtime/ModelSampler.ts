/**
 * Samples from one model on one thread: computes the scheduler's steps and draws the next tokens.
 * Code that runs on a thread imports single modules of other packages, because loading less makes the thread start sooner.
 */
import type { Sampling } from "@effect-rl/core/backend"
import { uniform } from "@effect-rl/core/records/Seed"
import { bytesOfToken } from "@effect-rl/files/tokenizer/ByteLevel"
import type { Mask } from "../grammar/Masks.ts"
import * as Batch from "../model/Batch.ts"
import type { Compute } from "../model/Compute.ts"
import * as Forward from "../model/Forward.ts"
import * as Head from "../model/Head.ts"
import * as ModelConfig from "../model/ModelConfig.ts"
import * as Memory from "../numerics/Memory.ts"
import type { Copy } from "./PagedCache.ts"
import { PageSegments } from "./PageSegments.ts"
import type { LoadedModel, SampleOrder, SampleResult } from "./Protocol.ts"
import { type Sample, tokenAt } from "./Sample.ts"
import { Scheduler, type Span, type Step } from "./Scheduler.ts"
import * as Stops from "./Stops.ts"

/** The randomness, stops and log-probabilities of one continuation. */
interface Draw {
  readonly uniform: () => number
  readonly isStop: (token: number) => boolean
  /** The mask of the tokens that the grammar allows; undefined without a grammar. */
  readonly mask: Mask | undefined
  readonly logprobs: Array<number>
  readonly maskedLogprobs: Array<number>
  readonly topkLogprobs: Array<ReadonlyArray<Sampling.TokenLogprob>>
}

/** The largest 1/temperature. f32 cannot hold a larger value, and an infinite one would give the most likely token a NaN weight. */
const largestHeat = 3e38

/** The logit of a token that cannot be drawn, the same as for padding. */
const forbidden = -3e38

const noneAllowed = "no token of the model continues a text that the grammar allows"

/** A row of a step whose logits are needed. */
interface ChosenRow {
  readonly sample: Sample
  readonly position: number
  readonly row: number
}

interface Request {
  readonly order: SampleOrder
  readonly draws: ReadonlyArray<Draw>
  readonly sequences: Array<Sampling.SampledTokens | undefined>
  readonly promptLogprobs: Float32Array
  readonly topkPromptLogprobs: Array<ReadonlyArray<Sampling.TokenLogprob>>
  /** Log-probabilities `[prompt − 1, candidates]` of the requested targets. */
  readonly targetLogprobs: Float32Array
  unfinished: number
  /** The reason why the request cannot be answered; undefined if it can. */
  refusal: string | undefined
}

export class ModelSampler {
  private readonly requests = new Map<number, Request>()
  private readonly scheduler: Scheduler
  private readonly compute: Compute
  private readonly model: LoadedModel
  private readonly cache: Batch.CacheLayout

  constructor(compute: Compute, model: LoadedModel) {
    this.compute = compute
    this.model = model
    this.cache = Batch.cacheLayout(compute.config, model.positions)
    this.scheduler = new Scheduler(model)
  }

  get stats() {
    return { ...this.scheduler.stats, orders: this.requests.size }
  }

  /** Queues an order. `masks` has one entry per sample, or none. */
  add(order: SampleOrder, masks: ReadonlyArray<Mask> = []) {
    const samples = this.scheduler.add({
      id: order.id,
      weights: order.weights,
      prompt: order.prompt,
      samples: order.seeds.length,
      maxTokens: order.maxTokens,
      scorePrompt: order.promptLogprobs || order.topkPromptLogprobs > 0 || order.targetPromptLogprobs !== undefined
    })
    this.requests.set(order.id, {
      order,
      draws: order.seeds.map((seed, index) => ({
        uniform: uniform(seed),
        isStop: Stops.matcher(order.stops, (token) => this.bytesOf(token)),
        mask: masks[index],
        logprobs: [],
        maskedLogprobs: [],
        topkLogprobs: []
      })),
      sequences: order.seeds.map(() => undefined),
      promptLogprobs: new Float32Array(order.prompt.length).fill(NaN),
      topkPromptLogprobs: order.topkPromptLogprobs > 0 ? [[]] : [],
      targetLogprobs: new Float32Array(order.targetPromptLogprobs?.tokens.length ?? 0),
      unfinished: samples.length,
      refusal: undefined
    })
  }

  cancel(id: number) {
    const request = this.requests.get(id)
    if (request === undefined) return
    this.requests.delete(id)
    this.scheduler.cancel(id)
    for (const [index, { mask }] of request.draws.entries()) {
      if (request.sequences[index] === undefined) mask?.dispose()
    }
  }

  /** Computes one forward pass. Returns the results of the requests that finished; undefined if there was nothing to compute. */
  step(): ReadonlyArray<SampleResult> | undefined {
    const step = this.scheduler.plan()
    if (step === undefined) return undefined
    const { arena } = this.compute
    const mark = arena.mark()
    for (const copy of step.copies) this.copyCache(copy)
    this.scheduler.computed(step)
    this.computeRows(step)
    arena.reset(mark)
    return step.spans.flatMap(({ sample, to }) => {
      const request = this.requests.get(sample.order.id)
      if (request === undefined) return []
      const { order } = request
      if (order.maxTokens === 0 && to >= order.prompt.length - 1) this.finish(request, sample, "length")
      if (request.unfinished > 0) return []
      this.requests.delete(order.id)
      const { refusal } = request
      return [{ id: order.id, ...(refusal === undefined ? { response: toResponse(request) } : { refusal }) }]
    })
  }

  private bytesOf(token: number): string {
    const { tokenBytes } = this.model
    return tokenBytes === undefined ? "" : Buffer.from(bytesOfToken(tokenBytes, token)).toString("latin1")
  }

  private copyCache({ from, length, to }: Copy) {
    const { config, memory } = this.compute
    const row = ModelConfig.keySize(config) * 4
    const page = this.model.pageSize * row
    const cache = Memory.bytes(memory, this.model.cache.start, this.model.cache.bytes)
    for (let layer = 0; layer < config.layers; layer++) {
      for (const offset of [0, this.cache.valueOffset]) {
        const place = layer * this.cache.layerStride + offset
        cache.copyWithin(place + to * page, place + from * page, place + from * page + length * row)
      }
    }
  }

  /** Computes all layers for a step's rows, then the logits of the chosen rows chunk by chunk. */
  private computeRows({ spans }: Step) {
    const { arena, config } = this.compute
    const { ids, positions, segments, chosen } = this.rows(spans)
    const groups = this.groups(spans)
    const { cache, model: { cache: { start: base } } } = this
    const x = Forward.run(this.compute, Batch.make(this.compute, { ids, positions, segments, base, cache, groups }))
    const size = Head.chunkRows(config)
    for (let start = 0; start < chosen.length; start += size) {
      const mark = arena.mark()
      const chunk = chosen.slice(start, start + size)
      const logits = Head.forwardAt(this.compute, groups, x, chunk.map(({ row }) => row))
      for (const [row, { position, sample }] of chunk.entries()) this.read(sample, position, logits, row)
      arena.reset(mark)
    }
  }

  private rows(spans: ReadonlyArray<Span>) {
    const ids: Array<number> = []
    const positions: Array<number> = []
    const segments = new PageSegments()
    const chosen: Array<ChosenRow> = []
    for (const { from, logitsFrom, sample, to } of spans) {
      segments.add(sample.place?.stretches ?? [], from, to)
      for (let position = from; position < to; position++) {
        if (position >= logitsFrom) chosen.push({ sample, position, row: ids.length })
        ids.push(tokenAt(sample, position))
        positions.push(position)
      }
    }
    return { ids, positions, segments: segments.all, chosen }
  }

  private groups(spans: ReadonlyArray<Span>): ReadonlyArray<Batch.Group> {
    const groups: Array<Batch.Group> = []
    let weights = -1
    for (const { from, sample: { order }, to } of spans) {
      const last = groups.at(-1)
      if (last !== undefined && order.weights === weights) {
        groups[groups.length - 1] = { ...last, rows: last.rows + to - from }
      } else {
        const adapter = this.requests.get(order.id)?.order.adapter
        groups.push({ start: (last?.start ?? 0) + (last?.rows ?? 0), rows: to - from, adapter })
      }
      weights = order.weights
    }
    return groups
  }

  /** Scores the next prompt token or draws the next token from the logits of one position. */
  private read(sample: Sample, position: number, logits: Head.Logits, row: number) {
    const request = this.requests.get(sample.order.id)
    if (request === undefined) return
    const { maxTokens, prompt } = request.order
    if (sample.index === 0 && position < prompt.length - 1) this.scorePrompt(request, position, logits, row)
    if (maxTokens > 0 && position === prompt.length + sample.tokens.length - 1) this.draw(request, sample, logits, row)
  }

  private scorePrompt(
    { order, promptLogprobs, targetLogprobs, topkPromptLogprobs }: Request,
    position: number,
    logits: Head.Logits,
    row: number
  ) {
    const next = order.prompt[position + 1] ?? 0
    const { candidates = 0, tokens = [] } = order.targetPromptLogprobs ?? {}
    for (let cell = position * candidates; cell < (position + 1) * candidates; cell++) {
      const token = tokens[cell] ?? -1
      if (token >= 0) targetLogprobs[cell] = Head.logprob(this.compute, logits, row, token)
    }
    if (order.promptLogprobs) promptLogprobs[position + 1] = Head.logprob(this.compute, logits, row, next)
    if (order.topkPromptLogprobs > 0) topkPromptLogprobs.push(this.top(logits, row, order.topkPromptLogprobs))
  }

  private top(logits: Head.Logits, row: number, count: number): ReadonlyArray<Sampling.TokenLogprob> {
    const { arena, config, kernels, memory } = this.compute
    const mark = arena.mark()
    const out = arena.allocate(count)
    const scratch = arena.allocate(config.vocabularySize)
    kernels.topTokens(out, this.rowAddress(logits, row), config.vocabularySize, count, scratch)
    const tokens = Array.from(Memory.integers(memory, out, Math.min(count, config.vocabularySize)))
    arena.reset(mark)
    return tokens.map((token) => ({ token, logprob: Head.logprob(this.compute, logits, row, token) }))
  }

  private rowAddress(logits: Head.Logits, row: number): Memory.Address {
    return logits.values + row * ModelConfig.paddedVocabulary(this.compute.config) * 4
  }

  private draw(request: Request, sample: Sample, logits: Head.Logits, row: number) {
    const draw = request.draws[sample.index]
    if (draw === undefined) throw new RangeError(`a request of ${request.draws.length} has no sample ${sample.index}`)
    const token = draw.mask === undefined
      ? this.pick(request.order, logits, row, draw.uniform())
      : this.pickAllowed(request.order, draw, draw.mask, logits, row)
    if (token === undefined) {
      request.refusal = noneAllowed
      return this.finish(request, sample, "length")
    }
    sample.tokens.push(token)
    draw.logprobs.push(Head.logprob(this.compute, logits, row, token))
    const { topkSampleLogprobs } = request.order
    if (topkSampleLogprobs > 0) draw.topkLogprobs.push(this.top(logits, row, topkSampleLogprobs))
    if (draw.isStop(token)) this.finish(request, sample, "stop")
    else if (sample.tokens.length >= request.order.maxTokens) this.finish(request, sample, "length")
  }

  /** Draws a token that the mask allows; undefined if it allows none. */
  private pickAllowed(order: SampleOrder, draw: Draw, mask: Mask, logits: Head.Logits, row: number) {
    const allowed = mask.allowed()
    if (allowed === undefined) return undefined
    const { arena } = this.compute
    const mark = arena.mark()
    const masked = this.masked(logits, row, allowed)
    const token = this.pick(order, masked, 0, draw.uniform())
    draw.maskedLogprobs.push(Head.logprob(this.compute, masked, 0, token))
    arena.reset(mark)
    mask.accept(token)
    return token
  }

  /** Copies one row of logits into the arena, excluding tokens whose bit is 0. */
  private masked(logits: Head.Logits, row: number, allowed: Uint32Array): Head.Logits {
    const { arena, config, kernels, memory } = this.compute
    const padded = ModelConfig.paddedVocabulary(config)
    const [values, maximumAndSum] = [arena.allocate(padded), arena.allocate(2)]
    const floats = Memory.floats(memory, values, padded)
    floats.set(Memory.floats(memory, this.rowAddress(logits, row), padded))
    for (let token = 0; token < config.vocabularySize; token++) {
      if ((((allowed[token >>> 5] ?? 0) >>> (token & 31)) & 1) === 0) floats[token] = forbidden
    }
    kernels.logSumExp(maximumAndSum, values, 1, padded)
    return { ...logits, rows: 1, values, maximumAndSum }
  }

  private pick({ temperature, topK, topP }: SampleOrder, logits: Head.Logits, row: number, u: number): number {
    const { arena, config, kernels, memory } = this.compute
    const { vocabularySize } = config
    const values = this.rowAddress(logits, row)
    if (temperature === 0) return kernels.argmax(values, vocabularySize)
    const [maximum = 0] = Memory.floats(memory, logits.maximumAndSum + row * 8, 1)
    const padded = ModelConfig.paddedVocabulary(config)
    const mark = arena.mark()
    const scratch = arena.allocate(2 * padded)
    const heat = Math.min(1 / temperature, largestHeat)
    const token = topK === 0 && topP === 1
      ? kernels.sample(values, vocabularySize, padded, maximum, heat, u, scratch)
      : kernels.sampleFiltered(values, vocabularySize, padded, maximum, heat, topK, topP, u, scratch)
    arena.reset(mark)
    return token
  }

  private finish(request: Request, sample: Sample, stopReason: Sampling.SampleStopReason) {
    this.scheduler.finish(sample)
    request.unfinished--
    const { logprobs = [], mask, maskedLogprobs = [], topkLogprobs = [] } = request.draws[sample.index] ?? {}
    mask?.dispose()
    request.sequences[sample.index] = {
      tokens: Int32Array.from(sample.tokens),
      logprobs: Float32Array.from(logprobs),
      ...(mask === undefined ? {} : { maskedLogprobs: Float32Array.from(maskedLogprobs) }),
      stopReason,
      ...(request.order.topkSampleLogprobs > 0 ? { topkLogprobs } : {})
    }
  }
}

const toResponse = (request: Request): Sampling.SampleResponse => {
  const { order, promptLogprobs, sequences, targetLogprobs, topkPromptLogprobs } = request
  const targets = order.targetPromptLogprobs
  return {
    sequences: sequences.filter((sequence) => sequence !== undefined),
    ...(order.promptLogprobs ? { promptLogprobs } : {}),
    ...(order.topkPromptLogprobs > 0 ? { topkPromptLogprobs } : {}),
    ...(targets === undefined
      ? {}
      : { targetPromptLogprobs: { logprobs: targetLogprobs, candidates: targets.candidates } })
  }
}
