/** Teachers that settings name. Their tokenizers may differ from the student's. */
import { ChatModel, Credit, InvalidOption, Tinker } from "@effect-rl/core"
import type { SamplingClient } from "@effect-rl/core/backend"
import { Tokenizer } from "@effect-rl/core/renderers"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export interface Teacher {
  readonly client: SamplingClient.SamplingClient
  /** The teacher's model; the student's if both have the same tokenizer. */
  readonly model: ChatModel.ChatModel
}

/** The name of the backend's first model with the tokenizer; undefined if there is none. */
const withTokenizer = Effect.fnUntraced(function*(fingerprint: string) {
  const tinker = yield* Tinker.Tinker
  for (const name of yield* tinker.models) {
    if ((yield* tinker.capabilities(name)).tokenizerFingerprint === fingerprint) return name
  }
  return undefined
})

/**
 * Opens the teacher that the setting `field` names: a base model, or a checkpoint's path. If the backend reports
 * another tokenizer than the student's, the teacher's model is the one with that tokenizer; for a checkpoint, the
 * backend's first such model. Fails with `InvalidOption` if there is none, or if no tokenizers can be loaded.
 */
export const open = Effect.fnUntraced(function*(field: string, name: string, student: ChatModel.ChatModel) {
  const tinker = yield* Tinker.Tinker
  const isModel = (yield* tinker.models).includes(name)
  const client = yield* tinker.createSamplingClient(isModel ? { baseModel: name } : { modelPath: name })
  const own = student.tokenizer.fingerprint
  const { tokenizerFingerprint = own } = isModel ? yield* tinker.capabilities(name) : client.capabilities ?? {}
  const teacher: Teacher = { client, model: student }
  if (tokenizerFingerprint === own) return teacher
  const found = isModel ? name : yield* withTokenizer(tokenizerFingerprint)
  const tokenizers = yield* Effect.serviceOption(Tokenizer.Tokenizers)
  if (found === undefined || Option.isNone(tokenizers)) {
    return yield* new InvalidOption.InvalidOption({
      field,
      found: name,
      expected: "weights with the tokenizer of one of the backend's models"
    })
  }
  const model = yield* Effect.provideService(ChatModel.resolve(found), Tokenizer.Tokenizers, tokenizers.value)
  return { client, model }
})

/** Credit by distillation from the teacher that the setting `field` names. */
export const credit = Effect.fnUntraced(function*(field: string, name: string, student: ChatModel.ChatModel) {
  const { client: teacher, model } = yield* open(field, name, student)
  return Credit.distill({ teacher, ...(model !== student && { models: { student, teacher: model } }) })
})
