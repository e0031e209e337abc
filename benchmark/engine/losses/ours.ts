/**
 * Measures the time of a training step with each loss as a graph, relative to a step with the engine's built-in importance sampling. The
 * arguments name the model and the file of its groups.
 */
import { Loss, PolicyLoss, Tinker } from "@effect-rl/core"
import { LossGraphPass, type TrainingClient } from "@effect-rl/core/backend"
import type { LossExpression } from "@effect-rl/core/losses"
import { Array, Clock, Effect } from "effect"
import * as OnEngine from "../../OnEngine.ts"
import * as Report from "../../Report.ts"
import * as Rows from "../Rows.ts"
import * as Workload from "../Workload.ts"

const [, , baseModel = "", path = ""] = process.argv
const rounds = 45

type Client = TrainingClient.TrainingClient
type Pass = ReturnType<Client["forwardBackward"]>
type Data<X extends LossExpression.Extras> = Parameters<typeof LossGraphPass.fromExamples<X>>[0]

/** Builds the batch from the data and submits the forward-backward pass, as a run does at each step. */
const pass = <X extends LossExpression.Extras>(
  client: Client,
  data: Data<X>,
  expression: LossExpression.LossExpression<X>
): Pass =>
  Effect.suspend(() => LossGraphPass.submit(client, LossGraphPass.fromExamples(data, expression), expression.graph))

/** The passes of the losses by name. Losses that read a proximal policy's log-probabilities get the sampler's. */
const graphs = (client: Client, data: Data<{}>): Readonly<Record<string, Pass>> => {
  const proximal = Array.map(data, (datum) => ({ ...datum, extras: { proximalLogprobs: datum.inputs.logprobs } }))
  return {
    importanceSampling: pass(client, data, PolicyLoss.importanceSampling),
    ppo: pass(client, data, PolicyLoss.ppo()),
    cispo: pass(client, data, PolicyLoss.cispo()),
    dro: pass(client, data, PolicyLoss.dro()),
    gspo: pass(client, data, PolicyLoss.gspo()),
    dppo: pass(client, data, PolicyLoss.dppo()),
    icePop: pass(client, data, PolicyLoss.icePop()),
    truncated: pass(client, proximal, PolicyLoss.truncated()),
    masked: pass(client, proximal, PolicyLoss.masked()),
    opsm: pass(client, data, PolicyLoss.opsm()),
    sapo: pass(client, data, PolicyLoss.sapo()),
    vespo: pass(client, data, PolicyLoss.vespo()),
    topr: pass(client, data, PolicyLoss.topr),
    topr_token: pass(client, data, PolicyLoss.toprToken),
    gmpo: pass(client, data, PolicyLoss.gmpo())
  }
}

const millis = Effect.fnUntraced(function*(client: Client, submitted: Pass) {
  const start = yield* Clock.currentTimeNanos
  const pending = yield* submitted
  const step = yield* client.optimStep({ learningRate: 1e-6 })
  yield* pending.await
  yield* step.await
  return Number((yield* Clock.currentTimeNanos) - start) / 1e6
})

const program = Effect.gen(function*() {
  const data = yield* Rows.read(path)
  const tinker = yield* Tinker.Tinker
  const client = yield* tinker.createLoraTrainingClient({ baseModel, loraRank: Workload.rank })
  const named = client.forwardBackward(data, Loss.importanceSampling, { logprobs: "counted" })
  const ratios = new Map<string, ReadonlyArray<number>>()
  for (let round = -1; round < rounds; round++) {
    for (const [name, graph] of Object.entries(graphs(client, data))) {
      const before = yield* millis(client, named)
      const own = yield* millis(client, graph)
      const after = yield* millis(client, named)
      if (round >= 0) ratios.set(name, [...ratios.get(name) ?? [], 2 * own / (before + after)])
    }
  }
  process.stdout.write(JSON.stringify([...ratios].map(([name, values]) => [name, Report.median(values)])))
})

OnEngine.runMain(program)
