/** A small run: a scripted model in ChatML format answers sums. */
import { ChatModel, ProblemEnv, ProblemGroupBuilder, type Rl, RLDataset, RunRecord, RunStore } from "@effect-rl/core"
import { Call, LeakAudit, Script, ScriptedTinker, TestTokenizer } from "@effect-rl/core/testing"
import { Effect, Layer, Stream } from "effect"

export const tokenizer = TestTokenizer.characters

export const sums = [["1 + 1", "2"], ["2 + 3", "5"], ["4 + 4", "8"], ["3 + 6", "9"]] as const

/** A scripted backend with its call log, leak audit and tokenizers. */
export const backend = (script: Script.Script = {}) =>
  Layer.merge(ScriptedTinker.layer(script), TestTokenizer.layer(tokenizer))

/** A scripted backend with an empty run store. */
export const layer = (script: Script.Script = {}) => Layer.merge(backend(script), RunStore.RunStore.layerMemory)

export const say = (text: string) => Script.text(tokenizer, `${text}<|im_end|>`)

const answerTo = (prompt: string) => sums.find(([question]) => prompt.includes(question))?.[1] ?? ""

/** Answers correctly if the turn's seed is even, which is half of any group. */
export const answersHalf = Script.reply(
  tokenizer,
  (prompt, { seed = 0 }) => say(seed % 2 === 0 ? answerTo(prompt) : "0")
)

export const answersNone = Script.reply(tokenizer, () => say("0"))

export const model = ChatModel.resolve(Script.defaultModel, { renderer: "qwen3_instruct" })

type Parts = Pick<Rl.Options, "lora" | "loadCheckpointPath" | "sampling" | "update"> & {
  readonly rollout?: Omit<NonNullable<Rl.Options["rollout"]>, "onFailure">
  readonly run?: Omit<NonNullable<Rl.Options["run"]>, "evaluators">
}

export type Overrides = Parts & {
  readonly epochs?: number
  readonly groupSize?: number
  readonly groupsPerBatch?: number
}

/** Options for two groups of `groupSize` (4) attempts per iteration and two iterations per epoch, unless `groupsPerBatch` differs. */
export const options = (
  { epochs = 1, groupSize = 4, groupsPerBatch = 2, run, sampling, update, ...others }: Overrides = {}
) =>
  Effect.map(model, (model) => ({
    model,
    dataset: RLDataset.fromArray(sums, {
      groupsPerBatch,
      epochs,
      group: ([question, answer], index) =>
        ProblemGroupBuilder.make({
          key: `sum/${index}`,
          size: groupSize,
          env: () =>
            ProblemEnv.make({ model, question, referenceAnswer: answer, checkAnswer: (text) => text.trim() === answer })
        })
    }),
    sampling: { maxTokens: 8, ...sampling },
    update: { learningRate: 1e-2, ...update },
    run: { evalEvery: 0, ...run },
    ...others
  }))

/** All records of the run, including abandoned ones. */
export const records = RunStore.RunStore.use((store) => Stream.runCollect(store.read))

/** The records of one kind that were not abandoned. */
export const current = <A extends RunRecord.RunRecord>(guard: (record: unknown) => record is A) =>
  Effect.map(records, (records) => RunRecord.current(records).filter(guard))

/** The backend's calls other than samples, in order. */
export const trace = Call.CallLog.use(({ calls }) => calls).pipe(
  Effect.map((calls) => calls.filter(({ _tag }) => _tag !== "Sample").map(Call.describe))
)

/** The number of open resources by kind. */
export const live = Effect.map(LeakAudit.LeakAudit.use(({ counts }) => counts), LeakAudit.live)
