/** The workload on bare promises: the same values without scopes, failure handling or group order. */
import { ModelInput } from "@effect-rl/core/backend"
import * as Workload from "./Workload.ts"

const sleep = (millis: number) => new Promise<void>((resolve) => setTimeout(resolve, millis))

const episode = async (wait: () => number, hold?: () => Promise<void>) => {
  const transitions = []
  let input = ModelInput.fromTokens(Workload.prompt)
  for (let turn = 0; turn < Workload.turns; turn++) {
    await (hold !== undefined && input.length === Workload.lastPrompt ? hold() : sleep(wait()))
    const action = Workload.sampled()
    transitions.push({ observation: input, action, reward: turn === Workload.turns - 1 ? 1 : 0 })
    input = ModelInput.append(ModelInput.append(input, action.tokens), Workload.reply)
  }
  return { transitions }
}

const run = async (hold?: () => Promise<void>) => {
  const wait = Workload.waits()
  await Promise.all(
    Array.from(
      { length: Workload.groups },
      () => Promise.all(Array.from({ length: Workload.groupSize }, () => episode(wait, hold)))
    )
  )
}

const measured = process.argv.includes("memory")
  ? await Workload.measureMemory(run)
  : process.argv.includes("scale")
  ? await Workload.measureScale(() => run())
  : await Workload.measure(() => run())
process.stdout.write(JSON.stringify(measured))
