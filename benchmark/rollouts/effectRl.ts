/** The workload on this library. With `spans`, every tracing span is recorded. */
import { Env, type EnvGroupBuilder, Policy, Rollout } from "@effect-rl/core"
import { ModelInput, type SamplingClient } from "@effect-rl/core/backend"
import { Effect, Fiber, References, Stream } from "effect"
import * as Workload from "./Workload.ts"

const env = (): Env.Env => {
  let observation = Env.prompt(ModelInput.fromTokens(Workload.prompt), ["<end>"])
  let turn = 0
  return {
    initialObservation: Effect.sync(() => observation),
    step: (action) =>
      Effect.sync(() => {
        if (++turn === Workload.turns) return { _tag: "Done", reward: 1 }
        const input = ModelInput.append(ModelInput.append(observation.input, action.tokens), Workload.reply)
        observation = Env.prompt(input, observation.stop)
        return { _tag: "Continue", reward: 0, observation }
      })
  }
}

const builders = Array.from({ length: Workload.groups }, (_, index): EnvGroupBuilder.EnvGroupBuilder => ({
  key: `group ${index}`,
  size: Workload.groupSize,
  tags: [],
  open: Effect.succeed({ makeEnv: () => Effect.sync(env) })
}))

const response = Effect.sync(() => ({ sequences: [Workload.sampled()] }))

const samplingClient = (hold?: () => Promise<void>): SamplingClient.SamplingClient => {
  const wait = Workload.waits()
  return {
    modelPath: "waiting",
    sample: ({ prompt }) =>
      hold !== undefined && prompt.length === Workload.lastPrompt
        ? Effect.andThen(Effect.promise(hold), response)
        : Effect.delay(response, wait()),
    computeLogprobs: () => Effect.die("not asked for")
  }
}

const spans = process.argv.includes("spans")

const rollouts = (hold?: () => Promise<void>) => {
  const policy = Policy.fromSamplingClient(samplingClient(hold), { maxTokens: 64, seed: 0 })
  return Rollout.stream(builders, policy, { concurrency: Workload.groups }).pipe(
    Stream.runDrain,
    Effect.provideService(References.TracerEnabled, spans)
  )
}

const run = (hold?: () => Promise<void>) => Effect.runPromise(rollouts(hold))

/** Holds every episode at its last turn, then interrupts all of them and measures the interruption. */
const interrupted = async () => {
  let held = 0
  let allHeld = () => {}
  const ready = new Promise<void>((resolve) => {
    allHeld = resolve
  })
  const fiber = Effect.runFork(rollouts(() => {
    if (++held === Workload.episodes) allHeld()
    return new Promise(() => {})
  }))
  await ready
  return Workload.timed(() => Effect.runPromise(Fiber.interrupt(fiber)))
}

const measured = process.argv.includes("memory")
  ? await Workload.measureMemory(run)
  : process.argv.includes("scale")
  ? await Workload.measureScale(() => run())
  : process.argv.includes("interrupt")
  ? await interrupted().then(interrupted)
  : await Workload.measure(() => run())
process.stdout.write(JSON.stringify(measured))
