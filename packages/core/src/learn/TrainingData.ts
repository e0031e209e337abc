/** Builds training data from the trajectories of groups. */
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Branch from "../env/Branch.ts"
import type * as Trajectory from "../env/Trajectory.ts"
import * as Datum from "../model/Datum.ts"
import * as ModelInput from "../model/ModelInput.ts"
import * as GroupResult from "../rollout/GroupResult.ts"
import type { Estimator, TokenAdvantage } from "./Advantage.ts"
import * as CreditError from "./CreditError.ts"
import type { InformativeGroup } from "./Signal.ts"

/** A datum for policy losses, and the group, member and turns from which it was made. */
export interface TrainingDatum extends Datum.Datum<"PolicyTokens"> {
  readonly origin: Datum.Origin
}

/** A turn and the advantage of each token of its action. */
export interface Step {
  readonly transition: Trajectory.Transition
  /** The advantages of the action's tokens. They are rounded to float32 when the datum is made. */
  readonly advantages: Float64Array
}

/** A group's advantages, shape `[G]`, and its datums in the order of members and turns. */
export interface Assembled {
  readonly group: GroupResult.Finished
  readonly advantagesG: Float32Array
  readonly data: ReadonlyArray<TrainingDatum>
}

/** Whether the datum is not the first of its member: it started at a prompt that did not continue an earlier turn. */
export const isBranch = ({ origin }: TrainingDatum) => origin.segment > 0

/** The positions of a sequence as token ids, with 0 for the positions of an image. */
interface Layout {
  readonly tokens: Int32Array
  readonly images: ReadonlyArray<{ readonly at: number; readonly image: ModelInput.Image }>
}

/** Everything that the model had read after a turn: its observation, then its action from position `start`. */
interface Turn extends Layout, Step {
  /** Index of the turn in the episode. */
  readonly index: number
  readonly start: number
}

const layout = (chunks: ReadonlyArray<ModelInput.Chunk>, length: number): Layout => {
  const tokens = new Int32Array(length)
  const images: Array<{ at: number; image: ModelInput.Image }> = []
  let at = 0
  for (const chunk of chunks) {
    if (chunk._tag === "Image") {
      images.push({ at, image: chunk })
      at += chunk.expectedTokens
    } else {
      tokens.set(chunk.tokens, at)
      at += chunk.tokens.length
    }
  }
  return { tokens, images }
}

const layoutTurn = ({ advantages, transition }: Step, index: number): Turn => {
  const { action, observation } = transition
  if (action.tokens.length !== action.logprobs.length) {
    throw new RangeError(
      `an action has ${action.tokens.length} tokens and ${action.logprobs.length} log-probabilities, expected one for each`
    )
  }
  const chunks: ReadonlyArray<ModelInput.Chunk> = [
    ...observation.chunks,
    { _tag: "EncodedText", tokens: action.tokens }
  ]
  return {
    ...layout(chunks, observation.length + action.tokens.length),
    advantages,
    transition,
    index,
    start: observation.length
  }
}

/** Whether the later turn's observation begins with everything that the earlier turn read and wrote. */
const continues = (earlier: Turn, later: Turn) => {
  const length = earlier.tokens.length
  if (length > later.start) return false
  for (let t = 0; t < length; t++) if (earlier.tokens[t] !== later.tokens[t]) return false
  const images = later.images.filter(({ at }) => at < length)
  return images.length === earlier.images.length && images.every(({ at, image }, index) => {
    const other = earlier.images[index]
    return other?.at === at && ModelInput.sameImage(other.image, image)
  })
}

/**
 * Sequences of turns that each continue the one before, in the order of their first turns. If several turns continue the same turn, only
 * the first joins its sequence, so no sampled token is trained on twice.
 */
const pieces = (turns: ReadonlyArray<Turn>): ReadonlyArray<ReadonlyArray<Turn>> => {
  const runs: Array<Array<Turn>> = []
  for (const turn of turns) {
    const before = Branch.previous(turn.index, turn.transition.branch)
    const run = runs.find((run) => run.at(-1)?.index === before)
    const last = run?.at(-1)
    if (run !== undefined && last !== undefined && continues(last, turn)) run.push(turn)
    else runs.push([turn])
  }
  return runs
}

/** The first `length` positions, with adjacent text tokens in one chunk. */
const toModelInput = ({ images, tokens }: Layout, length: number): ModelInput.ModelInput => {
  const chunks: Array<ModelInput.Chunk> = []
  let at = 0
  for (const { at: imageAt, image } of images) {
    if (imageAt >= length) break
    chunks.push({ _tag: "EncodedText", tokens: tokens.subarray(at, imageAt) }, image)
    at = imageAt + image.expectedTokens
  }
  return ModelInput.fromChunks([...chunks, { _tag: "EncodedText", tokens: tokens.subarray(at, length) }])
}

/** The length of the trained part. A target must be a token, so a sequence that ends in an image is cut after the last action. */
const trainableLength = (turns: ReadonlyArray<Turn>, last: Turn) => {
  const image = last.images.at(-1)
  if (image === undefined || image.at + image.image.expectedTokens < last.tokens.length) return last.tokens.length
  const acted = turns.findLast(({ transition }) => transition.action.tokens.length > 0)
  return acted?.tokens.length ?? 0
}

/** The provenance of each position, turn by turn: the new part of the prompt, then the sampled tokens. */
const spans = (turns: ReadonlyArray<Turn>): ReadonlyArray<Datum.Span> | undefined => {
  const found: Array<Datum.Span> = []
  let end = 0
  for (const { start, transition: { action: { sequenceId, tokens } } } of turns) {
    if (sequenceId === undefined) return undefined
    found.push({ of: "prompt", sequenceId, offset: end, length: start - end })
    found.push({ of: "sampled", sequenceId, offset: 0, length: tokens.length })
    end = start + tokens.length
  }
  return found
}

/** The part of the runs between positions `from` and `to`. */
const cut = (runs: ReadonlyArray<Datum.Span>, from: number, to: number): ReadonlyArray<Datum.Span> => {
  let at = 0
  return runs.flatMap((run) => {
    const start = Math.max(from, at)
    const end = Math.min(to, at + run.length)
    const offset = run.offset + start - at
    at += run.length
    return end > start ? [{ ...run, offset, length: end - start }] : []
  })
}

/** The provenance of the datum; absent if a turn has no `sequenceId`. */
const provenanceOf = (turns: ReadonlyArray<Turn>, length: number): Pick<Datum.Datum<"PolicyTokens">, "provenance"> => {
  const runs = spans(turns)
  return runs === undefined
    ? {}
    : { provenance: { modelInput: cut(runs, 0, length - 1), targets: cut(runs, 1, length) } }
}

/** For each target, the optimizer step of the weights that sampled it; absent if a turn does not record it. */
const samplerStepsOf = (
  turns: ReadonlyArray<Turn>,
  length: number
): Pick<Datum.Datum<"PolicyTokens">, "samplerSteps"> => {
  const samplerSteps = new Int32Array(length).fill(-1)
  for (const { start, tokens, transition: { action: { samplerStep } } } of turns) {
    if (samplerStep === undefined) return {}
    samplerSteps.fill(samplerStep, start, tokens.length)
  }
  return { samplerSteps: samplerSteps.subarray(1) }
}

/**
 * Makes a datum from turns whose last one includes all earlier positions. Targets are shifted by one: position `t` predicts token `t + 1`.
 * Undefined if there is nothing to predict.
 */
const toDatum = (turns: ReadonlyArray<Turn>): Datum.Datum<"PolicyTokens"> | undefined => {
  const last = turns.at(-1)
  const length = last === undefined ? 0 : trainableLength(turns, last)
  if (last === undefined || length < 2) return undefined
  const logprobs = new Float32Array(length)
  const advantages = new Float32Array(length)
  const mask = new Float32Array(length)
  for (const { advantages: own, start, tokens, transition: { action, trainable } } of turns) {
    if (start === tokens.length) continue
    logprobs.set(action.logprobs, start)
    if (trainable) {
      advantages.set(own, start)
      mask.fill(1, start, tokens.length)
    }
  }
  const datum = Datum.policyTokens(toModelInput(last, length - 1), {
    targetTokens: last.tokens.subarray(1, length),
    logprobs: logprobs.subarray(1),
    advantages: advantages.subarray(1),
    mask: mask.subarray(1)
  })
  return { ...datum, ...samplerStepsOf(turns, length), ...provenanceOf(turns, length) }
}

const toData = (
  steps: ReadonlyArray<Step>,
  origin: Omit<Datum.Origin, "turns" | "segment">
): ReadonlyArray<TrainingDatum> =>
  pieces(steps.map(layoutTurn)).flatMap((turns, segment) => {
    const datum = toDatum(turns)
    return datum === undefined
      ? []
      : [{ ...datum, origin: { ...origin, turns: turns.map(({ index }) => index), segment } }]
  })

/** A failure of the estimator, which is a caller's function. */
const failure = ({ name }: Pick<Estimator, "name">, detail: string) =>
  new CreditError.CreditError({ rule: `estimator "${name}"`, detail })

const finite = (estimator: Estimator, advantage: number, place: () => string) => {
  if (Number.isFinite(advantage)) return advantage
  throw failure(estimator, `gave ${advantage} for ${place()}, expected a finite number`)
}

/** A member's turns with their token advantages: the member's advantage, unless the estimator distinguishes tokens. */
const stepsOf = (
  estimator: Estimator,
  ofTokens: TokenAdvantage | undefined,
  { transitions }: Trajectory.Trajectory,
  { advantage, member, place }: { readonly advantage: number; readonly member: number; readonly place: string }
): ReadonlyArray<Step> =>
  transitions.map((transition, turn) => {
    const { action: { tokens }, trainable } = transition
    const at = (position: number) => `${place}, turn ${turn}, position ${position} of ${tokens.length}`
    const advantages = new Float64Array(tokens.length).fill(advantage)
    if (ofTokens !== undefined && trainable) {
      for (let t = 0; t < tokens.length; t++) {
        advantages[t] = finite(estimator, ofTokens(member, turn, t), () => at(t))
      }
    }
    return { transition, advantages }
  })

const estimated = (informative: InformativeGroup, estimator: Estimator) => {
  const { group } = informative
  const { key, members } = group
  const advantagesG = estimator.of(informative)
  if (advantagesG.length !== members.length) {
    const expected = `expected one for each of its ${members.length} members`
    throw failure(estimator, `gave ${advantagesG.length} advantages for group "${key}", ${expected}`)
  }
  const ofTokens = estimator.ofTokens?.(informative)
  const steps = GroupResult.survivors(group).map(([member, trajectory]) => {
    const place = `group "${key}", member ${member}`
    const advantage = advantagesG[member] ?? NaN
    const steps = stepsOf(estimator, ofTokens, trajectory, { advantage, member, place })
    finite(estimator, advantage, () => place)
    return [member, steps] as const
  })
  return { group, advantagesG, steps }
}

/** The advantages of a group and its members' turns. Throws a `CreditError` if the estimator throws, or if its advantages are unusable. */
const judge = (informative: InformativeGroup, estimator: Estimator) =>
  Result.getOrThrow(Result.try({
    try: () => estimated(informative, estimator),
    catch: CreditError.fromThrown(`estimator "${estimator.name}"`, `failed for group "${informative.group.key}"`)
  }))

/** The advantages of all tokens that a group's datums train on. The first token of an empty prompt is not a target. */
export const trained = (informative: InformativeGroup, estimator: Estimator): ReadonlyArray<number> =>
  judge(informative, estimator).steps.flatMap(([, steps]) =>
    steps.flatMap(({ advantages, transition: { observation, trainable } }) =>
      trainable ? Array.from(advantages).slice(observation.length === 0 ? 1 : 0) : []
    )
  )

/**
 * The datums of a group, in the order of members and turns. A turn shares a datum with the turn that it continues, if its observation
 * begins with everything that turn read and wrote. A turn that rewrites history, or continues a turn that another turn already continues,
 * starts a new datum. Action tokens have mask 1 and the member's advantage, or their own if the estimator has `ofTokens`; all other
 * positions have 0. Turns that are not trainable have advantage and mask 0, but keep their log-probabilities. A sequence without anything
 * to predict gives no datum, so the result may be empty. `scale` changes advantages before they are rounded. Throws a `CreditError` if the
 * estimator throws or does not return one finite number per member or token, and a `RangeError` if an action's tokens and log-probabilities
 * differ in number.
 *
 * @example
 * const data = Signal.informative([group]).flatMap((group) => TrainingData.assemble(group, Advantage.centered).data)
 *
 * @see tinker-cookbook `assemble_training_data`, `trajectory_to_data`
 */
export const assemble = (
  informative: InformativeGroup,
  estimator: Estimator,
  scale: (advantage: number) => number = identity
): Assembled => {
  const { advantagesG, group, steps } = judge(informative, estimator)
  const { iteration, key, members, samplerStep } = group
  return {
    group,
    advantagesG: Float32Array.from(
      advantagesG,
      (advantage, member) => Option.isSome(members[member] ?? Option.none()) ? scale(advantage) : 0
    ),
    data: steps.flatMap(([member, steps]) => {
      const scaled = steps.map((step) => ({ ...step, advantages: step.advantages.map(scale) }))
      return toData(scaled, { iteration, group: key, member, samplerStep })
    })
  }
}
