/** Which thread computed a prompt last: its keys and values lie there for the next request, whoever asks. */
import type { SampleOrder } from "./Protocol.ts"

/** More prompts than the caches of a few threads hold. */
const capacity = 1024

type Prompt = Pick<SampleOrder, "model" | "weights" | "prompt">

export class PromptHomes<Thread> {
  /** Longest unused first. */
  private readonly homes = new Map<string, Thread>()

  /**
   * The thread for an order: the one that has its prompt, unless the order would wait there for more than computing the prompt again
   * costs. `wait` is in rows.
   */
  choose(order: Prompt, leastBusy: Thread, wait: (home: Thread) => number): Thread {
    const key = `${order.model}:${order.weights}:${order.prompt.join()}`
    const home = this.homes.get(key)
    const chosen = home !== undefined && wait(home) <= order.prompt.length ? home : leastBusy
    this.homes.delete(key)
    this.homes.set(key, chosen)
    const [oldest] = this.homes.keys()
    if (this.homes.size > capacity && oldest !== undefined) this.homes.delete(oldest)
    return chosen
  }
}
