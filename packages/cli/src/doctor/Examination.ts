/** The checks of `doctor`, in order. */
import { ChatModel, Message, Tinker } from "@effect-rl/core"
import { Capabilities, type ModelInput, type SamplingClient, SeedProbe } from "@effect-rl/core/backend"
import { Quantity } from "@effect-rl/core/records"
import type { LocalProvider } from "@effect-rl/sandbox"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Subject from "../eval/Subject.ts"
import * as Failure from "../Failure.ts"
import * as NamedRecipe from "../NamedRecipe.ts"

export interface Result {
  readonly check: string
  /** `differs` if a run is possible, but the backend lacks an optional feature. */
  readonly outcome: "works" | "differs" | "fails"
  readonly detail: string
}

type Tell<E, R> = (result: Result) => Effect.Effect<void, E, R>

/** The most tokens that a check samples: few enough for any budget. */
const maxTokens = 8

const question = [Message.user("What is 2 + 3?")]

const works = (detail: string) => ({ outcome: "works", detail }) as const
const differs = (detail: string) => ({ outcome: "differs", detail }) as const
const fails = (detail: string) => ({ outcome: "fails", detail }) as const

const words: Readonly<Record<Capabilities.Seeds, string>> = {
  none: "no seeds",
  duplicates: "seeds that all samples of a request share",
  request: "seeds of requests",
  sample: "seeds of samples"
}

/** Checks which sandbox providers work on this machine, and what the others lack. */
export const sandboxes = (findings: ReadonlyArray<LocalProvider.Finding>): Result => {
  const detail = findings.map(({ lacks, provider }) => `${provider}: ${lacks ?? "holds"}`).join("; ")
  const holds = findings.some(({ lacks, onlyNamed }) => lacks === undefined && onlyNamed !== true)
  return { check: "sandbox", ...(holds ? works(detail) : differs(`code of a model cannot run here: ${detail}`)) }
}

const promises = ({ contextLength, lossReduction, seeds }: Capabilities.Capabilities) =>
  `${Quantity.count(contextLength)} tokens of context, losses as ${lossReduction}, ${words[seeds]}`

const sampled = (client: SamplingClient.SamplingClient, prompt: ModelInput.ModelInput, seed: number) =>
  Effect.map(
    client.sample({ prompt, params: { maxTokens, temperature: 1, seed } }),
    ({ sequences: [first] }) => first?.tokens ?? new Int32Array(0)
  )

const trySeeds = Effect.fnUntraced(function*(
  client: SamplingClient.SamplingClient,
  prompt: ModelInput.ModelInput,
  { seeds }: Capabilities.Capabilities
) {
  const found = yield* SeedProbe.probe(client, prompt)
  if (!Capabilities.promise(found, seeds)) {
    return fails(`${words[found]} were found where the backend promises ${words[seeds]}`)
  }
  return found === "none"
    ? differs("equal seeds gave different tokens: a run cannot be repeated exactly")
    : works(`${words[found]} were found`)
})

const tryLogprobs = Effect.fnUntraced(function*(client: SamplingClient.SamplingClient, prompt: ModelInput.ModelInput) {
  const values = yield* client.computeLogprobs(prompt)
  const unknown = values.subarray(1).findIndex((value) => !Number.isFinite(value))
  if (values.length !== prompt.length) return fails(`${values.length} values for ${prompt.length} tokens`)
  return unknown < 0 ? works(`of ${values.length} prompt tokens`) : fails(`none for prompt token ${unknown + 1}`)
})

/** Builds the recipe's task for the model, checks its options, and returns the task's model with its renderer. */
const tryRecipe = Effect.fnUntraced(function*(recipe: NamedRecipe.NamedRecipe, { model }: Subject.Subject) {
  const task = yield* NamedRecipe.task(recipe, model)
  yield* task.check
  return [works(`${recipe.name}: its options are in order`), task.model] as const
})

/** Runs the checks up to the first failure, and returns that failure; `tell` receives each result. */
export const run = Effect.fnUntraced(function*<TE, TR>(
  subject: Subject.Subject,
  recipe: NamedRecipe.NamedRecipe | undefined,
  tell: Tell<TE, TR>
) {
  const tinker = yield* Tinker.Tinker
  let failed: Result | undefined

  /** Runs one check unless an earlier check failed. Returns the checked value on success. */
  const attempt = Effect.fnUntraced(function*<A, E, R>(
    check: string,
    work: Effect.Effect<readonly [Omit<Result, "check">, A], E, R>
  ) {
    if (failed !== undefined) return undefined
    const exit = yield* Effect.exit(work)
    if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return yield* Effect.interrupt
    const result: Result = Exit.isSuccess(exit)
      ? { check, ...exit.value[0] }
      : { check, ...fails(Failure.causeMessage(exit.cause)) }
    yield* tell(result)
    if (result.outcome === "fails") failed = result
    return Exit.isSuccess(exit) ? exit.value[1] : undefined
  })

  yield* attempt(
    "backend",
    Effect.map(
      Effect.andThen(tinker.health, tinker.models),
      (models) => [works(`answers, with ${models.length} model${models.length === 1 ? "" : "s"}`), undefined] as const
    )
  )
  const capabilities = yield* attempt(
    "model",
    Effect.map(
      tinker.capabilities(subject.model),
      (capabilities) => [works(`${subject.model}: ${promises(capabilities)}`), capabilities] as const
    )
  )
  const resolved = yield* attempt(
    "tokenizer",
    Effect.map(
      ChatModel.resolve(subject.model),
      (model) => [works(`fingerprint ${model.tokenizer.fingerprint.slice(0, 12)}`), model] as const
    )
  )
  const model = recipe === undefined ? resolved : yield* attempt("recipe", tryRecipe(recipe, subject))
  if (capabilities === undefined || model === undefined) return failed
  const prompt = yield* attempt(
    "renderer",
    Effect.map(
      model.renderer.generationPrompt(question),
      (prompt) => [works(`${model.renderer.name}: a question has ${prompt.length} tokens`), prompt] as const
    )
  )
  const client = yield* attempt(
    "weights",
    Effect.map(Subject.sampler(subject), (client) => [works(subject.checkpoint ?? subject.model), client] as const)
  )
  if (prompt === undefined || client === undefined) return failed
  yield* attempt(
    "sampling",
    Effect.map(
      sampled(client, prompt, 0),
      (tokens) =>
        [tokens.length > 0 ? works(`${tokens.length} tokens`) : fails("no token came back"), undefined] as const
    )
  )
  yield* attempt("seeds", Effect.map(trySeeds(client, prompt, capabilities), (result) => [result, undefined] as const))
  yield* attempt("logprobs", Effect.map(tryLogprobs(client, prompt), (result) => [result, undefined] as const))
  return failed
})
