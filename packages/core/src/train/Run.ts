/** What a run holds on to between iterations. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { Tinker } from "../backend/Tinker.ts"
import type { Checkpoint, TrainingClient } from "../backend/TrainingClient.ts"
import * as History from "../data/History.ts"
import type { GroupResult } from "../rollout/GroupResult.ts"
import * as Checkpoints from "./Checkpoints.ts"
import * as Config from "./Config.ts"
import * as Finishing from "./Finishing.ts"
import * as Journal from "./Journal.ts"
import * as TokenBudget from "./TokenBudget.ts"

/** The newest checkpoint and the iterations behind it; none before the first of a new run. */
export interface Saved {
  readonly iteration: number
  readonly checkpoint: Checkpoint | undefined
}

export interface Run<E, R, EE, ER> {
  readonly config: Config.Settings<E, R, EE, ER>
  readonly resolved: Config.Resolved
  readonly client: TrainingClient
  readonly budget: TokenBudget.TokenBudget
  readonly resumed: Option.Option<Checkpoints.Resumed>
  /** The iteration to begin with. */
  readonly first: number
  readonly optimizerSteps: Ref.Ref<number>
  /** Of the iterations done, for datasets that choose by it. */
  readonly history: Ref.Ref<History.History>
  /** Iterations done; none once an update has begun whose weights belong to no whole number of iterations. */
  readonly done: Ref.Ref<Option.Option<number>>
  readonly saved: Ref.Ref<Saved>
}

const newClient = Effect.fnUntraced(function*(
  config: Pick<Config.Config, "model" | "loadCheckpointPath">,
  { loraRank, seed }: Config.Resolved
) {
  const tinker = yield* Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel: config.model.name, loraRank, seed })
  if (config.loadCheckpointPath !== undefined) {
    const loaded = yield* client.loadState(config.loadCheckpointPath, { optimizer: false })
    yield* loaded.await
  }
  return client
})

/** Begins a run, or goes on after the newest checkpoint of a stored one. */
export const open = Effect.fnUntraced(function*<E, R, EE, ER>(config: Config.Settings<E, R, EE, ER>) {
  const resolved = Config.resolve(config)
  yield* Config.validate(config, resolved)
  yield* Config.record(config, resolved)
  const resumed = yield* Checkpoints.resume
  const position = Option.match(resumed, { onNone: () => Checkpoints.start, onSome: ({ position }) => position })
  const run: Run<E, R, EE, ER> = {
    config,
    resolved,
    client: Option.isSome(resumed) ? resumed.value.client : yield* newClient(config, resolved),
    budget: yield* TokenBudget.make(resolved.maxTokensTotal, position.usage),
    resumed,
    first: position.iteration,
    optimizerSteps: yield* Ref.make(position.optimizerSteps),
    history: yield* Ref.make(
      config.dataset.readsHistory === true ? yield* Journal.history(position.iteration) : History.empty
    ),
    done: yield* Ref.make(Option.some(position.iteration)),
    saved: yield* Ref.make<Saved>({
      iteration: position.iteration,
      checkpoint: Option.getOrUndefined(Option.map(resumed, ({ checkpoint }) => checkpoint))
    })
  }
  yield* Effect.addFinalizer(() => Finishing.finishLast(saveUnsaved(run), resolved.interruptTimeout))
  return run
})

/** Saves what is done under the given name. */
export const save = Effect.fnUntraced(function*<E, R, EE, ER>(
  run: Run<E, R, EE, ER>,
  iteration: number,
  name = Checkpoints.name(iteration)
) {
  const position: Checkpoints.Position = {
    iteration,
    optimizerSteps: yield* Ref.get(run.optimizerSteps),
    usage: yield* run.budget.usage
  }
  const checkpoint: Checkpoint = yield* Checkpoints.save(run.client, position, name)
  yield* Ref.set(run.saved, { iteration, checkpoint })
  return checkpoint
})

/** The last thing a run does however it ends: finished iterations are not lost. */
const saveUnsaved = Effect.fnUntraced(
  function*<E, R, EE, ER>(run: Run<E, R, EE, ER>) {
    const done = yield* Ref.get(run.done)
    if (Option.isNone(done) || done.value <= (yield* Ref.get(run.saved)).iteration) return
    yield* save(run, done.value)
    yield* Effect.logInfo(`saved after ${done.value} iterations`)
  },
  Effect.catch((error) => Effect.logWarning(`the last iterations could not be saved: ${error.message}`))
)

/** Lets the dataset know how an iteration went, if it wants to. */
export const remember = <E, R, EE, ER>(
  { config, history }: Run<E, R, EE, ER>,
  iteration: number,
  results: ReadonlyArray<GroupResult>
) =>
  config.dataset.readsHistory === true
    ? Ref.update(history, (before) => History.extend(before, Journal.outcomes(iteration, results)))
    : Effect.void
