/** Executes the commands that a compute thread receives. */
import { uniform } from "@effect-rl/core/records/Seed"
import * as Masks from "../grammar/Masks.ts"
import * as Adam from "../model/Adam.ts"
import * as Adapter from "../model/Adapter.ts"
import type { Compute } from "../model/Compute.ts"
import * as Kernels from "../numerics/Kernels.ts"
import * as Memory from "../numerics/Memory.ts"
import { ModelSampler } from "./ModelSampler.ts"
import type { Command, LoadedModel, Reply, SampleOrder, Start, Task, TaskOutput, ThreadStats } from "./Protocol.ts"
import * as TrainingPass from "./TrainingPass.ts"

export interface Machine {
  readonly receive: (command: Command) => void
  /** Performs one training task and one sampling step of each model. Returns whether there was anything to do. */
  readonly work: () => boolean
  /** Whether an order waits for its grammar to be compiled, which requires turns of the event loop. */
  readonly isPreparing: () => boolean
}

/** Callbacks through which a machine reports to its thread. */
export interface Listener {
  readonly reply: (reply: Reply) => void
  /** Called when new work appears without a command, such as after a grammar was compiled. */
  readonly wake: () => void
}

interface Loaded {
  readonly compute: Compute
  readonly sampler: ModelSampler
  /** Undefined if the tokenizer is not byte-level, so grammars are not supported. */
  readonly masks: Masks.Masks | undefined
}

const nothing: TaskOutput = { metrics: {} }

/** The load of all models, including orders that wait for their grammars. */
const statsOf = (models: Iterable<Loaded>, preparing: number): ThreadStats => {
  const sum = { waiting: 0, running: 0, free: 0, orders: preparing }
  for (const { sampler: { stats } } of models) {
    sum.waiting += stats.waiting
    sum.running += stats.running
    sum.free += stats.free
    sum.orders += stats.orders
  }
  return sum
}

const describe = (cause: unknown) => cause instanceof Error ? cause.message : String(cause)

const masksOf = ({ addedTokens, config, tokenBytes }: LoadedModel) =>
  tokenBytes === undefined ? undefined : Masks.make({ size: config.vocabularySize, tokenBytes, addedTokens })

export const make = ({ memory, module }: Start, { reply, wake }: Listener): Machine => {
  const kernels = Kernels.instantiate(module, memory)
  const arena = Memory.arena()
  const models = new Map<number, Loaded>()
  const tasks: Array<{ readonly id: number; readonly task: Task }> = []
  const preparing = new Set<number>()

  const loaded = (model: number): Loaded => {
    const found = models.get(model)
    if (found === undefined) throw new RangeError(`this thread has no model ${model}`)
    return found
  }

  const load = (model: LoadedModel) => {
    const { config, weights } = model
    const compute: Compute = { kernels, memory, config, weights, arena }
    models.set(model.model, { compute, sampler: new ModelSampler(compute, model), masks: masksOf(model) })
  }

  const refuse = (id: number, refusal: string) => reply({ _tag: "Sampled", results: [{ id, refusal }] })

  const sample = (order: SampleOrder) => {
    const { masks, sampler } = loaded(order.model)
    const { grammar, id, seeds, stops } = order
    if (grammar === undefined) return sampler.add(order)
    if (masks === undefined) return refuse(id, "the model's tokenizer is not byte-level, so no grammar can be enforced")
    preparing.add(id)
    void masks.make(grammar, stops, seeds.length).then((made) => {
      if (!preparing.delete(id)) return made.forEach(({ dispose }) => dispose())
      sampler.add(order, made)
      wake()
    }, (cause) => {
      if (preparing.delete(id)) refuse(id, `the grammar cannot be compiled: ${describe(cause)}`)
    })
  }

  const receive = (command: Command) => {
    switch (command._tag) {
      case "Load":
        return load(command.model)
      case "MoveArena":
        arena.move(command.region)
        return reply({ _tag: "MovedArena", id: command.id })
      case "Sample":
        return sample(command.order)
      case "Cancel":
        preparing.delete(command.id)
        for (const { sampler } of models.values()) sampler.cancel(command.id)
        return
      case "Run":
        tasks.push(command)
        return
      case "Report":
        return reply({ _tag: "Reported", id: command.id, stats: statsOf(models.values(), preparing.size) })
      case "Close":
        return
    }
  }

  const work = () => {
    const next = tasks.shift()
    if (next !== undefined) {
      reply({ _tag: "Ran", id: next.id, output: perform(kernels, memory, (model) => loaded(model).compute, next.task) })
    }
    let isBusy = next !== undefined
    for (const { sampler } of models.values()) {
      const results = sampler.step()
      isBusy ||= results !== undefined
      if (results !== undefined && results.length > 0) reply({ _tag: "Sampled", results })
    }
    return isBusy
  }

  return { receive, work, isPreparing: () => preparing.size > 0 }
}

const perform = (
  kernels: Kernels.Kernels,
  memory: Memory.Memory,
  computeOf: (model: number) => Compute,
  task: Task
): TaskOutput => {
  switch (task._tag) {
    case "Pass":
      return TrainingPass.run(computeOf(task.model), task)
    case "Add":
      for (const { source, target } of task.sums) kernels.addInto(target, source, task.floats)
      return nothing
    case "Copy":
      Memory.floats(memory, task.target, task.floats).set(Memory.floats(memory, task.source, task.floats))
      return nothing
    case "Initialize": {
      const { blocks, layout, seed } = task
      Adapter.initialize(memory, layout, blocks.parameters, uniform(seed))
      for (const block of [blocks.gradients, blocks.first, blocks.second]) {
        Memory.floats(memory, block, layout.parameterFloats).fill(0)
      }
      return nothing
    }
    case "Pack":
      Adapter.pack(kernels, task.parameters, task.packed)
      return nothing
    case "Optimize": {
      const { blocks, config, step } = task
      const norms = Adam.step(kernels, blocks, config, step)
      Memory.floats(memory, blocks.gradients, blocks.floats).fill(0)
      return { metrics: { grad_norm: norms.gradient, update_norm: norms.update } }
    }
  }
}
