/** A backend that answers every second attempt correctly, so everything around it can be tried in seconds. */
import { Tinker } from "@effect-rl/core"
import type { Sampling } from "@effect-rl/core/backend"
import { ModelRegistry } from "@effect-rl/core/renderers"
import { type Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { specialTokens } from "../play/CodePoints.ts"
import { AnswerKey, type AnswerTo } from "./AnswerKey.ts"

const tokenizer = TestTokenizer.make({
  name: "characters",
  specialTokens,
  pieces: TestTokenizer.characterPieces
})

/** The text of a prompt that the mock backend's tokenizer made. */
export const textOf = (prompt: Sampling.SampleRequest["prompt"]) =>
  tokenizer.decode(prompt.chunks.flatMap((chunk) => chunk._tag === "Image" ? [] : Array.from(chunk.tokens)))

const end = ([stop]: Sampling.Stop = []): ReadonlyArray<number> =>
  typeof stop === "string" ? Array.from(tokenizer.encode(stop)) : stop === undefined ? [] : [stop]

/** The tokens of an answer, in `\boxed{…}` if the prompt asks for it. */
const say = (prompt: string, answer: string) =>
  tokenizer.encode(prompt.includes("\\boxed") ? `\\boxed{${answer}}` : answer)

/** Which samples are answered correctly: those with an even seed, or all. */
export type Right = "half" | "all"

/** Answers to unknown questions contain only the last four digits of the seed. */
const seeds = 10_000

/**
 * Answers correctly if the seed is even. The seeds of a group's members are consecutive, so every second attempt is right. A question that
 * the task does not know is answered with the seed, so all samples differ.
 */
const respond = (
  answerTo: AnswerTo,
  right: Right,
  { params, prompt }: Sampling.SampleRequest,
  index: number
): Sampling.SampledTokens => {
  const question = textOf(prompt)
  const seed = (params.seed ?? 0) + index
  const said = Option.match(answerTo(question), {
    onNone: () => `${seed % seeds} is all that a script can say`,
    onSome: (answer) => right === "all" || seed % 2 === 0 ? answer : "unknown"
  })
  const whole = [...say(question, said), ...end(params.stop)]
  const tokens = Int32Array.from(whole.slice(0, params.maxTokens))
  return {
    tokens,
    logprobs: new Float32Array(tokens.length).fill(-0.5),
    stopReason: tokens.length < whole.length ? "length" : "stop"
  }
}

const script = (answerKey: Ref.Ref<AnswerTo>, right: Right): Script.Script => ({
  models: Object.fromEntries(ModelRegistry.models.map(({ name }) => [name, { contextLength: 131_072 }])),
  tokenizer,
  sample: (request) =>
    Effect.map(Ref.get(answerKey), (answerTo) => ({
      sequences: Array.from({ length: request.numSamples ?? 1 }, (_, index) => respond(answerTo, right, request, index))
    }))
})

/** The mock's weights are irrelevant and end with the process: a run resumes from any checkpoint, and a worker samples from any. */
const resumable = (model: string) =>
  Effect.map(Tinker.Tinker, (tinker) =>
    Tinker.Tinker.of({
      ...tinker,
      createSamplingClient: (from) =>
        Effect.catchReason(
          tinker.createSamplingClient(from),
          "TinkerError",
          "NotFound",
          () => tinker.createSamplingClient({ baseModel: model })
        ),
      createTrainingClientFromState: (path, options) =>
        Effect.catchReason(
          tinker.createTrainingClientFromState(path, options),
          "TinkerError",
          "NotFound",
          () => tinker.createLoraTrainingClient({ ...options, baseModel: model })
        )
    }))

export const layer = (model: string, right: Right = "half") =>
  Layer.unwrap(Effect.map(AnswerKey, (answerKey) =>
    Layer.effect(Tinker.Tinker, resumable(model)).pipe(
      Layer.provide(ScriptedTinker.layer(script(answerKey, right))),
      Layer.merge(TestTokenizer.layer(tokenizer))
    )))
