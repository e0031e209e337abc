/** Supervised training: cross entropy on examples to imitate. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Tinker } from "../backend/Tinker.ts"
import type { TinkerError } from "../backend/TinkerError.ts"
import type { Tokenizer } from "../chat/Tokenizer.ts"
import * as TopK from "../learn/TopK.ts"
import type * as Datum from "../model/Datum.ts"
import * as Loss from "../model/Loss.ts"
import type { RunRecord } from "../records/RunRecord.ts"
import type { RunStore } from "../records/RunStore.ts"
import * as Pass from "../run/Pass.ts"
import * as Program from "../run/Program.ts"
import * as Run from "../run/Run.ts"
import type { InvalidOption } from "../settings/InvalidOption.ts"
import * as BitsPerByte from "./BitsPerByte.ts"
import * as ExampleIteration from "./ExampleIteration.ts"
import * as Nll from "./Nll.ts"
import * as SupervisedOptions from "./SupervisedOptions.ts"

export type { SupervisedOptions as Options } from "./SupervisedOptions.ts"

/** Fails with the first invalid option; `run` makes the same check before its first request. */
export const validate = <E, R, EE, ER>(
  options: SupervisedOptions.SupervisedOptions<E, R, EE, ER>
): Effect.Effect<void, InvalidOption> => Effect.asVoid(SupervisedOptions.resolve(options))

const iteration = (
  resolved: SupervisedOptions.Resolved,
  tokenizer: Tokenizer,
  index: number,
  data: ReadonlyArray<Datum.Datum<"WeightedTokens">>
) =>
  ExampleIteration.make(resolved, {
    index,
    data,
    passes: Pass.ofArray(data, Loss.crossEntropy),
    metrics: (outputs) => {
      const logprobsOf = Program.logprobs(outputs)
      const logprobsDT = data.map((datum) => logprobsOf(datum) ?? new Float32Array())
      const sums = Nll.sums(data, logprobsDT)
      return {
        "optim/datums": data.length,
        "optim/target_tokens": sums.targets,
        ...Nll.mean(sums),
        ...BitsPerByte.mean(BitsPerByte.sums(data, logprobsDT, tokenizer))
      }
    }
  })

/** An iteration that trains on a teacher's most likely tokens instead of the examples' targets. */
const softIteration = Effect.fnUntraced(function*(
  resolved: SupervisedOptions.Resolved,
  teacher: TopK.Teacher,
  index: number,
  data: ReadonlyArray<Datum.Datum<"WeightedTokens">>
) {
  const soft = yield* TopK.read(teacher, data.map(TopK.asTarget))
  return ExampleIteration.make(resolved, {
    index,
    data,
    passes: Pass.ofArray(soft.data, Loss.crossEntropyCandidates),
    metrics: (outputs) => {
      const loss = outputs[0]?.passes[0]?.metrics["loss:sum"]
      return {
        "optim/datums": data.length,
        "optim/target_tokens": soft.positions,
        ...(soft.teacherEntropy === undefined || loss === undefined
          ? {}
          : { teacher_kl: loss / soft.positions - soft.teacherEntropy, teacher_entropy: soft.teacherEntropy })
      }
    }
  })
})

/** The program; its cursor is the index of the next batch. No batch needs newer weights, so the next one is submitted ahead. */
const program = <E, R>(
  { dataset, model: { tokenizer }, teacher }: Pick<
    SupervisedOptions.SupervisedOptions<E, R>,
    "dataset" | "model" | "teacher"
  >,
  resolved: SupervisedOptions.Resolved
): Program.Program<number, E | TinkerError, R> => ({
  name: "supervised",
  identity: resolved.identity,
  cursor: Schema.Int,
  start: 0,
  length: dataset.length,
  shortBatch: dataset.shortBatch,
  ahead: 1,
  iterations: (from) =>
    Stream.range(from, dataset.length - 1).pipe(
      Stream.mapEffect((index) =>
        Effect.flatMap(dataset.batch(index, resolved.seed), (data) =>
          teacher === undefined
            ? Effect.succeed(iteration(resolved, tokenizer, index, data))
            : softIteration(resolved, teacher, index, data))
      )
    )
})

/**
 * Trains on the batches of a dataset in order. The stream emits every record of the run; see `Run.stream` for resuming, saving and stopping
 * early. In an `Updated` record, `nll` is the mean over the trained tokens before the update, in nats, and `bits_per_byte` is the same per
 * byte of their text, in bits. With a `teacher`, `teacher_kl` (in nats per token) replaces both: the divergence from the teacher's most
 * likely tokens.
 *
 * @example
 * Supervised.run({
 *   model,
 *   dataset: SupervisedDataset.conversations(conversations, { model, batchSize: 32 }),
 *   update: { learningRate: LearningRate.linear({ peak: 2e-4 }) }
 * })
 *
 * @see tinker-cookbook `supervised.train.main`
 */
export const run = <E, R, EE = never, ER = never>(
  options: SupervisedOptions.SupervisedOptions<E, R, EE, ER>
): Stream.Stream<RunRecord, E | EE | Run.Error, R | ER | Tinker | RunStore> =>
  Stream.unwrap(Effect.map(
    SupervisedOptions.resolve(options),
    (resolved) => Run.stream(program(options, resolved), options)
  ))
