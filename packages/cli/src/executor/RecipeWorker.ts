/** A worker's tasks: recipes with their settings. Each task is opened when its first group arrives. */
import { type Executor, GroupSource, RolloutTask, TaskRegistry } from "@effect-rl/core/program"
import type { CheckpointStore } from "@effect-rl/files"
import { RecipeTask } from "@effect-rl/recipes"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { SentProgram } from "./SentProgram.ts"
import * as SentTask from "./SentTask.ts"

/** A program is closed after it has received no group for this time, because its models may need much memory. */
const idleTimeToLive = "10 minutes"

const Program = Schema.fromJsonString(SentProgram)

export interface Options extends SentTask.Options {
  /** The checkpoints of a run that the cluster's database stores. */
  readonly checkpointsOf?: (run: string) => Effect.Effect<CheckpointStore.CheckpointStore, never, Scope.Scope>
}

/** Opens a program, given as JSON, until the scope closes. */
const open = ({ checkpointsOf, ...options }: Options) =>
  Effect.fnUntraced(function*(json: string) {
    const program = yield* Schema.decodeEffect(Program)(json)
    const store = program.run === undefined ? undefined : yield* checkpointsOf?.(program.run) ?? Effect.undefined
    const { context, task } = yield* SentTask.open(program, options, store)
    const registry = Effect.map(RecipeTask.of(task), (found) => TaskRegistry.TaskRegistry.layer(found))
    const built = yield* Effect.provideContext(Layer.build(Layer.unwrap(registry)), Context.omit(Scope.Scope)(context))
    return Context.get(built, TaskRegistry.TaskRegistry)
  })

const decode = Schema.decodeUnknownEffect(GroupSource.Payload)

/** The recipes that this process can run, including those of modules. */
export const layer = (options: Options) => {
  const opened = open(options)
  return Layer.effect(
    TaskRegistry.TaskRegistry,
    Effect.gen(function*() {
      const own = yield* Effect.context<Effect.Services<ReturnType<typeof opened>>>()
      // A program outlives the group for which it is opened, so it must not use that group's log and metering.
      const apart = (inner: Context.Context<Scope.Scope>) =>
        Context.add(own, Scope.Scope, Context.get(inner, Scope.Scope))
      const programs = yield* RcMap.make({
        lookup: (json: string) => Effect.updateContext(opened(json), apart),
        idleTimeToLive
      })
      const registryOf = Effect.fnUntraced(function*({ task: { payload } }: Executor.Job) {
        const key = JSON.stringify((yield* decode(payload)).program)
        return yield* Effect.tapError(RcMap.get(programs, key), () => RcMap.invalidate(programs, key))
      })
      return TaskRegistry.TaskRegistry.of({
        roll: (job) =>
          registryOf(job).pipe(
            Effect.catchDefect((defect) => Effect.fail(defect)),
            Effect.mapError((error) => RolloutTask.failed(job.group, error)),
            Effect.flatMap(({ roll }) => roll(job)),
            Effect.scoped
          )
      })
    })
  )
}
